"""What a stream takes, gives and refuses."""

from __future__ import annotations

import json
import shutil
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
from tests.streams.brooks import brook, files_of, inflated, quiet_brook, rows_of, shown
from tests.tables.fixtures.hostile_values import texts

import unlisted as ul
from unlisted.errors import InvalidArgumentError, InvalidCountsError, UnlistedError
from unlisted.streams.stream import Stream

BUDGET = ul.Budget(rho="0.5", delta="1e-6")


def drawn(chart: Any) -> list[dict]:
    """The released counts that a chart draws, as points."""
    layers = chart.to_dict()["layer"]
    return next(layer for layer in layers if layer["mark"]["type"] == "circle")["data"]["values"]


class TestCreating:
    def test_a_stream_keeps_its_budget_for_life(self, tmp_path: Path) -> None:
        for name, budget in {"a": BUDGET, "b": ul.Budget(epsilon=2, delta="1e-6")}.items():
            stream = Stream.create(tmp_path / name, rounds=7, unit="event", items_per_event=2, budget=budget)
            assert budget.allows(stream.guarantee)
            assert Stream.open(tmp_path / name).guarantee == stream.guarantee

    def test_what_is_said_is_kept_and_shown(self, tmp_path: Path) -> None:
        options = {"display": "sticky", "release_every": 2, "count_per_item": 4, "user": "who", "where": "x > 1"}
        stream = Stream.create(
            tmp_path / "s", rounds=8, unit="event", items_per_event=2, budget=BUDGET, item=["a", "b"], **options
        )
        again = Stream.open(tmp_path / "s").settings
        assert again == stream.settings
        assert {name: getattr(again, name) for name in options} == options
        assert (again.item, again.mechanism.steps, again.count_query.rows_per_item) == (("a", "b"), 4, 4)
        lines = repr(stream).splitlines()
        assert lines[0] == "Stream: round 0 of 8"
        assert "one user's rows in one round, at most 2 items" in lines[2]
        assert lines[3].startswith("Thresholds: ")
        assert repr(brook(tmp_path / "t", threshold=5)).splitlines()[3].startswith("Threshold: 5    Noise")

    def test_the_folder_is_private(self, tmp_path: Path) -> None:
        brook(tmp_path / "s").push({"a": 9})
        assert (tmp_path / "s").stat().st_mode & 0o777 == 0o700
        for path in (tmp_path / "s").rglob("*"):
            assert path.stat().st_mode & 0o077 == 0, path.name

    def test_two_streams_have_different_noise(self, tmp_path: Path) -> None:
        wide = {"variance": Fraction(10**6), "threshold": 1}
        one, other = (brook(tmp_path / name, **wide).push({str(i): 5000 for i in range(20)}) for name in "ab")
        assert shown(one) != shown(other)

    def test_what_exists_is_not_overwritten(self, tmp_path: Path) -> None:
        brook(tmp_path / "s").push({"a": 9})
        before = files_of(tmp_path / "s")
        with pytest.raises(InvalidArgumentError, match="does not exist yet"):
            Stream.create(tmp_path / "s", rounds=3, unit="event", items_per_event=1, budget=BUDGET)
        assert files_of(tmp_path / "s") == before

    def test_a_refused_stream_leaves_nothing_behind(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidArgumentError, match="Its parent folder does not exist"):
            Stream.create(tmp_path / "no" / "such" / "s", rounds=3, unit="event", items_per_event=1, budget=BUDGET)
        with pytest.raises(InvalidArgumentError):
            Stream.create(tmp_path / "s", rounds=0, unit="event", items_per_event=1, budget=BUDGET)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        ("said", "refused"),
        [
            ({"rounds": 0}, "rounds = 0"),
            ({"rounds": 2.5}, "rounds = 2.5"),
            ({"items_per_event": 0}, "items_per_event = 0"),
            ({"items_per_event": None}, "items_per_event is missing"),
            ({"count_per_item": 0}, "count_per_item = 0"),
            ({"budget": 1}, "budget = 1"),
            ({"unit": "row"}, "unit = 'row'"),
            ({"unit": None}, "unit = None is not allowed.+Who is to be protected.+'user' protects a person over"),
            ({"noise": "white"}, "noise = 'white'"),
            ({"unit": "user"}, "items_per_user is missing"),
            ({"rounds_per_user": 2}, "rounds_per_user = 2"),
            ({"unit": "user", "rounds_per_user": 0}, "rounds_per_user = 0"),
            ({"unit": "user", "rounds_per_user": 9}, "rounds_per_user = 9"),
            ({"display": "frozen"}, "display = 'frozen'"),
            ({"release_every": 0}, "release_every = 0"),
            ({"release_every": 9}, "release_every = 9"),
            ({"item": "count"}, "item = 'count'"),
            ({"item": "round"}, "item = 'round'"),
            ({"item": []}, "item = "),
            ({"user": ""}, "user = ''"),
            ({"source": 3}, "source = 3"),
            ({"max_label_bytes": 0}, "max_label_bytes = 0"),
            ({"where": "x >"}, "where = 'x >'"),
            ({"where": "x > 1; y"}, "where = "),
            ({"where": ";"}, "`;` is not allowed here"),
            ({"where": "SELECT * FROM x"}, "where = "),
            ({"where": "x IN (SELECT y FROM z)"}, "where = "),
            ({"where": "shell(x) = 1"}, "not an allowed function"),
            ({"where": ""}, "it is empty"),
            ({"where": 3}, "where = 3"),
            ({"account": "ads"}, "account = 'ads'"),
        ],
        ids=str,
    )
    def test_refusals(self, tmp_path: Path, said: dict, refused: str) -> None:
        asked = {"rounds": 8, "unit": "event", "items_per_event": 2, "budget": BUDGET} | said
        with pytest.raises(InvalidArgumentError, match=refused):
            Stream.create(tmp_path / "s", **asked)
        assert list(tmp_path.iterdir()) == []


