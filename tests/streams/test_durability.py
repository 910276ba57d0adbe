"""A round that was released survives a power cut: what is asked of the file system, and in which order.

`kill -9` cannot show a missing fsync, since the operating system still has what a dead process wrote.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fixtures.system_calls import recorded
from tests.streams.brooks import brook, rows_of, settings

from unlisted.streams import folder
from unlisted.streams.disk import BESIDE, continue_journal, rename_into_place, replace_file


def test_a_file_is_durable_before_it_gets_its_name_and_the_name_after(tmp_path: Path) -> None:
    path, beside = tmp_path / "file", tmp_path / f"file{BESIDE}"
    with recorded() as log:
        replace_file(path, b"whole")
    assert [(call.name, call.path) for call in log.calls] == [
        ("write", beside),
        ("fsync", beside),
        ("rename", beside),
        ("fsync", tmp_path),
    ]
    assert log.undurable_when_renamed() == []
    assert log.undurable_at_the_end() == set()


def test_the_last_step_is_left_to_whoever_asks_for_it(tmp_path: Path) -> None:
    with recorded() as log:
        rename_into_place(tmp_path / "file", b"whole")
    assert log.undurable_when_renamed() == []
    assert log.undurable_at_the_end() == {tmp_path}


def test_a_journal_is_cut_continued_and_durable(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_bytes(b"known, and junk")
    with recorded() as log:
        continue_journal(path, 5, b"!")
    assert [call.name for call in log.calls] == ["truncate", "write", "fsync"]
    assert path.read_bytes() == b"known!"


@pytest.mark.parametrize("unit", ["event", "user"])
def test_a_round_has_happened_only_when_all_of_it_is_durable(tmp_path: Path, unit: str) -> None:
    path = tmp_path / "s"
    stream = brook(path, unit=unit, rounds_per_user=2 if unit == "user" else None)
    with recorded() as log:
        assert stream.push(rows_of(*((f"user {number}", "a") for number in range(90)))) is not None
    assert log.undurable_when_renamed() == []
    assert log.undurable_at_the_end() == set()
    # What is released, and what it was computed from, is there for good before the round counts as taken in.
    committed = log.place("rename", path / f"state{BESIDE}")
    released = path / "releases" / f"{1:08d}"
    assert log.place("rename", released.with_name(released.name + BESIDE)) < committed
    assert log.place("fsync", released.parent) < committed
    assert log.place("fsync", path / "journal") < committed
    assert log.place("fsync", path) > committed


def test_a_new_stream_is_durable_in_the_folder_it_was_made_in(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with recorded() as log:
        folder.create(path, settings(), None)
    assert log.undurable_when_renamed() == []
    assert log.undurable_at_the_end() == set()
    (moved,) = [call for call in log.renames() if call.target == path]
    made = {call.target.name for call in log.renames() if call.target and call.target.parent == moved.path}
    assert made == {"settings.json", "key", "journal", "state"}
    assert log.place("fsync", moved.path) < log.calls.index(moved) < log.place("fsync", tmp_path)
