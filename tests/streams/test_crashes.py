"""kill -9 at every step, full disks, torn files, read-only folders, two writers: before the round or after it."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.streams.brooks import STILL, brook, files_of, rows_of, shown

from unlisted.errors import InvalidArgumentError, StreamError
from unlisted.mechanisms.continual.correlated import noise as correlated_noise
from unlisted.mechanisms.continual.correlated.recursion import Recursion
from unlisted.streams import folder
from unlisted.streams.folder import ExposedKeyWarning
from unlisted.streams.settings import Settings
from unlisted.streams.stream import Stream

STEPS = ("open", "write", "fsync", "replace", "ftruncate", "lseek", "rename", "mkdir", "chmod")
"""All by which the operating system is asked to change something on the disk."""

DONE, KILLED = 0, -signal.SIGKILL
ROUNDS = (
    {"user": range(6), "item": ["a"] * 6},
    {"user": range(3, 9), "item": ["b"] * 6},
    {"user": range(9), "item": ["a", "b", "c"] * 3},
)


def the_round(number: int, unit: str) -> Any:
    """The rows of a round, or for events only their counts: less to do between the steps."""
    columns = ROUNDS[number - 1]
    if unit == "event":
        return Counter(columns["item"])
    return rows_of(*zip(columns["user"], columns["item"], strict=True))


def when(number: int) -> str:
    """The time of a round: the log names it, and is compared byte by byte."""
    return f"2026-03-{number:02d}"


def in_child(work: Callable[[], object], die_at: int | None = None) -> int:
    """Run in a child process that is killed at the step of this number; say how it ended."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 99
    try:
        if die_at is not None:
            _count_down(die_at)
        work()
        code = DONE
    finally:
        os._exit(code)