class TestPushing:
    def test_running_counts_come_back_with_error_bars(self, tmp_path: Path) -> None:
        stream = quiet_brook(tmp_path / "s")
        stream.push({"aspirin": 31, "ibuprofen": 12})
        release = stream.push({"aspirin": 10, "rare": 1})
        assert shown(release) == [("aspirin", 41), ("ibuprofen", 12)]
        assert release.table.column_names == ["item", "count", "low", "high"]
        assert all(row["low"] <= row["count"] <= row["high"] for row in release.rows)
        assert release.guarantee == stream.guarantee
        assert (release.plan["round"], release.plan["unit"], release.plan["mechanism"]) == (
            2,
            "event",
            "running_histogram",
        )

    def test_rows_are_bounded_inside_the_round(self, tmp_path: Path) -> None:
        """Each of 40 users has five items and counts for two; each row counts once."""
        stream = quiet_brook(tmp_path / "s", items_per_event=2)
        rows = rows_of(*[(user, item) for user in range(40) for item in "abcde" for _ in range(3)])
        for number in (1, 2, 3):
            release = stream.push(rows)
            assert sum(count for _, count in shown(release)) == 80 * number

    def test_rows_of_one_item_count_up_to_the_bound(self, tmp_path: Path) -> None:
        stream = quiet_brook(tmp_path / "s", count_per_item=2)
        rows = rows_of(*[(user, "a") for user in range(20) for _ in range(user % 4)])
        assert shown(stream.push(rows)) == [("a", 5 * (0 + 1 + 2 + 2))]

    def test_all_kinds_of_sources(self, tmp_path: Path) -> None:
        rows = rows_of(*[(user, "a") for user in range(20)])
        pyarrow.csv.write_csv(rows, tmp_path / "rows.csv")
        stream = quiet_brook(tmp_path / "s")
        brought = [
            rows,
            tmp_path / "rows.csv",
            ul.table(tmp_path / "rows.csv", user="user"),
            rows.to_pandas(),
            {"a": 20},
            ul.BoundedCounts(["a"], [20], ul.Sensitivity(3)),
        ]
        totals = [shown(stream.push(one)) for one in brought]
        assert totals == [[("a", 20 * number)] for number in range(1, len(brought) + 1)]

    def test_a_condition_on_rows(self, tmp_path: Path) -> None:
        stream = quiet_brook(tmp_path / "s", where="day >= 2")
        rows = rows_of(*[(user, "a") for user in range(20)]).append_column("day", pa.array([1, 2] * 10))
        assert shown(stream.push(rows)) == [("a", 10)]

    def test_items_of_several_columns(self, tmp_path: Path) -> None:
        stream = quiet_brook(tmp_path / "s", item=("x", "y"))
        rows = pa.table({"user": range(20), "x": ["a", "b"] * 10, "y": [1, 1] * 10})
        stream.push(rows)
        release = Stream.open(tmp_path / "s").push(rows)
        assert release.rows[0] == {"x": "a", "y": 1, "count": 20, "low": 20, "high": 20}
        with pytest.raises(InvalidArgumentError, match="rows, or BoundedCounts"):
            stream.push({"a": 1})

    @pytest.mark.parametrize(
        "labels",
        [[1, 2], [1.5, -0.0], [date(2024, 1, 1), date(2024, 1, 2)], [True, False], [b"a", b"b"]],
        ids=lambda labels: type(labels[0]).__name__,
    )
    def test_labels_of_any_plain_type_survive_a_reopening(self, tmp_path: Path, labels: list) -> None:
        quiet_brook(tmp_path / "s").push(dict.fromkeys(labels, 10))
        release = Stream.open(tmp_path / "s").push({labels[1]: 5})
        assert [(repr(label), count) for label, count in shown(release)] == [
            (repr(labels[1]), 15),
            (repr(labels[0]), 10),
        ]
        with pytest.raises(InvalidCountsError, match="another type"):
            Stream.open(tmp_path / "s").push({"text": 5})
        assert Stream.open(tmp_path / "s").round == 2

    def test_widths_of_numbers_and_texts_do_not_matter(self, tmp_path: Path) -> None:
        stream = quiet_brook(tmp_path / "s")
        for kind in (pa.int64(), pa.int8(), pa.uint32()):
            release = stream.push(ul.BoundedCounts(pa.array([7], kind), [9], ul.Sensitivity(1)))
        assert shown(release) == [(7, 27)]
        other = quiet_brook(tmp_path / "t")
        for kind in (pa.string(), pa.large_string(), pa.string_view()):
            release = other.push(ul.BoundedCounts(pa.array(["x"], kind), [9], ul.Sensitivity(1)))
        assert shown(release) == [("x", 27)]

    def test_whose_rows_they_are_was_fixed_with_the_stream(self, tmp_path: Path) -> None:
        """With each row's number for a user, one person's thousand rows would count as those of a thousand."""
        stream = brook(tmp_path / "s")
        rows = pa.table({"user": [1] * 1000, "row": range(1000), "item": ["a"] * 1000})
        with pytest.raises(InvalidArgumentError, match="user = 'row' is not allowed: it must be 'user'"):
            stream.push(ul.table(rows, user="row"))
        assert stream.round == 0
        assert shown(stream.push(ul.table(rows, user="user"))) == []

    @pytest.mark.parametrize(
        "labels", [pa.array([7, 8], pa.int8()), pa.array(["a", "b"], pa.large_string())], ids=str
    )
    @pytest.mark.parametrize("declared", [{"minimum_count": 40}, {"fetched": 5}], ids=str)
    def test_counts_that_were_cut_off_before_are_refused(
        self, tmp_path: Path, labels: pa.Array, declared: dict
    ) -> None:
        stream = brook(tmp_path / "s")
        with pytest.raises(InvalidCountsError, match=r"cut off before|not only the largest"):
            stream.push(ul.BoundedCounts(labels, [90, 80], ul.Sensitivity(1), **declared))
        assert stream.round == 0
        assert len(stream.push(ul.BoundedCounts(labels, [90, 80], ul.Sensitivity(1)))) == 2

    def test_counts_that_declare_more_than_was_paid_for_are_refused(self, tmp_path: Path) -> None:
        stream = brook(tmp_path / "s")
        for sensitivity in (ul.Sensitivity(4), ul.Sensitivity(1, 2)):
            with pytest.raises(InvalidCountsError):
                stream.push(ul.BoundedCounts(["a"], [9], sensitivity))
        with pytest.raises(InvalidArgumentError):
            stream.push(7)
        with pytest.raises(InvalidArgumentError, match="item = 'item'"):
            stream.push(pa.table({"user": [1]}))
        assert stream.round == 0


