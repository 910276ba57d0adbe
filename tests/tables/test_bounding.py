"""The choice of a user's items: what the secret decides, and what ties do."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests.tables import reference
from tests.tables.fixtures.asked import SECRET, all_counts, question
from tests.tables.fixtures.ties import OneMachine, kept_by_definition, kept_by_statement

from unlisted.errors import InvalidArgumentError
from unlisted.tables.bounding import bounded_counts, fresh_secret
from unlisted.tables.table import table


def users_with_items(users: int, items: int) -> pa.Table:
    """Items that say whose they are, so that counts show what each user keeps."""
    pairs = [(f"u{u}", f"u{u}:{i}") for u in range(users) for i in range(items)]
    return pa.table({"user": [user for user, _ in pairs], "item": [item for _, item in pairs]})


def test_keys_are_wide_enough_that_ties_are_not_met() -> None:
    rows = users_with_items(50, 200)
    counted = all_counts(table(rows, user="user"), question("item", items_per_user=100))
    assert len(counted) == 50 * 100


def test_secrets_are_fresh_and_long() -> None:
    secrets = {fresh_secret() for _ in range(100)}
    assert len(secrets) == 100
    assert all(8 * len(secret) >= 128 for secret in secrets)


def test_a_short_secret_is_refused() -> None:
    source = table(users_with_items(1, 1), user="user")
    with pytest.raises(InvalidArgumentError, match="at least 16 bytes"):
        bounded_counts(source.engine, "user", question("item"), b"guessable")


def test_a_secret_cannot_leave_its_quotes() -> None:
    source = table(users_with_items(1, 1), user="user")
    statement = bounded_counts(source.engine, "user", question("item"), b"';;;\\\x00\xff" * 4)
    assert "Jzs7O1wA_yc7OztcAP8nOzs7XAD_Jzs7O1wA_w" in statement


def test_users_and_items_cannot_run_into_each_other() -> None:
    # All engines are held to the encoding of the reference, so what is shown of it is shown of theirs.
    assert reference.encoded(SECRET, "1", ("1:a",)) != reference.encoded(SECRET, "11", (":a",))
    assert reference.encoded(SECRET, "u", ("a", "bc")) != reference.encoded(SECRET, "u", ("ab", "c"))


def test_a_bound_larger_than_any_table_bounds_nothing() -> None:
    rows = users_with_items(3, 5)
    asked = question("item", items_per_user=2**80, count="rows", rows_per_item=2**80, max_label_bytes=2**80)
    assert len(all_counts(table(rows, user="user"), asked)) == 15


def test_without_a_bound_on_items_all_are_kept_and_nothing_is_hashed() -> None:
    source = table(users_with_items(3, 5), user="user")
    asked = question("item", items_per_user=None)
    assert len(all_counts(source, asked)) == 15
    assert '"prefix"' not in bounded_counts(source.engine, "user", asked, SECRET)


@pytest.mark.parametrize("digits", [1, 2, 12])
@pytest.mark.parametrize("bound", [1, 3, 7])
def test_items_that_tie_stand_or_fall_together(digits: int, bound: int) -> None:
    """Keys of one digit tie all the time. Numbering a user's rows would keep some of those that tie."""
    users = {f"user {n}": [f"item {i}" for i in range(n)] for n in range(1, 25)}
    engine = OneMachine(digits)
    kept = kept_by_statement(engine, users, bound)
    assert kept == kept_by_definition(engine, users, bound)
    assert all(len(items) <= bound for items in kept.values())
    # With one digit some users keep fewer than the bound allows, with twelve nobody does.
    fewer = any(len(kept[user]) < min(bound, len(items)) for user, items in users.items())
    assert fewer == (digits == 1) or digits == 2
