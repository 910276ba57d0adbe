"""The log of releases: it gives back what it was given, in few bytes; damage to one record costs one release."""

from __future__ import annotations

import shutil
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.streams.brooks import brook, inflated, quiet_brook, rows_of, shown

from unlisted.errors import InvalidArgumentError, StreamError
from unlisted.release.release import Release
from unlisted.streams.history import LOG
from unlisted.streams.packing import packed, rows_in, unpacked
from unlisted.streams.release_log import ReleaseLog
from unlisted.streams.shown_names import ShownNames
from unlisted.streams.stream import Stream

START = datetime(2026, 3, 1, tzinfo=UTC)
VERSION_0_1 = Path(__file__).parent / "version_0_1"


def hours(stream: Stream, rounds: list[Any]) -> list[Release | None]:
    """Push rounds, an hour apart."""
    first = stream.round
    return [stream.push(one, time=START + timedelta(hours=first + at)) for at, one in enumerate(rounds)]


def log_of(stream: Path) -> Path:
    return stream / "releases" / LOG


def readable(path: Path) -> dict[int, Any]:
    """The rows of every release that can be read."""
    stream, found = Stream.open(path), {}
    for number in range(1, stream.round + 1):
        with suppress(StreamError):
            found[number] = stream.release(number).rows
            continue
        with pytest.raises(StreamError, match=f"The release after round {number} "):
            stream.release(number)
    return found


