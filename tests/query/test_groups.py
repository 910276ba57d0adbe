"""Per group: plans, tidy answers, what a user in several groups costs, and what is refused."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from tests.cli.shell import unlisted

import unlisted as ul
from unlisted.query.questions import Histogram

ONE = ul.Budget(epsilon=1, delta="1e-8")
MANY = ul.Budget(epsilon=50, delta="1e-3")
PLACES = {"home": 400, "work": 300, "away": 3}
ROWS = pa.table(
    {
        "user": range(sum(PLACES.values())),
        "place": [place for place, users in PLACES.items() for _ in range(users)],
        "dish": [["soup", "tea"][n % 2] for n in range(sum(PLACES.values()))],
    }
)
TABLE = ul.table(ROWS, user="user")


@pytest.mark.parametrize("how", [{"items_per_user": 1}, {}])
def test_answers_are_tidy_and_in_the_order_of_the_list(how: dict) -> None:
    listed = TABLE.histogram("dish", budget=MANY, by="place", groups=["work", "nowhere", "home"], **how).run()
    assert listed.table.column_names == ["place", "dish", "count", "low", "high"]
    assert [row["place"] for row in listed] == ["work", "work", "home", "home"]
    found = TABLE.histogram("dish", budget=MANY, by="place", **how).run()
    assert [row["place"] for row in found][:4] == ["home", "home", "work", "work"] or found[0]["place"] == "away"
    assert found["place"] == sorted(found["place"])
    assert listed.plan["by"] == "place"
    assert listed.receipt()["plan"]["groups"] == ["work", "nowhere", "home"]


def test_one_group_a_user_costs_what_one_histogram_does() -> None:
    grouped = TABLE.histogram("dish", budget=ONE, items_per_user=3, by="place", groups=["home"])
    alone = TABLE.histogram("dish", budget=ONE, items_per_user=3)
    assert grouped.mechanism == alone.mechanism
    assert grouped.guarantee == alone.guarantee
    three = TABLE.histogram("dish", budget=ONE, items_per_user=3, by="place", groups_per_user=3)
    assert three.mechanism.sensitivity.items == 9
    assert three.mechanism.threshold > alone.mechanism.threshold
    found = TABLE.histogram("dish", budget=ONE, by="place", groups=["home", "work"])
    assert found.guarantee == TABLE.histogram("dish", budget=ONE).guarantee


def test_a_price_in_rho_is_for_each_group_that_a_user_is_in() -> None:
    rho = ul.Budget(rho="0.3", delta="1e-6")
    three = TABLE.histogram("dish", budget=rho, items_per_user=1, by="place", groups_per_user=3, noise="gaussian")
    one = TABLE.histogram("dish", budget=ul.Budget(rho="0.1", delta="1e-6"), items_per_user=1, noise="gaussian")
    assert float(three.mechanism.law.variance) == pytest.approx(float(one.mechanism.law.variance), rel=1e-6)


def test_a_ranking_has_ranks_of_its_own_in_each_group() -> None:
    ranking = TABLE.top("dish", k=1, budget=MANY, by="place", groups=["home", "work"], counts=True).run()
    assert [(row["place"], row["rank"]) for row in ranking] == [("home", 1), ("work", 1)]
    assert ranking.complete
    longer = TABLE.top("dish", k=5, budget=MANY, by="place", groups=["home", "work"]).run()
    assert longer["rank"] == [1, 2, 1, 2]
    assert not longer.complete
    assert longer.table.column_names == ["place", "dish", "rank"]


def test_labels_of_each_group() -> None:
    release = TABLE.labels("dish", budget=MANY, by="place", groups=["work", "home"]).run()
    assert [(row["place"], row["dish"]) for row in release] == [
        ("work", "soup"),
        ("work", "tea"),
        ("home", "soup"),
        ("home", "tea"),
    ]


def test_a_rare_group_stays_hidden_like_any_other_value() -> None:
    release = TABLE.histogram("dish", budget=ONE, items_per_user=1, by="place").run()
    assert set(release["place"]) == {"home", "work"}


def test_an_empty_answer_has_its_columns() -> None:
    release = TABLE.histogram("dish", budget=ONE, items_per_user=1, by="place", groups=["nowhere"]).run()
    assert release.table.column_names == ["place", "dish", "count", "low", "high"]
    assert len(release) == 0


def test_small_multiples() -> None:
    chart = TABLE.histogram("dish", budget=MANY, by="place", groups=["work", "home"]).run().chart().to_dict()
    assert chart["facet"]["sort"] == ["work", "home"]
    assert chart["resolve"]["scale"] == {"y": "independent"}


def test_the_shell_and_what_is_said_read_the_same_question(tmp_path: object) -> None:
    words = ("--epsilon", "1", "--delta", "1e-8", "--by", "place", "--groups", "home", "--groups", "work")
    shown = json.loads(unlisted("preview", "histogram", *words, "--format", "json").data)
    assert shown["plan"]["groups"] == ["home", "work"]
    question = Histogram(items=("dish",), budget=ONE, by="place", groups=["home", "work"], groups_per_user=2)
    assert Histogram.read(question.said()) == question


REFUSED: dict[str, dict] = {
    "groups of no column": {"groups": ["home"]},
    "groups per user of no column": {"groups_per_user": 2},
    "the item itself": {"by": "dish"},
    "no column": {"by": "planet"},
    "a number": {"by": 3},
    "an empty list": {"by": "place", "groups": []},
    "a generator": {"by": "place", "groups": (one for one in "ab")},
    "no groups at all": {"by": "place", "groups_per_user": 0},
    "the user": {"by": "user"},
    "a name of ours": {"by": "count"},
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused(what: str) -> None:
    with pytest.raises(ul.InvalidArgumentError):
        TABLE.histogram("dish", budget=ONE, items_per_user=1, **REFUSED[what]).run()


def test_what_has_no_groups_says_what_to_ask_instead() -> None:
    with pytest.raises(ul.InvalidArgumentError, match="Leave method out"):
        TABLE.top("dish", k=3, budget=ONE, by="place", method="gumbel")
