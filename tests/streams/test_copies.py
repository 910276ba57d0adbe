"""Copies of a stream while it is pushed to, folders without a key, what is damaged and is found."""

from __future__ import annotations

import shutil
import threading
import warnings
from pathlib import Path

import pytest
from tests.streams.brooks import brook, files_of, inflated, quiet_brook, shown
from tests.streams.test_crashes import DONE, KILLED, in_child

import unlisted as ul
from unlisted.errors import InvalidArgumentError, StreamError
from unlisted.streams import folder as folders
from unlisted.streams.stream import Stream

VERSION_0_1 = Path(__file__).parent / "version_0_1"
SECRET = ("key", "state", "journal", "noise", "lock")


def three_rounds(path: Path) -> Stream:
    stream = quiet_brook(path)
    for number, one in enumerate(({"a": 30, "PLANTED": 1}, {"b": 20}, {"a": 5}), start=1):
        stream.push(one, time=f"2026-03-0{number}")
    return stream


class TestBackups:
    def test_a_copy_goes_on_as_the_stream_does(self, tmp_path: Path) -> None:
        stream = three_rounds(tmp_path / "s")
        assert stream.backup(tmp_path / "copy") == 3
        copy = Stream.open(tmp_path / "copy")
        assert copy.verify() == []
        assert [one.rows for _, one in copy.releases()] == [one.rows for _, one in stream.releases()]
        for one in (stream, copy):
            one.push({"c": 40}, time="2026-03-09")
        one, other = (files_of(tmp_path / name) for name in ("s", "copy"))
        assert {name: data for name, data in one.items() if name != "noise"} == {
            name: data for name, data in other.items() if name != "noise"
        }

    def test_it_is_as_private_as_the_stream(self, tmp_path: Path) -> None:
        three_rounds(tmp_path / "s").backup(tmp_path / "copy")
        for path in (tmp_path / "copy", *(tmp_path / "copy").rglob("*")):
            assert path.stat().st_mode & 0o077 == 0, path.name

    def test_a_copy_of_releases_holds_nothing_else(self, tmp_path: Path) -> None:
        stream = three_rounds(tmp_path / "s")
        stream.backup(tmp_path / "public", releases_only=True)
        public = files_of(tmp_path / "public")
        assert sorted(public) == ["published.json", "releases/log", "settings.json"]
        assert all(b"PLANTED" not in inflated(data) for data in public.values())
        copy = Stream.open(tmp_path / "public")
        assert (copy.round, copy.verify()) == (3, [])
        assert copy.export().table.equals(stream.export().table)
        with pytest.raises(StreamError, match="key is missing: its releases can be read"):
            copy.push({"a": 1})
        assert copy.backup(tmp_path / "again") == 3, "a copy can be copied"
        assert files_of(tmp_path / "again") == public

    def test_what_has_not_happened_is_not_published(self, tmp_path: Path) -> None:
        """A push was killed after its release was written: nobody may see that release."""
        stream = three_rounds(tmp_path / "s")
        shutil.copytree(tmp_path / "s", tmp_path / "left")
        Stream.open(tmp_path / "left").push({"NOT HAPPENED": 90}, time="2026-03-08")
        log = Path("releases") / "log"
        shutil.copy(tmp_path / "left" / log, tmp_path / "s" / log)
        for name, only in (("whole", False), ("public", True)):
            stream.backup(tmp_path / name, releases_only=only)
            assert b"NOT HAPPENED" not in inflated((tmp_path / name / log).read_bytes())
            assert Stream.open(tmp_path / name).round == 3

    def test_streams_of_version_0_1(self, tmp_path: Path) -> None:
        stream = Stream.open(VERSION_0_1 / "events")
        assert stream.backup(tmp_path / "copy") == stream.round == 5
        copy = Stream.open(tmp_path / "copy")
        assert [one.to_bytes() for _, one in copy.releases()] == [one.to_bytes() for _, one in stream.releases()]
        assert copy.verify() == []

    def test_nothing_is_replaced(self, tmp_path: Path) -> None:
        stream = three_rounds(tmp_path / "s")
        for to, said in (
            (tmp_path / "s", "does not exist yet"),
            (tmp_path / "no" / "such", "Its parent folder does not exist"),
            (tmp_path / "s" / "inner", "outside of the stream's own folder"),
        ):
            with pytest.raises(InvalidArgumentError, match=said):
                stream.backup(to)
        assert [path.name for path in tmp_path.iterdir()] == ["s"]

    def test_while_somebody_pushes_every_copy_is_of_one_moment(self, tmp_path: Path) -> None:
        stream = quiet_brook(tmp_path / "s", rounds=60)
        pushing = threading.Thread(target=lambda: [stream.push({f"label {at}": 10}) for at in range(40)])
        pushing.start()
        copies, is_over = 0, False
        while not is_over:
            is_over = not pushing.is_alive()
            path = tmp_path / f"copy {copies}"
            rounds = Stream.open(tmp_path / "s").backup(path)
            copy = Stream.open(path)
            assert copy.round == rounds
            assert copy.verify() == []
            assert [len(one) for _, one in copy.releases()] == list(range(1, rounds + 1))
            copies += 1
        pushing.join()
        assert rounds == 40

    def test_a_kill_at_any_step_leaves_a_whole_copy_or_none(self, tmp_path: Path) -> None:
        three_rounds(tmp_path / "s")
        before, outcomes = files_of(tmp_path / "s"), set()
        for step in range(1, 200):
            place = tmp_path / f"killed {step}"
            place.mkdir()
            code = in_child(lambda place=place: Stream.open(tmp_path / "s").backup(place / "copy"), die_at=step)
            exists = (place / "copy").exists()
            outcomes.add((code, exists))
            if exists:
                assert Stream.open(place / "copy").verify() == []
            if code == DONE:
                break
            assert code == KILLED
        assert {(KILLED, False), (DONE, True)} <= outcomes
        assert files_of(tmp_path / "s") == before

    def test_a_damaged_stream_is_not_copied_as_if_it_were_whole(self, tmp_path: Path) -> None:
        stream = three_rounds(tmp_path / "s")
        journal = tmp_path / "s" / "journal"
        journal.write_bytes(journal.read_bytes()[:-1] + b"?")
        with pytest.raises(StreamError, match="journal"):
            Stream.open(tmp_path / "s").backup(tmp_path / "copy")
        assert [path.name for path in tmp_path.iterdir()] == ["s"]
        assert stream.backup(tmp_path / "public", releases_only=True) == 3