class TestPacking:
    @pytest.mark.parametrize(
        "labels",
        [
            pa.array(["a", "ä", "", "z" * 300]),
            pa.array([7, -7, 2**62, 0]),
            pa.array([0.0, -0.0, 1.5, float("inf")]),
            pa.array([date(2026, 1, day) for day in (1, 2, 3, 4)]),
            pa.array([True, False]),
            pa.array([b"a", b"\xff"]),
            pa.StructArray.from_arrays([pa.array(["a", "a"]), pa.array([1, 2])], names=["x", "y"]),
        ],
        ids=lambda labels: str(labels.type),
    )
    def test_labels_of_any_type_come_back(self, labels: pa.Array, tmp_path: Path) -> None:
        release = a_release(tmp_path, labels, np.arange(len(labels)) * 3 + 40)
        names = ShownNames().with_shown(labels)
        again = unpacked(packed(release, names), names)
        assert again.table.equals(release.table)
        assert [repr(row) for row in again.rows] == [repr(row) for row in release.rows]
        assert (again.guarantee, again.plan) == (release.guarantee, release.plan)

    def test_the_largest_numbers_come_back(self, tmp_path: Path) -> None:
        labels = pa.array(["a", "b", "c"])
        counts = np.array([2**63 - 1, 1, 2**40])
        names = ShownNames().with_shown(labels)
        release = a_release(tmp_path, labels, counts)
        assert unpacked(packed(release, names), names).table.equals(release.table)

    def test_a_release_of_another_shape_is_kept_as_it_is(self, tmp_path: Path) -> None:
        """Here the order of the rows and the ends of the intervals are no function of the counts."""
        labels = pa.array(["a", "b", "c"])
        names = ShownNames().with_shown(labels)
        release = a_release(tmp_path, labels, np.array([9, 9, 9]))
        odd = release.table.set_column(2, "low", pa.array([1, 2, 3])).take([2, 0, 1])
        again = unpacked(packed(with_table(release, odd), names), names)
        assert again.table.equals(odd)
        rows = rows_in(packed(with_table(release, odd), names), names)
        assert rows.low.tolist() == [1, 2, 3]
        assert rows.names.tolist() == [0, 1, 2]

    def test_a_row_takes_about_a_byte_and_a_half(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(0)
        labels = pa.array([f"a label of some length {at}" for at in range(4000)])
        counts = (200 + rng.zipf(1.4, 4000) + rng.normal(0, 50, 4000)).astype(np.int64).clip(150, 10**6)
        release, names = a_release(tmp_path, labels, counts), ShownNames().with_shown(labels)
        assert len(packed(release, names)) < 2.5 * 4000
        assert len(release.to_bytes()) > 50 * 4000


def a_release(path: Path, labels: pa.Array, counts: np.ndarray) -> Release:
    items = ("x", "y") if pa.types.is_struct(labels.type) else ("item",)
    stream = quiet_brook(path / "model", item=items)
    from unlisted.mechanisms.mechanism import Answer
    from unlisted.noise.keyed import NoiseKey
    from unlisted.streams.releases import released

    state = stream.settings.mechanism.start(NoiseKey.fresh())
    return released(stream.settings, state, 1, Answer.by_count(labels, counts, stream.guarantee))


def with_table(release: Release, table: pa.Table) -> Release:
    from dataclasses import replace

    return replace(release, table=table)


class TestDamage:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        stream = quiet_brook(tmp_path / "s")
        hours(stream, [{f"label {at}": 20, f"other {at}": 30} for at in range(8)])
        return tmp_path / "s"

    def test_whichever_byte_is_changed_one_release_is_lost_and_named(self, path: Path) -> None:
        before, whole = readable(path), log_of(path).read_bytes()
        assert len(before) == 8
        lost_once = set()
        for at in range(0, len(whole), 7):
            log_of(path).write_bytes(whole[:at] + bytes([whole[at] ^ 16]) + whole[at + 1 :])
            found = readable(path)
            lost = before.keys() - found.keys()
            assert len(lost) <= 1, f"byte {at} cost the releases {sorted(lost)}"
            assert {number: before[number] for number in found} == found
            lost_once |= lost
        assert lost_once == before.keys()

    @pytest.mark.parametrize("number", [1, 4, 8])
    def test_a_stream_goes_on_behind_a_lost_record(self, path: Path, number: int) -> None:
        before, whole = readable(path), log_of(path).read_bytes()
        head = list(heads(path))[number - 1]
        log_of(path).write_bytes(whole[: head + 3] + b"?" + whole[head + 4 :])
        hours(Stream.open(path), [{"new": 50}, {"newer": 60}])
        found = readable(path)
        assert found.keys() == set(range(1, 11)) - {number}
        assert {name: found[name] for name in before if name != number} == {
            name: rows for name, rows in before.items() if name != number
        }
        assert [row["item"] for row in found[10]][:2] == ["newer", "new"]
        # If the record is put back, all is as if nothing had happened: no label has got another's number.
        log_of(path).write_bytes(whole[:head] + whole[head : head + 60] + log_of(path).read_bytes()[head + 60 :])
        assert {name: rows for name, rows in readable(path).items() if name <= 8} == before
        assert readable(path)[10] == found[10]

    def test_a_log_that_was_cut_off_loses_what_was_cut_off(self, path: Path) -> None:
        before, whole = readable(path), log_of(path).read_bytes()
        log_of(path).write_bytes(whole[: list(heads(path))[5] + 10])
        assert readable(path) == {number: before[number] for number in range(1, 6)}
        log_of(path).unlink()
        assert readable(path) == {}
        with pytest.raises(StreamError, match="The release after round 3 is missing"):
            Stream.open(path).release(3)

    def test_another_stream_s_log_is_not_taken(self, path: Path, tmp_path: Path) -> None:
        other = quiet_brook(tmp_path / "t")
        hours(other, [{"theirs": 90}] * 8)
        shutil.copy(log_of(tmp_path / "t"), log_of(path))
        assert readable(path) == {}
        with pytest.raises(StreamError, match="round 2 is that of another stream"):
            Stream.open(path).release(2)

    def test_an_old_release_copied_over_another_is_found(self, tmp_path: Path) -> None:
        path = tmp_path / "events"
        shutil.copytree(VERSION_0_1 / "events", path)
        shutil.copy(path / "releases" / "00000004", path / "releases" / "00000002")
        with pytest.raises(StreamError, match="round 2 is that of round 4, put in its place"):
            Stream.open(path).release(2)
        (path / "releases" / "00000003").write_bytes(b"torn")
        assert readable(path).keys() == {1, 4, 5}


def heads(path: Path) -> list[int]:
    """Where the records of a log begin."""
    log, found = log_of(path).read_bytes(), []
    at = log.find(b"\x89round1\n")
    while at >= 0:
        found.append(at)
        at = log.find(b"\x89round1\n", at + 1)
    return found


class TestWhatHasNotHappened:
    def test_a_record_of_a_later_round_is_not_seen_and_written_over(self, tmp_path: Path) -> None:
        path, left = tmp_path / "s", tmp_path / "left"
        stream = quiet_brook(path)
        hours(stream, [{"a": 20}, {"b": 20}])
        shutil.copytree(path, left)
        hours(Stream.open(left), [{"NOT HAPPENED": 90}])
        shutil.copy(log_of(left), log_of(path))
        assert readable(path).keys() == {1, 2}
        assert b"NOT HAPPENED" in inflated(log_of(path).read_bytes())
        hours(Stream.open(path), [{"c": 20}])
        assert [row["item"] for row in Stream.open(path).release(3)] == ["a", "b", "c"]
        assert b"NOT HAPPENED" not in inflated(log_of(path).read_bytes())

    def test_it_is_cut_off_behind_a_lost_record_too(self, tmp_path: Path) -> None:
        """Where the last record is damaged, a whole one behind it still tells where nothing has happened yet."""
        path, left = tmp_path / "s", tmp_path / "left"
        stream = quiet_brook(path)
        hours(stream, [{"a": 20}, {"b": 20}])
        shutil.copytree(path, left)
        hours(Stream.open(left), [{"NOT HAPPENED": 90}])
        torn = bytearray(log_of(left).read_bytes())
        torn[heads(path)[1] + 2] ^= 1
        log_of(path).write_bytes(torn)
        hours(Stream.open(path), [{"c": 20}])
        assert readable(path).keys() == {1, 3}
        assert [row["item"] for row in Stream.open(path).release(3)] == ["a", "b", "c"]

    def test_a_log_knows_no_more_than_it_was_asked_to_look_at(self, tmp_path: Path) -> None:
        hours(quiet_brook(tmp_path / "s"), [{"a": 20}] * 5)
        log = ReleaseLog(log_of(tmp_path / "s"), None)
        log.look(3)
        assert [head.round for head in log] == [1, 2, 3]
        log.look(5)
        assert [head.round for head in log] == [1, 2, 3, 4, 5]


class TestTimes:
    def test_a_round_has_the_time_that_was_given(self, tmp_path: Path) -> None:
        # With so much noise that the guarantee can be said, which a receipt does.
        stream = quiet_brook(tmp_path / "s", variance=Fraction(1, 100))
        hours(stream, [{"a": 9}, {"a": 9}])
        assert [stream.time(1), stream.time(2)] == [START, START + timedelta(hours=1)]
        assert stream.release(2).time == START + timedelta(hours=1)
        assert stream.release(2).receipt()["time"] == "2026-03-01T01:00:00+00:00"

    def test_or_the_time_at_which_it_was_pushed(self, tmp_path: Path) -> None:
        stream, before = quiet_brook(tmp_path / "s"), datetime.now(UTC)
        stream.push({"a": 9})
        time = stream.time(1)
        assert time is not None
        assert before <= time <= datetime.now(UTC)

    def test_zones_are_converted(self, tmp_path: Path) -> None:
        stream = quiet_brook(tmp_path / "s")
        stream.push({"a": 9}, time="2026-03-01T02:00+02:00")
        stream.push({"a": 9}, time=date(2026, 3, 2))
        assert [stream.time(1), stream.time(2)] == [START, START + timedelta(days=1)]

    def test_times_go_on(self, tmp_path: Path) -> None:
        stream = quiet_brook(tmp_path / "s")
        stream.push({"a": 9}, time=START)
        for early in (START, START - timedelta(days=1), "2026-02-01"):
            with pytest.raises(InvalidArgumentError, match=r"time = .+ must be after 2026-03-01"):
                stream.push({"a": 9}, time=early)
        assert stream.round == 1
        far = START + timedelta(days=36500)
        stream.push({"a": 9}, time=far)
        stream.push({"a": 9})
        assert stream.time(3) == far, "a clock that is behind does not turn the order round"

    @pytest.mark.parametrize("time", ["yesterday", "2026-13-01", 7, 7.5, True, b"2026-03-01"])
    def test_what_is_no_time_is_refused_before_rows_are_read(self, tmp_path: Path, time: Any) -> None:
        stream = quiet_brook(tmp_path / "s")
        with pytest.raises(InvalidArgumentError, match="time = "):
            stream.push("no such file.parquet", time=time)
        assert stream.round == 0

    def test_a_round_keeps_its_time(self, tmp_path: Path) -> None:
        stream = quiet_brook(tmp_path / "s")
        stream.push({"a": 9}, time=START)
        assert stream.push({"a": 9}, number=1, time=START) is not None
        assert stream.push({"a": 9}, number=1) is not None
        with pytest.raises(InvalidArgumentError, match="as round 1 was taken in"):
            stream.push({"a": 9}, number=1, time="2026-03-02")

    def test_a_round_that_was_filled_in_has_none(self, tmp_path: Path) -> None:
        stream = quiet_brook(tmp_path / "s")
        stream.push({"a": 9}, time=START)
        stream.push({"a": 9}, number=4, fill_gaps=True, time=START + timedelta(hours=3))
        assert [stream.time(number) for number in (1, 2, 3, 4)] == [START, None, None, START + timedelta(hours=3)]
        with pytest.raises(InvalidArgumentError, match="no time"):
            stream.push({}, number=2, time=START + timedelta(hours=1))

    def test_rounds_without_a_release_have_one_too(self, tmp_path: Path) -> None:
        stream = quiet_brook(tmp_path / "s", release_every=2)
        hours(stream, [{"a": 9}] * 3)
        assert stream.time(3) == START + timedelta(hours=2)
        assert Stream.open(tmp_path / "s").time(3) == START + timedelta(hours=2)

    def test_old_releases_have_that_of_their_file(self) -> None:
        stream = Stream.open(VERSION_0_1 / "events")
        file = VERSION_0_1 / "events" / "releases" / "00000003"
        assert stream.time(3) == datetime.fromtimestamp(int(file.stat().st_mtime), UTC)


def test_a_stream_of_version_0_1_goes_on_into_a_log(tmp_path: Path) -> None:
    path = tmp_path / "events"
    shutil.copytree(VERSION_0_1 / "events", path)
    (path / "key").chmod(0o600)
    before = readable(path)
    stream = Stream.open(path)
    stream.push(rows_of(*[(user, "soup") for user in range(900)]))
    assert {number: rows for number, rows in readable(path).items() if number <= 5} == before
    assert shown(stream.release(6)) == shown(Stream.open(path).release(6))
    assert sorted(file.name for file in (path / "releases").iterdir())[-1] == LOG


def test_releases_take_a_fraction_of_the_room(tmp_path: Path) -> None:
    """Where version 0.1 wrote every label in every release, the log writes it twice in all."""
    stream = brook(tmp_path / "s")
    hours(stream, [{f"a label of some length {at}": 100 for at in range(500)}] * 10)
    assert log_of(tmp_path / "s").stat().st_size < sum(len(one.to_bytes()) for _, one in stream.releases()) / 10