class TestOnce:
    def test_a_round_brought_again_gives_the_same_release(self, tmp_path: Path) -> None:
        rows = rows_of(*[(user, item) for user in range(60) for item in "abcdefg"])
        stream = brook(tmp_path / "s", variance=Fraction(100))
        first = [stream.push(rows) for _ in range(3)]
        before = files_of(tmp_path / "s")
        for number in (1, 3, 2):
            for again in (stream, Stream.open(tmp_path / "s")):
                found = again.push(rows.take(list(reversed(range(len(rows))))), number=number)
                assert found.to_bytes() == first[number - 1].to_bytes()
        assert files_of(tmp_path / "s") == before

    def test_other_contents_are_refused(self, tmp_path: Path) -> None:
        stream = brook(tmp_path / "s")
        for one in ({"a": 9}, {"b": 9}):
            stream.push(one)
        before = files_of(tmp_path / "s")
        for number, other in ((1, {"a": 8}), (1, {"a": 9, "b": 1}), (2, {"a": 9}), (2, {})):
            with pytest.raises(InvalidArgumentError, match="taken in with other contents") as caught:
                stream.push(other, number=number)
            assert "'a'" not in str(caught.value)
        assert files_of(tmp_path / "s") == before

    def test_a_gap_is_empty_only_if_said(self, tmp_path: Path) -> None:
        stream = quiet_brook(tmp_path / "s")
        stream.push({"a": 9}, number=1)
        with pytest.raises(
            InvalidArgumentError, match=r"number = 4 is not allowed: it must be at most 2.+fill_gaps"
        ):
            stream.push({"a": 9}, number=4)
        assert stream.round == 1
        assert shown(stream.push({"a": 9}, number=4, fill_gaps=True)) == [("a", 18)]
        assert [shown(one) for _, one in stream.releases()] == [[("a", 9)]] * 3 + [[("a", 18)]]
        assert shown(stream.push({}, number=3)) == [("a", 9)]
        with pytest.raises(InvalidArgumentError):
            stream.push({"a": 1}, number=3)

    def test_after_the_last_round_it_is_over(self, tmp_path: Path) -> None:
        stream = brook(tmp_path / "s", rounds=2)
        for _ in range(2):
            stream.push({"a": 9})
        with pytest.raises(InvalidArgumentError, match="The stream has ended"):
            stream.push({"a": 9})
        assert stream.push({"a": 9}, number=2) is not None

    @pytest.mark.parametrize("number", [0, -1, 1.0, "1", True])
    def test_numbers_of_rounds(self, tmp_path: Path, number: object) -> None:
        stream = brook(tmp_path / "s")
        with pytest.raises(InvalidArgumentError, match="number = "):
            stream.push({"a": 1}, number=number)
        with pytest.raises(InvalidArgumentError, match="number = "):
            stream.release(number)

    def test_the_same_key_and_contents_make_the_same_folder(self, tmp_path: Path) -> None:
        """A copy of the folder that goes the same way becomes the same; another way meets other noise."""
        wide = {"variance": Fraction(10**4), "threshold": 1}
        labels = {f"label {i}": 500 for i in range(30)}
        stream = brook(tmp_path / "s", **wide)
        for copy in "ab":
            shutil.copytree(tmp_path / "s", tmp_path / copy)
        stream.push(labels, time="2026-03-01")
        Stream.open(tmp_path / "a").push(labels, time="2026-03-01")
        assert files_of(tmp_path / "a") == files_of(tmp_path / "s")
        other = dict(shown(Stream.open(tmp_path / "b").push(labels | {"label 0": 501})))
        same = [label for label, count in shown(stream.release(1)) if other[label] == count]
        assert len(same) < 10


