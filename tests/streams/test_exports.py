"""Parts of a stream: from here to there, every so often, of some items; as a table, as a file, as a chart."""

from __future__ import annotations

import csv
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.streams.brooks import brook, quiet_brook

import unlisted as ul
from unlisted.errors import InvalidArgumentError
from unlisted.streams.folder import Folder
from unlisted.streams.release_log import ReleaseLog
from unlisted.streams.stream import Stream

START = datetime(2026, 3, 1, tzinfo=UTC)
VERSION_0_1 = Path(__file__).parent / "version_0_1"


def calm_brook(path: Path, **changed: Any) -> Stream:
    """A stream of very little noise whose guarantee can still be said: a chart says it."""
    return brook(path, **{"variance": Fraction(1, 100), **changed})


@pytest.fixture(scope="module")
def hourly(tmp_path_factory: pytest.TempPathFactory) -> Stream:
    """Sixty hours of two items, of which one is there on the first day only."""
    stream = calm_brook(tmp_path_factory.mktemp("hourly") / "s", rounds=60)
    for hour in range(60):
        counts = {"a": 9, "b": 5} if hour < 24 else {"a": 9}
        stream.push(counts, time=START + timedelta(hours=hour))
    return stream


def rounds_of(release: ul.Release) -> list[int]:
    return sorted(set(release["round"]))