def _count_down(step: int) -> None:
    left = [step]

    def deadly(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any, **named: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                if name == "write":
                    # Half of it reaches the file.
                    file, data = arguments
                    real(file, bytes(data)[: len(data) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **named)

        return called

    for name in STEPS:
        setattr(os, name, deadly(name, getattr(os, name)))


@pytest.mark.parametrize("unit", ["event", "user"])
def test_a_kill_at_any_step_leaves_the_round_before_or_after(tmp_path: Path, unit: str) -> None:
    """Every step of pushing round 2, and of pushing it again after the kill, ends as the uninterrupted run did."""
    most = 2 if unit == "user" else None
    start = tmp_path / "start"
    brook(start, unit=unit, rounds_per_user=most, display="sticky").push(the_round(1, unit), time=when(1))
    whole = tmp_path / "whole"
    shutil.copytree(start, whole)
    stream = Stream.open(whole)
    released = [stream.push(the_round(number, unit), time=when(number)) for number in (2, 3)]
    final = files_of(whole)
    ended = set()
    for step in range(1, 200):
        path = tmp_path / f"killed {step}"
        shutil.copytree(start, path)
        code = in_child(lambda path=path: Stream.open(path).push(the_round(2, unit), time=when(2)), die_at=step)
        again = Stream.open(path)
        ended.add((code, again.round))
        assert again.round in (1, 2)
        assert again.push(the_round(2, unit), number=2, time=when(2)).table.equals(released[0].table)
        assert again.push(the_round(3, unit), time=when(3)).table.equals(released[1].table)
        found = {name: data for name, data in files_of(path).items() if not name.endswith(".new")}
        assert found == final
        shutil.rmtree(path)
        if code == DONE:
            break
        assert code == KILLED
    else:
        pytest.fail("the push never came to an end")
    assert {(KILLED, 1), (KILLED, 2), (DONE, 2)} == ended


def test_a_kill_at_any_step_of_creating_leaves_a_whole_stream_or_none(tmp_path: Path) -> None:
    settings = Stream(_made(tmp_path / "model")).settings
    outcomes = set()
    for step in range(1, 200):
        place = tmp_path / f"killed {step}"
        place.mkdir()
        code = in_child(lambda place=place: folder.create(place / "s", settings, None), die_at=step)
        exists = (place / "s").exists()
        outcomes.add(exists)
        if exists:
            assert shown(Stream.open(place / "s").push({"a": 50}))[0][0] == "a"
        if code == DONE:
            break
    assert outcomes == {True, False}


def _made(path: Path) -> Path:
    brook(path)
    return path


def test_a_full_disk_is_said_and_nothing_is_lost(tmp_path: Path) -> None:
    """The operating system refuses to let files grow beyond a limit, wherever that falls."""
    path = tmp_path / "s"
    stream = brook(path)
    stream.push({"a": 9})
    before, refused = files_of(path), 0
    large = {f"label {i}": 9 for i in range(300)}
    for limit in (1, 100, 1500, 4000, 8000, 12_000, 10**7):

        def push(limit: int = limit) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
            with pytest.raises(StreamError, match=r"The disk is full. Make room and push the round again"):
                stream.push(large)
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            if stream.round != 1:
                raise AssertionError("a round happened on a full disk")
            stream.push(large)

        copy = tmp_path / "copy"
        shutil.copytree(path, copy)
        code = in_child(push)
        refused += code == DONE
        if code == DONE:
            assert Stream.open(path).round == 2
        shutil.rmtree(path)
        copy.rename(path)
    assert refused >= 4
    assert files_of(path) == before


def read_and_push(path: Path) -> None:
    """Use every file of a stream."""
    stream = Stream.open(path)
    stream.release(2)
    stream.push({"d": 90})


@pytest.mark.parametrize("name", ["settings.json", "key", "state", "journal"])
def test_a_torn_or_changed_file_is_found(tmp_path: Path, name: str) -> None:
    path = tmp_path / "s"
    stream = brook(path)
    for one in ({"a": 90}, {"b": 90}, {"c": 90}):
        stream.push(one)
    whole = (path / name).read_bytes()
    middle = len(whole) // 2
    damages = {
        "empty": b"",
        "half": whole[:middle],
        "one byte less": whole[:-1],
        "zeros at the end": whole[:-8] + bytes(8),
        "one bit": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
        "another version": whole.replace(b" 1\n", b" 3\n", 1).replace(b'"format": 2', b'"format": 3'),
    }
    if name == "journal":
        damages["another version"] = whole[8:]
    for how, damaged in damages.items():
        (path / name).write_bytes(damaged)
        with pytest.raises(StreamError) as caught:
            read_and_push(path)
        assert "90" not in str(caught.value), how
    (path / name).unlink()
    with pytest.raises(StreamError, match="is missing"):
        read_and_push(path)
    (path / name).write_bytes(whole)
    (path / name).chmod(0o600)
    assert shown(Stream.open(path).push({"d": 90}))[0][1] > 0


def test_what_is_behind_the_end_of_the_journal_is_nobody_s(tmp_path: Path) -> None:
    path = tmp_path / "s"
    brook(path).push({"a": 90})
    known = (path / "journal").read_bytes()
    # Longer than what the next round writes over it, so that it would be left behind.
    with (path / "journal").open("ab") as journal:
        journal.write(b"left by an attempt that was killed" * 1000)
    assert len(Stream.open(path).push({"b": 90})) == 2
    assert Stream.open(path).round == 2
    written = (path / "journal").read_bytes()
    assert written.startswith(known)
    assert b"killed" not in written
    assert len(Stream.open(path).push({"c": 90})) == 3


def test_another_stream_s_key_is_not_taken(tmp_path: Path) -> None:
    """Noise under another key would be a second release of every round so far."""
    for name in "st":
        brook(tmp_path / name).push({"a": 90})
    shutil.copy(tmp_path / "t" / "key", tmp_path / "s" / "key")
    with pytest.raises(StreamError, match="journal"):
        Stream.open(tmp_path / "s").push({"a": 90})


def test_settings_are_fixed(tmp_path: Path) -> None:
    brook(tmp_path / "s")
    settings = tmp_path / "s" / "settings.json"
    settings.write_text(settings.read_text().replace('"rounds": 12', '"rounds": 13'))
    with pytest.raises(StreamError, match="were changed"):
        Stream.open(tmp_path / "s")


def test_no_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(StreamError, match="There is no stream"):
        Stream.open(tmp_path / "nothing")


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may write anywhere; somebody else may not."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_read_only_folder_can_be_read_and_not_pushed_to(tmp_path: Path) -> None:
    path = tmp_path / "s"
    brook(path).push({"a": 90})
    paths = [path, *path.rglob("*")]
    for one in paths:
        one.chmod(0o555 if one.is_dir() else 0o444)
    parents = [one for one in path.parents if one.is_relative_to("/tmp") and one != Path("/tmp")]
    modes = {one: one.stat().st_mode for one in parents}
    try:
        for one in parents:
            one.chmod(modes[one] | 0o555)
        with as_nobody():
            stream = Stream.open(path)
            assert len(stream.release(1)) == len(stream.export()) == 1
            refused = pytest.raises(StreamError, match="cannot be written: permission is missing")
            with pytest.warns(ExposedKeyWarning), refused:
                stream.push({"a": 90})
            with pytest.raises(StreamError, match="cannot be written"):
                folder.create(path / "inner", stream.settings, None)
    finally:
        for one, mode in modes.items():
            one.chmod(mode)
        for one in paths:
            one.chmod(0o700)
    assert Stream.open(path).round == 1


class TestWriters:
    def test_there_is_one_at_a_time(self, tmp_path: Path) -> None:
        path = tmp_path / "s"
        stream = brook(path)
        with folder.Folder(path).only_writer():
            with pytest.raises(StreamError, match="Another process or thread is writing"):
                stream.push({"a": 90})
            assert in_child(lambda: Stream.open(path).push({"a": 90})) != DONE
            assert stream.export().rows == [], "reading needs no lock"
        assert stream.push({"a": 90}) is not None

    def test_the_lock_dies_with_its_holder(self, tmp_path: Path) -> None:
        path = tmp_path / "s"
        stream = brook(path)

        def die_with_the_lock() -> None:
            with folder.Folder(path).only_writer():
                os.kill(os.getpid(), signal.SIGKILL)

        assert in_child(die_with_the_lock) == KILLED
        assert stream.push({"a": 90}) is not None

    def test_two_writers_in_turn_see_each_other_s_rounds(self, tmp_path: Path) -> None:
        one = brook(tmp_path / "s", variance=STILL)
        other = Stream.open(tmp_path / "s")
        for stream in (one, other, one, other, other, one):
            release = stream.push({"a": 10})
        assert shown(release) == [("a", 60)]

    def test_many_push_the_same_round_and_it_happens_once(self, tmp_path: Path) -> None:
        stream = brook(tmp_path / "s", variance=STILL)
        answers: list[object] = []

        def push() -> None:
            while True:
                try:
                    answers.append(shown(Stream.open(tmp_path / "s").push({"a": 10}, number=1)))
                except StreamError:
                    continue
                return

        threads = [threading.Thread(target=push) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == [[("a", 10)]] * 6
        assert stream.round == 1

    def test_a_reader_beside_a_writer_sees_whole_rounds(self, tmp_path: Path) -> None:
        path = tmp_path / "s"
        stream = brook(path, rounds=40, variance=STILL)
        writing = threading.Thread(target=lambda: [stream.push({f"label {i}": 10}) for i in range(30)])
        writing.start()
        is_over = False
        while not is_over:
            # Looked at before reading: the last look is at the whole stream, however fast it was written.
            is_over = not writing.is_alive()
            seen = 0
            for number, release in Stream.open(path).releases():
                assert len(release) == number
                seen += 1
        writing.join()
        assert seen == 30
        assert len(Stream.open(path).release(30)) == 30


def test_settings_of_another_shape_are_refused() -> None:
    for data in (b"", b"{}", b"[]", b'{"format": 1}', b"\xff"):
        with pytest.raises(StreamError, match="torn"):
            Settings.from_bytes(data)


def test_a_failed_push_can_be_repeated_in_the_same_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was half taken in memory does not show: labels of the failed attempt are not known afterwards."""
    stream = brook(tmp_path / "s", variance=STILL)
    stream.push({"a": 10})
    real = os.replace

    def full(source: Any, target: Any) -> None:
        if str(target).endswith("state"):
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(StreamError, match="The disk is full"):
        stream.push({"b": 10, "c": 10})
    monkeypatch.undo()
    assert stream.round == 1
    assert shown(stream.push({"c": 20, "d": 30})) == [("d", 30), ("c", 20), ("a", 10)]
    with pytest.raises(InvalidArgumentError):
        stream.push({"b": 10, "c": 10}, number=2)


def test_a_failure_after_the_round_has_happened_says_that_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder's entries cannot be made durable, once `state` is the new one; a repeated push tries again."""
    path = tmp_path / "s"
    stream = brook(path, variance=STILL)
    stream.push({"a": 10})
    real = os.fsync

    def failing(file: int) -> None:
        if os.path.samestat(os.fstat(file), path.stat()):
            raise OSError(errno.EIO, "Input/output error")
        real(file)

    for one in ({}, {"number": 2}):
        monkeypatch.setattr(os, "fsync", failing)
        with pytest.raises(StreamError) as caught:
            stream.push({"b": 20}, **one)
        monkeypatch.undo()
        assert stream.round == 2
        if not one:
            assert "Round 2 was taken in" in str(caught.value)
            assert "push the same rows with the same number again" in str(caught.value)
    assert shown(stream.push({"b": 20}, number=2)) == [("b", 20), ("a", 10)]
    assert stream.round == 2


@pytest.mark.parametrize("damage", ["none", "missing", "torn", "one bit", "older", "of another stream"])
def test_noise_that_was_kept_is_used_if_it_belongs_here_and_drawn_again_if_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    monkeypatch.setattr(correlated_noise, "_STEPS_AGAIN", 4)  # so that a short stream keeps its noise
    rounds = [{f"label {(7 * number + i) % 40}": 20 for i in range(25)} for number in range(12)]
    path, other = tmp_path / "s", tmp_path / "other"
    stream, strange = brook(path, variance=Fraction(100)), brook(other, variance=Fraction(100))
    for number, one in enumerate(rounds[:11], start=1):
        stream.push(one)
        strange.push(one)
        if number == 6:
            older = (path / "noise").read_bytes()
    shutil.copytree(path, tmp_path / "whole")
    kept = (path / "noise").read_bytes()
    middle = len(kept) // 2
    damages = {
        "none": kept,
        "torn": kept[:middle],
        "one bit": kept[:middle] + bytes([kept[middle] ^ 1]) + kept[middle + 1 :],
        "older": older,
        "of another stream": (other / "noise").read_bytes(),
    }
    (path / "noise").unlink()
    if damage in damages:
        (path / "noise").write_bytes(damages[damage])
    uninterrupted = Stream.open(tmp_path / "whole").push(rounds[11])
    drawn: list[int] = []
    real = Recursion.advance
    monkeypatch.setattr(Recursion, "advance", lambda *args: (drawn.append(1), real(*args))[1])
    assert Stream.open(path).push(rounds[11]).table.equals(uninterrupted.table)
    assert len(drawn) == {"none": 2, "older": 7}.get(damage, 12)