class TestReading:
    def test_releases_are_kept(self, tmp_path: Path) -> None:
        stream = quiet_brook(tmp_path / "s")
        pushed = [stream.push({"a": 9, "b": number}) for number in range(1, 5)]
        reader = Stream.open(tmp_path / "s")
        assert [reader.release(number).to_bytes() for number in (1, 2, 3, 4)] == [one.to_bytes() for one in pushed]
        with pytest.raises(InvalidArgumentError, match="number = 5"):
            reader.release(5)
        stream.push({"a": 1})
        assert shown(reader.release(5))[0] == ("a", 37), "a reader sees what was written meanwhile"

    def test_an_export_has_all_rounds(self, tmp_path: Path) -> None:
        stream = quiet_brook(tmp_path / "s", variance=Fraction(1, 100))
        assert stream.export().rows == []
        assert stream.export().table.column_names == ["round", "time", "item", "count", "low", "high"]
        for one in ({"rare": 1}, {"a": 9}, {}, {"b": 20}):
            stream.push(one)
        rows = [(row["round"], row["item"], row["count"]) for row in stream.export().rows]
        assert rows == [(2, "a", 9), (3, "a", 9), (4, "b", 20), (4, "a", 9)]
        assert json.dumps(stream.export().as_dict())

    def test_an_export_of_numbers_begins_with_empty_rounds(self, tmp_path: Path) -> None:
        stream = quiet_brook(tmp_path / "s")
        for one in ({}, {5: 9}):
            stream.push(one)
        assert stream.export().table.column("item").to_pylist() == [5]

    def test_releases_every_so_often(self, tmp_path: Path) -> None:
        stream = quiet_brook(tmp_path / "s", release_every=3)
        assert [stream.push({"a": 9}) is not None for _ in range(7)] == [False, False, True] * 2 + [False]
        assert [number for number, _ in stream.releases()] == [3, 6]
        assert shown(stream.release(6)) == [("a", 54)]
        with pytest.raises(InvalidArgumentError, match="after every 3 rounds"):
            stream.release(4)
        assert stream.push({"a": 9}, number=4) is None

    def test_a_chart_of_running_counts(self, tmp_path: Path) -> None:
        stream = quiet_brook(tmp_path / "s", variance=Fraction(1, 100))
        for number in range(1, 5):
            stream.push({"a": 9, "b": 8, "<script>": 7 * number})
        assert {row["label"] for row in drawn(stream.chart())} == {"a", "b", "<\u2060script>"}
        assert [row["count"] for row in drawn(stream.chart(items=["b", "nobody"]))] == [8, 16, 24, 32]
        assert {row["label"] for row in drawn(stream.chart(most=1))} == {"<\u2060script>"}

    def test_hidden_labels_are_in_no_release(self, tmp_path: Path) -> None:
        stream = quiet_brook(tmp_path / "s")
        stream.push({"shown": 9, "PLANTED": 1})
        stream.push({"shown": 9})
        log = inflated((tmp_path / "s" / "releases" / "log").read_bytes())
        assert b"PLANTED" not in log
        assert b"shown" in log
        assert b"PLANTED" in (tmp_path / "s" / "journal").read_bytes()

    def test_a_kept_item_has_a_plain_interval(self, tmp_path: Path) -> None:
        stream = quiet_brook(tmp_path / "s", display="sticky", rounds=7, noise="tree", thresholds=(10, 60, 60))
        for one in ({"a": 20}, {"b": 20}, {"a": 1}):
            release = stream.push(one)
        assert shown(release) == [("a", 21), ("b", 20)]
        assert all(row["low"] <= row["count"] <= row["high"] for row in release.rows)

    @pytest.mark.parametrize("noise", ["correlated", "tree"])
    def test_no_count_is_below_1_or_outside_of_its_interval(self, tmp_path: Path, noise: str) -> None:
        """Items that were shown once stay, however far their noise falls."""
        stream = brook(tmp_path / "s", display="sticky", noise=noise, variance=Fraction(400), threshold=30)
        for one in ({str(at): 35 for at in range(300)}, *[{}] * 11):
            release = stream.push(one)
            assert all(1 <= row["low"] <= row["count"] <= row["high"] for row in release)
        assert min(release["count"]) == 1


