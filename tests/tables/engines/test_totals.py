"""How many users and how many different values, on every engine, against the plain way to count them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from tests.tables.fixtures.asked import SECRET, question
from tests.tables.fixtures.engines import MAKERS

from unlisted.counts.readable import LONGEST_USER
from unlisted.tables.totals import count_distinct, count_users

USERS = ["a", "a", "b", "b", "b", "c", None, "d", "x" * (LONGEST_USER + 1)]
ITEMS = ["soup", "soup", "soup", "bread", "tea", "rice", "nobody's", None, "a message"]
ROWS = pa.table({"user": USERS, "item": ITEMS})


@pytest.mark.parametrize("name", MAKERS)
def test_totals_are_of_users_who_count(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    table = MAKERS[name](ROWS, tmp_path, request).table("user")
    users = count_users(table, question(items_per_user=None))
    assert (users.value, users.shift) == (4, 1)
    some = question(items_per_user=None, where="item <> 'soup'")
    assert count_users(table, some).value == 2
    all_of_them = count_distinct(table, question("item"), secret=SECRET)
    assert (all_of_them.value, all_of_them.shift) == (4, 3)
    # Of b, who has three items, one is kept: with soup of a and rice of c that makes two or three.
    kept = count_distinct(table, question("item", items_per_user=1), secret=SECRET)
    assert kept.shift == 1
    assert kept.value in (2, 3)
