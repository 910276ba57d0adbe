-- A role that may verify and export the ledger, and change nothing. It reads no secret of a key beyond its hash,
-- and not the key that signs receipts.
CREATE ROLE auditor LOGIN;
GRANT CONNECT ON DATABASE budget TO auditor;
GRANT USAGE ON SCHEMA public TO auditor;
GRANT SELECT ON
    unlisted_migrations, unlisted_datasets, unlisted_accounts, unlisted_entries, unlisted_questions,
    unlisted_keys, unlisted_grants, unlisted_key_entries, unlisted_processes
TO auditor;
GRANT SELECT (public, created) ON unlisted_signing_keys TO auditor;