class TestVerify:
    def test_a_stream_in_order(self, tmp_path: Path) -> None:
        assert quiet_brook(tmp_path / "new").verify() == []
        assert three_rounds(tmp_path / "s").verify() == []
        assert quiet_brook(tmp_path / "rare", release_every=2).verify() == []

    @pytest.mark.parametrize("name", ["key", "state", "journal"])
    def test_every_file_is_looked_at(self, tmp_path: Path, name: str) -> None:
        three_rounds(tmp_path / "s")
        file = tmp_path / "s" / name
        whole = file.read_bytes()
        file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        problems = Stream.open(tmp_path / "s").verify()
        assert problems
        assert name in problems[0]
        file.unlink()
        assert Stream.open(tmp_path / "s").verify()

    def test_every_damaged_release_is_named(self, tmp_path: Path) -> None:
        three_rounds(tmp_path / "s")
        log = tmp_path / "s" / "releases" / "log"
        whole = bytearray(log.read_bytes())
        whole[-1] ^= 1
        log.write_bytes(whole)
        problems = Stream.open(tmp_path / "s").verify()
        assert [problem.split(" is ")[0] for problem in problems] == ["The release after round 3"]
        assert "The others can be read" in problems[0]

    def test_a_release_copied_over_another_is_found(self, tmp_path: Path) -> None:
        shutil.copytree(VERSION_0_1 / "events", tmp_path / "s")
        (tmp_path / "s" / "key").chmod(0o600)
        shutil.copy(tmp_path / "s" / "releases" / "00000004", tmp_path / "s" / "releases" / "00000002")
        [problem] = Stream.open(tmp_path / "s").verify()
        assert problem.startswith("The release after round 2 is that of round 4")

    def test_so_is_a_record_copied_over_another(self, tmp_path: Path) -> None:
        stream = quiet_brook(tmp_path / "s")
        for _ in range(4):
            stream.push({"a": 20}, time=f"2026-03-0{stream.round + 1}")
        log = tmp_path / "s" / "releases" / "log"
        whole = log.read_bytes()
        at = [found for found in range(len(whole)) if whole.startswith(b"\x89round1\n", found)]
        log.write_bytes(whole[: at[2]] + whole[at[1] : at[2]] + whole[at[3] :])
        [problem] = Stream.open(tmp_path / "s").verify()
        assert problem.startswith("The release after round 3 is missing")

    def test_a_key_that_others_can_read_is_noticed(self, tmp_path: Path) -> None:
        stream = three_rounds(tmp_path / "s")
        (tmp_path / "s" / "key").chmod(0o644)
        [problem] = stream.verify()
        assert problem.startswith("The stream's key can be read by others")
        with pytest.warns(ul.ExposedKeyWarning, match="chmod 600"):
            stream.push({"a": 1})
        assert len(stream.export(start=4)), "the round is taken in: a note must not stop a pipeline"
        (tmp_path / "s" / "key").chmod(0o600)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            stream.push({"a": 1})