def test_an_empty_release_looks_the_same_whatever_it_does_not_show(tmp_path: Path) -> None:
    releases = []
    for place, lone in enumerate(({}, {7: 1}, {"seven": 1})):
        stream = Stream.create(tmp_path / str(place), rounds=2, unit="event", items_per_event=1, budget=BUDGET)
        releases.append(stream.push(lone))
    assert len({(len(one), str(one.to_arrow().schema)) for one in releases}) == 1


def test_a_refused_round_uses_no_gap_up(tmp_path: Path) -> None:
    stream = quiet_brook(tmp_path / "s")
    with pytest.raises(UnlistedError):
        stream.push({"a": -1}, number=4, fill_gaps=True)
    assert stream.round == 0
    stream.push({"a": 9}, number=4, fill_gaps=True)
    assert stream.round == 4


@pytest.mark.parametrize("unit", ["event", "user"])
def test_a_row_that_cannot_be_read_is_as_if_it_were_not_there(unit: str, tmp_path: Path) -> None:
    how: dict[str, Any] = {"unit": "user", "rounds_per_user": 2} if unit == "user" else {}
    good = rows_of(*[(f"u{i}", "a") for i in range(20)])
    bad = [(b"v", b"caf\xe9"), (b"caf\xe9", b"a"), (b"\xff", b"\xff")]
    users, items = (texts([row[at] for row in bad]) for at in (0, 1))
    hostile = pa.concat_tables([good, pa.table({"user": users, "item": items})])
    stream = quiet_brook(tmp_path / "s", **how)
    assert shown(stream.push(hostile)) == [("a", 20)]
    again = quiet_brook(tmp_path / "t", **how)
    assert shown(again.push(good)) == [("a", 20)]
