"""The next life of a stream: a new budget, counts that begin anew, and values that were shown."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.streams.brooks import STILL, brook, files_of, quiet_brook, rows_of, settings, shown

import unlisted as ul
from unlisted.errors import InvalidArgumentError, StreamError
from unlisted.streams import folder
from unlisted.streams.folder import Folder
from unlisted.streams.renewing import renew
from unlisted.streams.stream import Stream

BUDGET = ul.Budget(epsilon=1, delta=1e-8)


def renewed(last: Stream, path: Path, *, keep_values: bool = True, **changed: Any) -> Stream:
    """The next life, with settings without a search."""
    renew(Folder(last._folder.path), path, settings(**changed), None, keep_values=keep_values)
    return Stream.open(path)


def last_life(path: Path, **changed: Any) -> Stream:
    stream = quiet_brook(path, threshold=4, **changed)
    stream.push({"a": 9, "b": 7, "hidden": 2})
    stream.push({"c": 6})
    return stream


class TestValues:
    def test_what_was_shown_needs_no_threshold(self, tmp_path: Path) -> None:
        following = renewed(last_life(tmp_path / "s"), tmp_path / "t", threshold=20, variance=STILL)
        assert shown(following.push({"a": 3, "d": 3, "hidden": 3})) == [("a", 3)]
        assert shown(following.push({"c": 1, "d": 18, "hidden": 17})) == [("d", 21), ("a", 3), ("c", 1)]

    def test_what_was_counted_and_never_shown_is_unknown(self, tmp_path: Path) -> None:
        last_life(tmp_path / "s")
        following = renewed(Stream.open(tmp_path / "s"), tmp_path / "t", threshold=20, variance=STILL)
        assert following._folder.known().to_pylist() == ["a", "b", "c"]
        for file in files_of(tmp_path / "t").values():
            assert b"hidden" not in file

    def test_the_key_and_the_state_of_the_last_life_are_not_read(self, tmp_path: Path) -> None:
        last_life(tmp_path / "s")
        for name in ("key", "state", "journal"):
            (tmp_path / "s" / name).unlink()
        (tmp_path / "s" / "published.json").write_text('{"rounds": 2}')
        following = renewed(Stream.open(tmp_path / "s"), tmp_path / "t")
        assert following._folder.known().to_pylist() == ["a", "b", "c"]

    def test_nothing_is_kept_if_nothing_should_be(self, tmp_path: Path) -> None:
        following = renewed(
            last_life(tmp_path / "s"), tmp_path / "t", keep_values=False, threshold=4, variance=STILL
        )
        assert not (tmp_path / "t" / "known").exists()
        assert shown(following.push({"a": 3})) == []

    def test_nothing_was_shown(self, tmp_path: Path) -> None:
        following = renewed(quiet_brook(tmp_path / "s"), tmp_path / "t")
        assert following.settings.known is None

    @pytest.mark.parametrize("noise", ["correlated", "tree"])
    def test_a_restart_changes_nothing(self, tmp_path: Path, noise: str) -> None:
        following = renewed(
            last_life(tmp_path / "s"), tmp_path / "t", threshold=12, variance=Fraction(20), noise=noise
        )
        following.backup(tmp_path / "u")
        rounds = [{"a": 9, "x": 14}, {"b": 20, "y": 3}, {}, {"c": 30, "x": 5}]
        at_once = Stream.open(tmp_path / "u")
        for one in rounds:
            again = Stream.open(tmp_path / "t").push(one)
            assert again is not None
            assert again.table.equals(at_once.push(one).table)

    def test_windows_begin_with_the_values_that_are_known(self, tmp_path: Path) -> None:
        asked = {"window": 2, "rounds": 8}
        following = renewed(last_life(tmp_path / "s"), tmp_path / "t", threshold=20, variance=STILL, **asked)
        assert shown(following.push({"a": 3})) == [("a", 3)]
        following.push({})
        assert shown(Stream.open(tmp_path / "t").push({"b": 2, "d": 5})) == [("b", 2)]
        assert shown(Stream.open(tmp_path / "t").push({"d": 5})) == [("b", 2)]

    def test_items_of_several_columns(self, tmp_path: Path) -> None:
        asked: dict[str, Any] = {"item": ("shop", "day"), "threshold": 3, "variance": STILL}
        rows = pa.table({"user": range(6), "shop": ["x"] * 6, "day": [1] * 5 + [2]})
        last = brook(tmp_path / "s", **asked)
        last.push(rows)
        following = renewed(last, tmp_path / "t", **asked | {"threshold": 20})
        assert [(row["shop"], row["day"], row["count"]) for row in following.push(rows.slice(0, 4))] == [
            ("x", 1, 4)
        ]

    def test_values_that_come_and_go_are_those_of_every_release(self, tmp_path: Path) -> None:
        last = quiet_brook(tmp_path / "s", window=1, threshold=4)
        last.push({"a": 9})
        last.push({"b": 9})
        assert renewed(last, tmp_path / "t")._folder.known().to_pylist() == ["a", "b"]

    def test_the_interval_is_that_of_its_own_threshold(self, tmp_path: Path) -> None:
        following = renewed(last_life(tmp_path / "s"), tmp_path / "t", threshold=90, variance=Fraction(4))
        release = following.push({"a": 40, "b": 40, "c": 40})
        assert release is not None
        assert release.plan["known_threshold"] < 40 < release.plan["threshold"]
        for row in release:
            assert 25 < row["low"] <= row["count"] <= row["high"] < 55


class TestLife:
    def test_the_question_is_the_same_and_the_budget_another(self, tmp_path: Path) -> None:
        asked = {"unit": "user", "items_per_user": 3, "period": 10, "per_period": 1, "where": "item <> 'x'"}
        last = Stream.create(tmp_path / "s", rounds=100, budget=BUDGET, **asked)
        following = last.renew(tmp_path / "t", budget=ul.Budget(epsilon=2, delta=1e-8), rounds=50)
        was, now = last.settings, following.settings
        assert (now.rounds, now.items_per_user, now.period, now.per_period) == (50, 3, 10, 1)
        assert (now.where, now.noise, now.unit, now.count) == (was.where, "correlated", "user", "first")
        assert following.guarantee.rho > last.guarantee.rho
        assert following.settings.thresholds[-1] < last.settings.thresholds[-1]
        assert Folder(tmp_path / "s").key().to_bytes() != Folder(tmp_path / "t").key().to_bytes()

    def test_users_may_contribute_anew(self, tmp_path: Path) -> None:
        asked: dict[str, Any] = {"unit": "user", "items_per_user": 1, "threshold": 3, "variance": STILL}
        rows = rows_of(*((user, "a") for user in range(5)))
        last = brook(tmp_path / "s", **asked)
        assert shown(last.push(rows)) == shown(last.push(rows)) == [("a", 5)]
        assert shown(renewed(last, tmp_path / "t", **asked).push(rows)) == [("a", 5)]

    def test_a_stream_that_is_over_says_how_it_goes_on(self, tmp_path: Path) -> None:
        stream = quiet_brook(tmp_path / "s", rounds=1)
        stream.push({})
        with pytest.raises(InvalidArgumentError, match="renew"):
            stream.push({})

    def test_an_account_pays_for_the_next_life(self, tmp_path: Path) -> None:
        with ul.Ledger(tmp_path / "budget.db") as ledger:
            account = ledger.open("a", dataset="d", budget=ul.Budget(rho="0.05", delta=1e-6))
            asked: dict[str, Any] = {"unit": "user", "items_per_user": 1, "account": account}
            spent = ul.Budget(rho="0.02", delta=1e-7)
            first = Stream.create(tmp_path / "s", rounds=4, budget=spent, **asked)
            second = first.renew(tmp_path / "t", budget=spent, account=account)
            assert second.stamp is not None
            assert first.stamp != second.stamp
            with pytest.raises(ul.BudgetRefusedError):
                second.renew(tmp_path / "u", budget=spent, account=account)
        assert not (tmp_path / "u").exists()

    @pytest.mark.parametrize("where", ["s", "s/inner", "nowhere/t"])
    def test_a_wrong_path_is_refused(self, tmp_path: Path, where: str) -> None:
        last = last_life(tmp_path / "s")
        before = files_of(tmp_path / "s")
        with pytest.raises(InvalidArgumentError):
            last.renew(tmp_path / where, budget=BUDGET)
        assert files_of(tmp_path / "s") == before

    def test_verify_and_backup_know_the_values(self, tmp_path: Path) -> None:
        following = renewed(last_life(tmp_path / "s"), tmp_path / "t")
        following.backup(tmp_path / "u")
        assert Stream.open(tmp_path / "u").verify() == []
        data = (tmp_path / "u" / "known").read_bytes()
        (tmp_path / "u" / "known").write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        [problem] = Stream.open(tmp_path / "u").verify()
        assert "known values" in problem
        with pytest.raises(StreamError, match="known values"):
            Stream.open(tmp_path / "u").push({"a": 1})

    def test_a_failure_leaves_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        last = last_life(tmp_path / "s")

        def fail(*_: object) -> None:
            raise StreamError("no")

        monkeypatch.setattr(folder, "replace_file", fail)
        with pytest.raises(StreamError):
            renewed(last, tmp_path / "t")
        assert [found.name for found in tmp_path.iterdir()] == ["s"]