@pytest.mark.parametrize(
    ("part", "rounds"),
    [
        ({}, range(1, 61)),
        ({"start": 58}, [58, 59, 60]),
        ({"end": 2}, [1, 2]),
        ({"start": "58", "end": "59"}, [58, 59]),
        ({"start": "2026-03-03T10:00"}, [59, 60]),
        ({"end": "2026-03-01T01:00"}, [1, 2]),
        ({"start": "2026-03-02", "end": "2026-03-02"}, range(25, 49)),
        ({"start": date(2026, 3, 3)}, range(49, 61)),
        ({"start": START + timedelta(hours=57.5)}, [59, 60]),
        ({"start": "2026-03-03T12:30+02:00"}, [60]),
        ({"every": 20}, [20, 40, 60]),
        ({"every": "20", "start": 21}, [40, 60]),
        ({"every": "1 day"}, [24, 48, 60]),
        ({"every": "24h", "end": 30}, [24, 30]),
        ({"every": timedelta(hours=12), "start": "2026-03-03"}, [60]),
        ({"start": 61}, []),
        ({"start": "2027-01-01"}, []),
    ],
    ids=str,
)
def test_from_to_and_every(hourly: Stream, part: dict[str, Any], rounds: Any) -> None:
    assert rounds_of(hourly.export(**part)) == list(rounds)


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"start": 0}, "start = 0"),
        ({"start": "soon"}, "a round, or a time such as 2026-03-01"),
        ({"end": 1.5}, "end = 1.5"),
        ({"every": 0}, "every = 0"),
        ({"every": "never"}, "a number of releases, or a length of time such as 24h"),
        ({"every": "0h"}, "every = '0h'"),
        ({"every": timedelta(0)}, "every = "),
        ({"items": "a"}, "a list of items"),
    ],
    ids=str,
)
def test_what_is_no_part_is_refused(hourly: Stream, part: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        hourly.export(**part)


def test_some_items(hourly: Stream) -> None:
    assert set(hourly.export(items=["b", "b", "never shown", 7])["item"]) == {"b"}
    assert hourly.export(items=[]).rows == []
    assert hourly.export(items=["a"], start=60).rows[0]["time"] == START + timedelta(hours=59)


@pytest.mark.parametrize(
    ("labels", "asked"),
    [([7, 8], ["7"]), ([date(2026, 1, 1), date(2026, 1, 2)], ["2026-01-01"]), ([1.5, 2.5], [1.5])],
    ids=str,
)
def test_items_are_read_as_the_labels_are_written(tmp_path: Path, labels: list, asked: list) -> None:
    stream = calm_brook(tmp_path / "s")
    stream.push(dict.fromkeys(labels, 9))
    assert stream.export(items=asked)["item"] == labels[:1]


def test_items_of_several_columns(tmp_path: Path) -> None:
    stream = calm_brook(tmp_path / "s", item=("x", "y"))
    stream.push(pa.table({"user": range(20), "x": ["a", "b"] * 10, "y": [1, 2] * 10}))
    assert [(row["x"], row["y"]) for row in stream.export(items=[("b", 2), ("a", 2), "a"])] == [("b", 2)]
    assert len(stream.export(items=[("b", 2)], steady=True)) == 1


def test_items_called_like_our_columns(tmp_path: Path) -> None:
    stream = calm_brook(tmp_path / "s", item=("time",))
    stream.push({"noon": 9})
    assert stream.export().table.column_names == ["round", "round_time", "time", "count", "low", "high"]
    other = calm_brook(tmp_path / "t", item=("steady",))
    other.push({"noon": 9})
    assert len(other.export()) == 1
    with pytest.raises(InvalidArgumentError, match="The items of this stream are called steady"):
        other.export(steady=True)


def test_an_export_says_what_is_true_of_all_its_rounds(hourly: Stream) -> None:
    plan = hourly.export().plan
    assert not {"threshold", "noise", "users_needed", "half_width_95"} & plan.keys()
    assert (plan["releases"], plan["unit"]) == ((1, 60), "event")


def test_only_what_is_asked_for_is_read(hourly: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    real = ReleaseLog._read
    monkeypatch.setattr(
        ReleaseLog, "_read", lambda log, number, made: (read.append(number), real(log, number, made))[1]
    )
    hourly.export(start=10, end=50, every=20)
    assert read == [20, 40]
    read.clear()
    hourly.chart(every=20)
    assert sorted(set(read)) == [20, 40, 60]


class TestFiles:
    def test_a_file_holds_what_the_export_does(self, hourly: Stream, tmp_path: Path) -> None:
        for name in ("part.csv", "part.parquet"):
            assert hourly.write_export(tmp_path / name, start=20, every=5, steady=True) == 18
        expected = hourly.export(start=20, every=5, steady=True)
        assert pq.read_table(tmp_path / "part.parquet").equals(expected.table)
        expected.write_csv(tmp_path / "whole.csv")
        assert (tmp_path / "part.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
        assert sorted(path.name for path in tmp_path.iterdir()) == ["part.csv", "part.parquet", "whole.csv"]

    def test_an_empty_export_is_a_file_too(self, tmp_path: Path) -> None:
        stream = calm_brook(tmp_path / "s")
        for name in ("empty.csv", "empty.parquet"):
            assert stream.write_export(tmp_path / name) == 0
        assert (tmp_path / "empty.csv").read_text() == "round,time,item,count,low,high\n"
        assert pq.read_table(tmp_path / "empty.parquet").num_rows == 0

    def test_what_is_there_stays_unless_said(self, hourly: Stream, tmp_path: Path) -> None:
        (tmp_path / "part.csv").write_text("mine")
        with pytest.raises(InvalidArgumentError, match="It exists already"):
            hourly.write_export(tmp_path / "part.csv")
        assert (tmp_path / "part.csv").read_text() == "mine"
        hourly.write_export(tmp_path / "part.csv", overwrite=True, start=60)
        assert len((tmp_path / "part.csv").read_text().splitlines()) == 3
        with pytest.raises(InvalidArgumentError, match=r"ends in \.csv or \.parquet"):
            hourly.write_export(tmp_path / "part.xlsx")

    def test_a_count_that_was_not_released_is_an_empty_cell(self, tmp_path: Path) -> None:
        stream = calm_brook(tmp_path / "s", rounds=7, noise="tree", thresholds=(10, 60, 60))
        for one in ({"a": 20}, {"a": 1}, {"a": 1}):
            stream.push(one)
        stream.export(steady=True).write_csv(tmp_path / "out.csv")
        rows = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
        assert [row["count"] for row in rows] == ["20", "21", ""]
        assert all(row["steady"] for row in rows)


def test_releases_of_version_0_1_are_exported_and_drawn() -> None:
    stream = Stream.open(VERSION_0_1 / "events")
    assert rounds_of(stream.export(start=2, every=2)) == [2, 4]
    soup = stream.export(items=["soup"], steady=True)
    assert set(soup["item"]) == {"soup"}
    assert soup["steady"] == sorted(soup["steady"])
    assert points(stream.chart(items=["soup"]))


def layer(chart: Any, kind: str) -> dict[str, Any]:
    return next(one for one in chart.to_dict()["layer"] if one["mark"]["type"] == kind)


def points(chart: Any) -> list[dict[str, Any]]:
    return layer(chart, "circle")["data"]["values"]


def lines(chart: Any) -> list[dict[str, Any]]:
    return chart.to_dict()["data"]["values"]


class TestCharts:
    def test_a_long_stream_is_thinned_to_what_can_be_told_apart(self, tmp_path: Path) -> None:
        from unlisted.streams.readable_stream import MOST_DRAWN

        stream = calm_brook(tmp_path / "s", rounds=2 * MOST_DRAWN)
        for hour in range(MOST_DRAWN + 3):
            stream.push({"a": 9}, time=START + timedelta(hours=hour))
        drawn = points(stream.chart(axis="round"))
        assert len(drawn) == (MOST_DRAWN + 3 + 1) // 2
        assert drawn[-1]["round"] == MOST_DRAWN + 3

    def test_rounds_are_drawn_at_their_times_where_that_tells_more(self, hourly: Stream, tmp_path: Path) -> None:
        assert "time" in points(hourly.chart())[0]
        assert "round" in points(hourly.chart(axis="round"))[0]
        hurried = calm_brook(tmp_path / "s")
        for _ in range(3):
            hurried.push({"a": 9})
        assert "round" in points(hurried.chart())[0]
        assert "time" in points(hurried.chart(axis="time"))[0]
        with pytest.raises(InvalidArgumentError, match="'time' or 'round'"):
            hurried.chart(axis="day")  # type: ignore[arg-type]

    def test_a_pause_and_what_was_filled_in_are_gaps(self, tmp_path: Path) -> None:
        stream = calm_brook(tmp_path / "s")
        for day in (1, 2, 3, 9, 10):
            stream.push({"a": 9}, time=date(2026, 3, day))
        stream.push({"a": 9}, number=8, fill_gaps=True, time=date(2026, 3, 13))
        runs = [(row["time"][:10], row["run"]) for row in lines(stream.chart())]
        assert [run.split()[0] for _, run in runs] == ["0", "0", "0", "1", "1", "4"]
        assert len(points(stream.chart(axis="round"))) == 8

    def test_where_an_item_is_not_shown_its_line_is_interrupted(self, tmp_path: Path) -> None:
        stream = calm_brook(tmp_path / "s", rounds=7, noise="tree", thresholds=(10, 60, 60))
        for one in ({"a": 20}, {"a": 1}, {"a": 1}, {"a": 1}):
            stream.push(one)
        drawn = lines(stream.chart(items=["a"]))
        assert [row["is_shown"] for row in drawn] == [True, True, False, True]
        assert len({row["segment"] for row in drawn if row["is_shown"]}) == 2
        assert [row["round"] for row in points(stream.chart(items=["a"]))] == [1, 2, 4]

    def test_too_many_releases_are_refused_by_name(self, tmp_path: Path) -> None:
        stream = calm_brook(tmp_path / "s", rounds=600)
        stream.push({"a": 9}, number=600, fill_gaps=True)
        with pytest.raises(InvalidArgumentError, match="every = 1 "):
            stream.chart(every=1)
        with pytest.raises(InvalidArgumentError, match=r"steady = .+ at most 512"):
            stream.export(steady=True)
        assert stream.chart() is not None

    def test_nothing_can_be_drawn_too(self, tmp_path: Path) -> None:
        stream = calm_brook(tmp_path / "s")
        assert points(stream.chart()) == []
        stream.push({"rare": 1})
        assert points(stream.chart(items=["rare"])) == []


def test_somebody_pushes_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever the number of rounds is looked up, one more has happened right after."""
    stream = quiet_brook(tmp_path / "s", rounds=9)
    stream.push({"a": 9})
    reader, real, pushing = Stream.open(tmp_path / "s"), Folder.round, []

    def one_more(folder: Folder) -> int:
        found = real(folder)
        if not pushing:
            pushing.append(True)
            stream.push({"b": 9})
            pushing.clear()
        return found

    monkeypatch.setattr(Folder, "round", one_more)
    assert {row["round"] for row in reader.export()} == {1}
    assert len(list(reader.releases())) >= 2
    assert reader.verify() == []
