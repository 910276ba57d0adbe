"""Two answers beside each other: what differs, how sure that is, and what cannot be compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import unlisted as ul

ONE = ul.Budget(epsilon=1, delta="1e-6")


def dishes(counts: dict[str, int], **how: Any) -> ul.Release:
    given = ul.counts(list(counts), list(counts.values()), items_per_user=1, item="dish")
    return given.histogram(budget=ONE, noise="gaussian", **how).run()


def test_what_differs_by_more_than_noise_comes_first() -> None:
    before = dishes({"soup": 5000, "tea": 4000, "rice": 3000, "pie": 2000})
    after = dishes({"soup": 2000, "tea": 4010, "rice": 3900, "cake": 2000})
    compared = ul.compare(before, after)
    assert [one.item for one in compared.differences] == [("soup",), ("rice",), ("tea",)]
    assert [one.item for one in compared.significant] == [("soup",), ("rice",)]
    assert compared.only_before == (("pie",),)
    assert compared.only_after == (("cake",),)
    first = compared.rows[0]
    assert first["low"] <= first["difference"] == first["after"] - first["before"] <= first["high"] < 0
    assert "2 of which differ" in repr(compared)
    backwards = ul.compare(after, before)
    assert [(-one.high, -one.low) for one in backwards.differences] == [
        (one.low, one.high) for one in compared.differences
    ]


def test_intervals_hold_for_all_items_together() -> None:
    """Of fifty items of equal counts, the chance that any is called different is at most one in twenty."""
    same = {f"dish {n}": 40 + 3 * n for n in range(50)}
    wrong = 0
    for _ in range(60):
        compared = ul.compare(dishes(same), dishes(same))
        assert len(compared.differences) > 10
        wrong += any(not one.low <= 0 <= one.high for one in compared.differences)
    # With 60 runs at a chance of 5 %, more than 12 come up once in ten thousand times.
    assert wrong <= 12


def test_intervals_are_wider_than_those_of_one_count() -> None:
    release = dishes({f"dish {n}": 3000 + n for n in range(20)})
    alone = {row["dish"]: row for row in release}
    for one in ul.compare(release, release).differences:
        row = alone[one.item[0]]
        assert one.high - one.low > 2 * (row["high"] - row["low"])


@pytest.mark.parametrize("how", [{}, {"k": 3, "counts": True}])
def test_counts_with_noise_of_their_own(how: dict[str, Any]) -> None:
    users = np.arange(6000)
    one = pa.table({"user": users, "dish": pa.array(np.where(users % 3 == 0, "soup", "tea"))})
    two = pa.table({"user": users, "dish": pa.array(np.where(users % 3 == 0, "tea", "soup"))})
    asked = "top" if how else "histogram"
    answers = [getattr(ul.table(rows, user="user"), asked)("dish", budget=ONE, **how).run() for rows in (one, two)]
    assert {item for (item,) in (one.item for one in ul.compare(*answers).significant)} == {"soup", "tea"}


def test_what_cannot_be_compared_says_why() -> None:
    release = dishes({"soup": 500})
    for wrong in (None, [1], release.table):
        with pytest.raises(ul.InvalidArgumentError, match="a release"):
            ul.compare(release, wrong)
    table = ul.table(pa.table({"user": range(500), "dish": ["soup"] * 500}), user="user")
    for bare in (table.labels("dish", budget=ONE), table.users(budget=ONE), table.top("dish", k=1, budget=ONE)):
        with pytest.raises(ul.InvalidArgumentError, match="with counts of items"):
            ul.compare(release, bare.run())
    other = ul.counts(["soup"], [500], items_per_user=1, item="meal").histogram(budget=ONE, noise="gaussian").run()
    with pytest.raises(ul.InvalidArgumentError, match="a release of dish"):
        ul.compare(release, other)
    rows = table.histogram("dish", budget=ONE, count="rows", rows_per_item=2, items_per_user=1).run()
    with pytest.raises(ul.InvalidArgumentError, match="the same count"):
        ul.compare(release, rows)


def test_nothing_in_common_is_an_answer() -> None:
    compared = ul.compare(dishes({"soup": 500}), dishes({"tea": 500}))
    assert compared.differences == ()
    assert compared.rows == []


def test_why_a_value_is_missing() -> None:
    release = dishes({"soup": 500, "carbonara for two": 1})
    told = release.missing("carbonara for two")
    needed = release.plan["users_needed"]
    assert f"about {needed['50']:,} users" in told
    assert f"{needed['99']:,}" in told
    assert told == release.missing("no such dish").replace("no such dish", "carbonara for two"), "it says no more"
    assert release.missing("soup").startswith("soup is in the answer, with a count of")
    assert "\x1b" not in release.missing("\x1b[2J")


def test_why_a_value_of_several_columns_is_missing() -> None:
    rows = pa.table({"user": range(900), "place": ["home"] * 900, "dish": ["soup"] * 900})
    release = ul.table(rows, user="user").histogram("dish", by="place", budget=ONE).run()
    assert "is in the answer" in release.missing(("home", "soup"))
    assert "was not released" in release.missing({"place": "work", "dish": "soup"})
    for wrong in ("soup", ("home",), {"place": "home"}):
        with pytest.raises(ul.InvalidArgumentError, match="a value for each of place, dish"):
            release.missing(wrong)
    with pytest.raises(ul.InvalidArgumentError, match="this one is a number"):
        ul.table(rows, user="user").users(budget=ONE).run().missing("soup")


def test_counts_that_contradict_their_ranking_say_why() -> None:
    table = ul.table(pa.table({"user": range(4000), "dish": [f"dish {n % 8}" for n in range(4000)]}), user="user")
    plan = table.top("dish", k=8, budget=ONE, counts=True, method="gumbel")
    for _ in range(20):
        release = plan.run()
        counts = release["count"]
        in_order = counts == sorted(counts, reverse=True)
        assert ("do not follow it everywhere" in release.reading) == (not in_order)
        if not in_order:
            return
    raise AssertionError("eight equal counts should not come out in order twenty times")
