"""Audits of the whole way, as users go it: rows in an engine, an account in a ledger, a stream in a folder."""
