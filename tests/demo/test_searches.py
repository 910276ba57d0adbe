"""The demo's table keeps its shape, and holds nothing that could belong to anybody."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from datetime import date, timedelta

import pyarrow as pa
import pytest

from unlisted.demo.searches import searches, sensitive
from unlisted.demo.words import PASTED_BY_ONE_PERSON, SEASONS, SENSITIVE

FIRST_DAY = date(2025, 11, 1)

# Seven digits or more, however they are grouped: a telephone, card or identity number.
LONG_NUMBER = re.compile(r"\d(?:[ ./()-]*\d){6,}")
RESERVED_NUMBER = re.compile(
    r"(?:(?:\d{3}-)?555-01\d\d"  # fiction, North America
    r"|020 7946 0\d{3}|07700 900\d{3}"  # fiction, United Kingdom
    r"|000-\d\d-\d{4}"  # never issued as a social security number
    r"|4242 4242 4242 4242(?: 12/34)?|4111111111111111|5555 5555 5555 4444)"  # cards for testing
)


def unreserved_numbers(query: str) -> list[str]:
    return [n for n in LONG_NUMBER.findall(query) if not RESERVED_NUMBER.fullmatch(n)]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return searches()


@pytest.fixture(scope="module")
def pairs(table: pa.Table) -> set[tuple[int, str]]:
    return set(zip(table["user"].to_pylist(), table["query"].to_pylist(), strict=True))


@pytest.fixture(scope="module")
def people(pairs: set[tuple[int, str]]) -> Counter[str]:
    """How many people typed each query."""
    return Counter(query for _, query in pairs)


def test_columns_and_types(table: pa.Table) -> None:
    assert table.schema.equals(
        pa.schema({"user": pa.int64(), "query": pa.string(), "day": pa.date32(), "device": pa.string()})
    )
    assert all(column.null_count == 0 for column in table.columns)


def test_two_calls_make_the_same_table(table: pa.Table) -> None:
    assert searches().equals(table)


def test_every_machine_makes_the_same_table(table: pa.Table) -> None:
    # Hashes of text differ from process to process, so this also finds an order taken from a set.
    # A deliberate change of the words changes the digest, and every picture made from the demo.
    digest = hashlib.sha256(repr(table.to_pydict()).encode()).hexdigest()
    assert digest.startswith("46437dcd6952efe8")


def test_size(table: pa.Table, people: Counter[str]) -> None:
    assert 55_000 <= table.num_rows <= 65_000
    assert set(table["user"].to_pylist()) == set(range(1, 6_001))
    assert "" not in people


def test_days_cover_sixty_days_in_order(table: pa.Table) -> None:
    days = table["day"].to_pylist()
    assert days == sorted(days)
    assert set(days) == {FIRST_DAY + timedelta(n) for n in range(60)}


def test_seasonal_queries_stay_in_their_season(table: pa.Table) -> None:
    seen = set()
    for query, day in zip(table["query"].to_pylist(), table["day"].to_pylist(), strict=True):
        if query in SEASONS:
            first, last = SEASONS[query]
            assert first <= (day - FIRST_DAY).days <= last, query
            seen.add(query)
    assert seen == set(SEASONS)


def test_devices(table: pa.Table) -> None:
    devices = Counter(table["device"].to_pylist())
    assert [name for name, _ in devices.most_common()] == ["phone", "desktop", "tablet"]


def test_popular_queries_are_popular(people: Counter[str]) -> None:
    (first, most), *_ = people.most_common()
    assert first == "carbonara"
    assert most > 1_000
    assert sum(n > 150 for n in people.values()) >= 60


def test_some_queries_lie_around_the_threshold(people: Counter[str]) -> None:
    assert sum(15 <= n <= 60 for n in people.values()) >= 100
    assert sum(60 < n <= 150 for n in people.values()) >= 50


def test_the_tail_is_long(people: Counter[str]) -> None:
    assert sum(n == 1 for n in people.values()) >= 1_500
    assert sum(n == 2 for n in people.values()) >= 50


def test_a_few_people_search_all_day_and_most_do_not(pairs: set[tuple[int, str]]) -> None:
    different = Counter(user for user, _ in pairs)
    assert sum(n > 100 for n in different.values()) >= 5
    assert sum(n <= 10 for n in different.values()) > 4_000
    assert sum(n > 10 for n in different.values()) > 1_000


def test_queries_that_look_alike_stay_apart(people: Counter[str]) -> None:
    assert people["crème brûlée"] > people["cre\u0300me bru\u0302le\u0301e"] > 3
    assert people["paella"] > people["p\u0430ella"] > 3
    assert people["carbonara"] > people["carbonara "] > 3
    assert people["鍋"] > 100


def test_every_sensitive_query_is_there_and_typed_by_at_most_three(people: Counter[str]) -> None:
    assert {query: people[query] for query in sensitive()} == SENSITIVE
    assert set(SENSITIVE.values()) == {1, 2, 3}


def test_one_person_types_a_sensitive_query_so_often_that_rows_would_publish_it(
    table: pa.Table, people: Counter[str]
) -> None:
    rows = Counter(table["query"].to_pylist())
    assert PASTED_BY_ONE_PERSON in sensitive()
    assert rows[PASTED_BY_ONE_PERSON] > 300
    assert people[PASTED_BY_ONE_PERSON] == 1


def test_no_number_outside_the_reserved_ranges(people: Counter[str]) -> None:
    assert [query for query in people if unreserved_numbers(query)] == []
    assert sum(bool(LONG_NUMBER.search(query)) for query in people) >= 8


@pytest.mark.parametrize(
    "query", ["555-0242", "call 202-555-1173", "020 7947 0321 soup", "4242 4242 4242 4241", "(0)30 1234567"]
)
def test_a_number_outside_the_reserved_ranges_would_be_found(query: str) -> None:
    assert unreserved_numbers(query)


def test_mail_addresses_use_reserved_domains(people: Counter[str]) -> None:
    domains = {query.split("@")[1].split()[0] for query in people if "@" in query}
    assert domains == {"example.com", "example.org"}