class TestWithoutTheKey:
    def test_everything_can_be_read_and_nothing_pushed(self, tmp_path: Path) -> None:
        three_rounds(tmp_path / "s")
        (tmp_path / "s" / "key").unlink()
        stream = Stream.open(tmp_path / "s")
        assert shown(stream.release(3)) == [("a", 35), ("b", 20)]
        assert len(stream.export()) == 5
        assert shown(stream.last(1)) == [("a", 5)]
        with pytest.raises(
            StreamError, match="key is missing: its releases can be read, but nothing can be pushed"
        ):
            stream.push({"a": 1})
        assert "key is missing" in stream.verify()[0]

    def test_once_it_is_back_all_goes_on(self, tmp_path: Path) -> None:
        three_rounds(tmp_path / "s")
        key = (tmp_path / "s" / "key").read_bytes()
        (tmp_path / "s" / "key").unlink()
        stream = Stream.open(tmp_path / "s")
        stream.release(1)
        (tmp_path / "s" / "key").write_bytes(key)
        (tmp_path / "s" / "key").chmod(0o600)
        assert shown(stream.push({"a": 5}))[0] == ("a", 40)
        assert Stream.open(tmp_path / "s").verify() == []


class TestWaiting:
    def test_a_push_waits_for_its_turn(self, tmp_path: Path) -> None:
        stream, taken = brook(tmp_path / "s"), []
        waiting = threading.Thread(target=lambda: taken.append(stream.push({"a": 90}, wait=True)))
        with folders.Folder(tmp_path / "s").only_writer():
            waiting.start()
            with pytest.raises(StreamError, match="--wait"):
                Stream.open(tmp_path / "s").push({"a": 90})
            assert taken == []
        waiting.join()
        assert len(taken) == 1
        assert stream.round == 1

    def test_many_that_wait_are_all_taken_in(self, tmp_path: Path) -> None:
        path = tmp_path / "s"
        stream = quiet_brook(path)
        threads = [
            threading.Thread(target=lambda: Stream.open(tmp_path / "s").push({"a": 10}, wait=True))
            for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert shown(stream.release(6)) == [("a", 60)]


def test_secret_files_are_those_that_a_published_copy_lacks(tmp_path: Path) -> None:
    three_rounds(tmp_path / "s").backup(tmp_path / "public", releases_only=True)
    assert not [name for name in SECRET if (tmp_path / "public" / name).exists()]
