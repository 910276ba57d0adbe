"""`unlisted account`, `dataset` and `ledger`, and `--ledger` and `--account` on every verb that answers."""

from __future__ import annotations

import json
import os
import signal
from fractions import Fraction
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from sqlalchemy import Connection
from tests.cli.shell import Done, finished, unlisted
from tests.fixtures.kitchen import BOUND, COMMON, SHELL, cooked

import unlisted as ul
from unlisted.ledger.account import Account
from unlisted.ledger.entries import canonical
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.schema import entries

TOTAL = ("--rho", "100", "--delta", "0.01")
SHARE = ("--rho", "50", "--delta", "0.001")


@pytest.fixture
def url(tmp_path: Path) -> str:
    return str(tmp_path / "budget.db")


@pytest.fixture
def opened(url: str) -> str:
    """A ledger with a data set of a declared version and an account on it."""
    said("dataset", "create", "kitchen", "--ledger", url, *TOTAL, "--data-version", "november")
    said("account", "create", "ads", "--ledger", url, "--dataset", "kitchen", *SHARE)
    return url


def said(*words: object) -> str:
    """Run a verb that must succeed and return what it printed."""
    done = unlisted(*words)
    assert done.code == 0, done.said
    return done.text


def refused(*words: object, code: int = 2) -> str:
    """Run a verb that must fail, tidily, and return what it said."""
    done = unlisted(*words)
    assert done.code == code, done.said
    assert done.data == b""
    assert all(line.startswith("unlisted: ") for line in done.said.splitlines())
    return done.said


def shown(url: str, name: str = "ads") -> dict[str, object]:
    found: dict[str, object] = json.loads(said("account", "show", name, "--ledger", url, "--format", "json"))
    return found


def ask(verb: str, rows: Path, url: str, *words: object) -> Done:
    bound = ("-k", 2) if verb == "top" else ("--items-per-user", BOUND)
    return unlisted(verb, rows, *SHELL, *bound, "--ledger", url, "--account", "ads", "--format", "json", *words)


VERBS = ("histogram", "top", "top-histogram")


class TestAccount:
    def test_create_on_an_unknown_data_set_says_that_it_opens_one(self, url: str) -> None:
        first = said("account", "create", "ads", "--ledger", url, "--dataset", "kitchen", *SHARE)
        assert first.splitlines() == [
            "The data set 'kitchen' is new: its total is this account's budget.",
            "Account 'ads' on 'kitchen' may spend ρ = 50, δ = 0.001, which is ε = 85 at δ = 0.002.",
        ]
        second = said("account", "create", "ops", "--ledger", url, "--dataset", "kitchen", *SHARE)
        assert "is new" not in second

    def test_create_again_with_equal_terms_attaches(self, opened: str) -> None:
        again = ("account", "create", "ads", "--ledger", opened, "--dataset", "kitchen")
        said(*again, "--rho", "50.0", "--delta", "1e-3")
        assert refused(*again, "--rho", "51", "--delta", "0.001") == (
            "unlisted: budget = 'rho 51 and delta 0.001' is not allowed: it must be the account's own terms, "
            "rho 50 and delta 0.001. Terms never change.\n"
        )
        assert "opened on" in refused(
            "account", "create", "ads", "--ledger", opened, "--dataset", "orders", *SHARE
        )

    def test_show(self, opened: str, rows: Path) -> None:
        assert ask("top", rows, opened).code == 0
        lines = said("account", "show", "ads", "--ledger", opened).splitlines()
        assert lines[0] == "Account 'ads' on the data set 'kitchen'"
        assert lines[1].endswith("% of ρ spent")
        assert lines[2].split() == ["ρ", "δ", "ε", "at", "δ", "=", "0.002"]
        assert [line.split()[0] for line in lines[3:7]] == ["total", "spent", "reserved", "left"]
        assert lines[7].startswith("  The data set has ρ = ")
        total, spent, reserved, left = ([float(word) for word in line.split()[1:]] for line in lines[3:7])
        assert reserved == [0, 0, 0]
        assert spent[0] > 0
        assert left[0] == pytest.approx(total[0] - spent[0])
        assert left[2] < total[2]

    def test_show_as_json_is_exact(self, opened: str, rows: Path) -> None:
        ask("histogram", rows, opened)
        found = shown(opened)
        amounts = {name: Fraction(found[name]["rho"]) for name in ("total", "spent", "reserved", "left")}
        assert amounts["total"] - amounts["spent"] == amounts["left"]
        assert amounts["spent"] > 0
        assert found["spent_epsilon"]["at_delta"] == 0.002
        assert found["spent"]["epsilon"] == found["spent_epsilon"]["epsilon"]
        assert "period" not in found

    def test_the_words_of_the_survey(self, url: str, rows: Path) -> None:
        survey = ("--results", 20, "--questions", 3, "--epsilon", "1.5", "--delta", "1e-9")
        said("account", "create", "ads", "--ledger", url, "--dataset", "kitchen", *survey)
        assert "enough for 20 more results at ε = 1.5, and for 3 more questions" in said(
            "account", "show", "ads", "--ledger", url
        )
        words = ("--user", "user", "--item", "dish", "--ledger", url, "--account", "ads", "--format", "json")
        found = json.loads(said("top", rows, "-k", 2, *words))
        assert found["guarantee"]["rho"] == found["spent"]["rho"] == 2 * 1.5**2 / 8
        assert "enough for 18 more results" in said("account", "show", "ads", "--ledger", url)
        short = refused("top", rows, "-k", 19, *words, code=3)
        assert "enough for 18 more results at ε = 1.5" in short
        assert "Nothing was charged" in short

    @pytest.mark.parametrize("delta", [(), ("--period-delta", "1e-4")])
    def test_periods(self, url: str, delta: tuple[str, ...]) -> None:
        period = ("--period", "month", "--period-rho", "5", *delta)
        said("account", "create", "ads", "--ledger", url, "--dataset", "kitchen", *SHARE, *period)
        found = shown(url)
        assert found["period"]["left"] == {"rho": "5", "delta": "0.0001" if delta else "0.001"}
        assert found["left"]["rho"] == "5"
        lines = said("account", "show", "ads", "--ledger", url).splitlines()
        assert lines[6].split()[:3] == ["left", "50", "0.001"]
        assert "ρ = 5, " in lines[8]
        assert lines[8].endswith("left. An allowance starts anew, the total never.")

    def test_a_period_of_results_may_use_all_questions(self, url: str) -> None:
        survey = ("--results", 20, "--questions", 3, "--epsilon", "1.5", "--delta", "1e-9")
        period = ("--period", "day", "--period-rho", "1")
        said("account", "create", "ads", "--ledger", url, "--dataset", "kitchen", *survey, *period)
        assert shown(url)["period"]["left"]["delta"] == "0.000000003"
        assert "What is left now is enough for 3 more results at ε = 1.5" in said(
            "account", "show", "ads", "--ledger", url
        )
        told = refused("account", "create", "ads", "--ledger", url, "--dataset", "kitchen", *survey)
        assert "rho 1 and delta 0.000000003 each day, at epsilon 1.5 a result and delta 1e-09 a question" in told

    def test_list_and_close(self, opened: str, rows: Path) -> None:
        said("account", "create", "ops", "--ledger", opened, "--dataset", "kitchen", *SHARE)
        assert [line.split()[0] for line in said("account", "list", "--ledger", opened).splitlines()] == [
            "ads",
            "ops",
        ]
        assert said("account", "close", "ads", "--ledger", opened) == "Account 'ads' is closed.\n"
        assert "closed" in said("account", "list", "--ledger", opened).splitlines()[0]
        assert "(closed)" in said("account", "show", "ads", "--ledger", opened)
        assert "closed before" in refused("account", "close", "ads", "--ledger", opened)
        listed = json.loads(said("account", "list", "--ledger", opened, "--format", "json"))
        assert [one["closed"] for one in listed] == [True, False]
        assert "is closed" in ask("top", rows, opened).said
        assert ask("top", rows, opened).code == 3

    @pytest.mark.parametrize(("kind", "counted"), [("zcdp", "rho"), ("gaussian", "mu_squared")])
    def test_a_total_in_epsilon(self, kind: str, counted: str, url: str) -> None:
        words = ("--ledger", url, "--epsilon", "1", "--delta", "1e-6")
        assert "which is ε = 1 at δ = 1e-06.\n" in said("dataset", "create", "shop", *words, "--kind", kind)
        assert "which is ε = 1 at δ = 1e-06.\n" in said("account", "create", "ads", *words, "--dataset", "shop")
        found = shown(url)
        assert found["kind"] == kind
        assert found["total"].keys() == {counted, "delta", "epsilon"}
        assert (found["total"]["epsilon"], found["total"]["delta"]) == (1, "0.0000005")
        assert f"% of {'ρ' if kind == 'zcdp' else 'μ²'} spent" in said("account", "show", "ads", "--ledger", url)

    def test_a_period_in_epsilon(self, url: str) -> None:
        words = (
            "--ledger",
            url,
            "--epsilon",
            "1",
            "--delta",
            "1e-6",
            "--period",
            "month",
            "--period-epsilon",
            "0.5",
        )
        said("account", "create", "ads", *words, "--dataset", "shop", "--kind", "gaussian")
        left = shown(url)["period"]["left"]
        assert left["delta"] == "0.0000005"
        assert shown(url)["left"]["mu_squared"] == left["mu_squared"], "the least of both"
        assert 0 < Fraction(left["mu_squared"]) < Fraction(shown(url)["total"]["mu_squared"]) / 3

    def test_a_kind_that_is_not_the_data_set_s_is_refused(self, opened: str) -> None:
        words = ("account", "create", "ops", "--ledger", opened, "--dataset", "kitchen", "--delta", "1e-6")
        assert "no limit. Leave the kind out." in refused(*words, "--epsilon", "1", "--kind", "gaussian")
        assert "adds up ρ and δ" in refused(*words, "--mu-squared", "1")

    def test_an_unknown_account_is_told_who_there_is(self, opened: str) -> None:
        for words in (("show", "nobody"), ("close", "nobody")):
            assert "--account = 'nobody'" in refused("account", *words, "--ledger", opened)
        assert "There are: ads." in refused("account", "show", "nobody", "--ledger", opened)

    @pytest.mark.parametrize(
        ("words", "named"),
        [
            ((), "--delta"),
            (("--rho", "1"), "--delta"),
            (("--delta", "1e-6"), "epsilon"),
            (("--rho", "0", "--delta", "1e-6"), "--rho"),
            (("--rho", "nan", "--delta", "1e-6"), "--rho"),
            (("--rho", "1", "--delta", "0.6"), "--delta"),
            (("--rho", "1", "--delta", "1e-6", "--results", "5"), "--results"),
            (("--results", "5", "--delta", "1e-6"), "--results"),
            (("--results", "0", "--questions", "1", "--epsilon", "1", "--delta", "1e-6"), "--results"),
            (("--epsilon", "1", "--rho", "1", "--delta", "1e-6"), "rho"),
            (("--mu-squared", "1", "--delta", "1e-6", "--kind", "zcdp"), "given in epsilon or rho"),
            (("--rho", "1", "--delta", "1e-6", "--period", "month"), "--period"),
            (("--rho", "1", "--delta", "1e-6", "--period-rho", "1"), "--period"),
            (("--rho", "1", "--delta", "1e-6", "--period", "hour", "--period-rho", "1"), "--period"),
        ],
    )
    def test_rubbish_terms_are_refused_and_begin_no_ledger(
        self, url: str, words: tuple[str, ...], named: str
    ) -> None:
        assert named in refused("account", "create", "ads", "--ledger", url, "--dataset", "kitchen", *words)
        assert not Path(url).exists()

    @pytest.mark.parametrize("name", ["", "  ", "a\x1b[31m", "a\nb", "n" * 201])
    def test_rubbish_names_are_refused(self, opened: str, name: str) -> None:
        told = refused("account", "create", name, "--ledger", opened, "--dataset", "kitchen", *SHARE)
        assert "printable characters" in told
        assert told.strip("\n").isprintable()
        refused("account", "create", "ads", "--ledger", opened, "--dataset", name, *SHARE)
        refused("dataset", "version", "kitchen", name, "--ledger", opened)


class TestDataset:
    def test_create_and_show(self, url: str, rows: Path) -> None:
        declared = ("--user", "user", "--source", rows, "--adjacency", "replace", "--data-version", "v1")
        first = said("dataset", "create", "kitchen", "--ledger", url, *TOTAL, *declared)
        total = "ρ = 100, δ = 0.01, which is ε = 140.3 at δ = 0.02"
        assert first == f"All accounts on 'kitchen' together may spend {total}.\n"
        said("account", "create", "ads", "--ledger", url, "--dataset", "kitchen", *SHARE)
        found = json.loads(said("dataset", "show", "kitchen", "--ledger", url, "--format", "json"))
        fixed = {name: found[name] for name in ("user", "adjacency", "source", "version", "accounts")}
        assert fixed == {
            "user": "user",
            "adjacency": "replace",
            "source": str(rows),
            "version": "v1",
            "accounts": ["ads"],
        }
        text = said("dataset", "show", "kitchen", "--ledger", url)
        assert str(rows) in text
        assert "ads" in text
        assert "a new name" in refused("dataset", "create", "kitchen", "--ledger", url, *TOTAL)

    def test_a_declared_source_is_what_questions_name(
        self, url: str, rows: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(rows.parent)
        said("dataset", "create", "kitchen", "--ledger", url, *TOTAL, "--source", rows.name)
        said("account", "create", "ads", "--ledger", url, "--dataset", "kitchen", *SHARE)
        assert ask("top", rows, url).code == 0
        pq.write_table(cooked(), "other.parquet")
        assert "SOURCE = " in refused("top", "other.parquet", *SHELL, "-k", 2, "--ledger", url, "--account", "ads")

    def test_version(self, opened: str, rows: Path) -> None:
        first, again = ask("top", rows, opened), ask("top", rows, opened)
        assert again.data == first.data
        spent = shown(opened)["spent"]
        assert said("dataset", "version", "kitchen", "december", "--ledger", opened) == (
            "The data set 'kitchen' is at version 'december'.\n"
        )
        ask("top", rows, opened)
        assert shown(opened)["spent"] != spent

    def test_an_unknown_data_set_is_told_which_there_are(self, opened: str) -> None:
        for words in (("show", "nothing"), ("version", "nothing", "v2")):
            assert "There are: kitchen." in refused("dataset", *words, "--ledger", opened)

    def test_names_of_columns_cannot_command_a_terminal(self, opened: str) -> None:
        hostile = "us\x1b[31mer"
        with Ledger(opened) as ledger:
            given = ul.counts(list(COMMON), list(COMMON.values()), items_per_user=BOUND, user=hostile)
            given.top(k=1, budget=ul.Budget(rho=1, delta=1e-9), account=ledger.account("ads")).run()
        for form in ("table", "json"):
            text = said("dataset", "show", "kitchen", "--ledger", opened, "--format", form)
            assert "\x1b" not in text
            assert "[31mer" in text


class TestLedgerVerbs:
    def test_verify(self, opened: str, rows: Path, tmp_path: Path) -> None:
        receipt = tmp_path / "receipt.json"
        ask("top", rows, opened, "--receipt", receipt)
        text = said("ledger", "verify", "--ledger", opened, "--receipt", receipt)
        assert text == "The ledger adds up: 4 entries, 1 receipt.\n"

    def test_1_a_changed_row_is_a_violation(self, opened: str, rows: Path) -> None:
        ask("top", rows, opened)
        with Ledger(opened) as ledger, ledger.store.writing() as connection:
            _change_an_amount(connection)
        done = unlisted("ledger", "verify", "--ledger", opened)
        assert done.code == 1
        assert done.said == "violation: data set 'kitchen': entry 4 was changed, or one before it\n"
        assert done.data == b""

    def test_1_a_receipt_of_another_ledger_is_a_violation(self, opened: str, rows: Path, tmp_path: Path) -> None:
        receipt = tmp_path / "receipt.json"
        ask("top", rows, opened, "--receipt", receipt)
        other = str(tmp_path / "restored.db")
        said("dataset", "create", "kitchen", "--ledger", other, *TOTAL)
        done = unlisted("ledger", "verify", "--ledger", other, "--receipt", receipt)
        assert done.code == 1
        assert len(done.said.splitlines()) == 1
        assert "not signed with this ledger's key" in done.said

    @pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff\xfe", b'"text"'])
    def test_a_rubbish_receipt_is_refused(self, opened: str, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "receipt.json"
        path.write_bytes(content)
        told = refused("ledger", "verify", "--ledger", opened, "--receipt", path)
        assert "--receipt = " in told
        assert "a receipt that `unlisted` wrote" in told

    def test_a_missing_receipt_is_refused(self, opened: str, tmp_path: Path) -> None:
        told = refused("ledger", "verify", "--ledger", opened, "--receipt", tmp_path / "receipt.json")
        assert told.endswith("it must be a file that exists. It is missing.\n")

    def test_a_receipt_of_a_question_that_no_account_paid_for_is_refused(
        self, opened: str, rows: Path, tmp_path: Path
    ) -> None:
        path = tmp_path / "receipt.json"
        said("top", rows, *SHELL, "-k", 2, "--receipt", path)
        told = refused("ledger", "verify", "--ledger", opened, "--receipt", path)
        assert "a receipt that names an entry of a ledger" in told

    def test_verify_forfeits_what_dead_processes_held(self, opened: str) -> None:
        child = os.fork()
        if not child:
            with Ledger(opened) as own:
                _die_while_asking(own.account("ads"))
        os.waitpid(child, 0)
        assert "Forfeited 1 reservation of processes that are gone: still spent." in said(
            "ledger", "verify", "--ledger", opened
        )
        assert shown(opened)["spent"]["rho"] == "1"
        assert "forfeited" in said("ledger", "history", "--ledger", opened)

    def test_history(self, opened: str, rows: Path) -> None:
        ask("top", rows, opened)
        lines = said("ledger", "history", "--ledger", opened).splitlines()
        assert [line.split()[2] for line in lines] == ["opened", "opened", "reserved", "settled"]
        assert "settled 3" in lines[3]
        found = json.loads(said("ledger", "history", "--ledger", opened, "--account", "ads", "--format", "json"))
        assert [one["kind"] for one in found] == ["opened", "reserved", "settled"]
        assert found[1]["body"]["source"] == str(rows)
        assert "kitchen" in refused("ledger", "history", "--ledger", opened, "--dataset", "kitchn")
        refused("ledger", "history", "--ledger", opened, "--account", "adds")

    @pytest.mark.parametrize("ending", ["svg", "html"])
    def test_history_as_a_chart(self, opened: str, rows: Path, tmp_path: Path, ending: str) -> None:
        chart = tmp_path / f"spending.{ending}"
        said("ledger", "history", "--ledger", opened, "--chart", chart)
        ask("top", rows, opened)
        said("ledger", "history", "--ledger", opened, "--chart", chart)
        assert "Spending over time" in chart.read_text(encoding="utf-8")
        assert "--chart = " in refused("ledger", "history", "--ledger", opened, "--chart", tmp_path / "x.txt")

    def test_export(self, opened: str, rows: Path, tmp_path: Path) -> None:
        ask("top", rows, opened)
        text, copy = said("ledger", "export", "--ledger", opened), tmp_path / "book.jsonl"
        assert said("ledger", "export", "--ledger", opened, "--output", copy) == ""
        assert copy.read_text(encoding="utf-8") == text
        lines = [json.loads(line) for line in text.splitlines()]
        assert [line["previous"] for line in lines[1:]] == [line["hash"] for line in lines[:-1]]
        assert [canonical(line) for line in lines] == text.splitlines()
        assert refused("ledger", "export", "--ledger", opened, "--output", tmp_path)

    @pytest.mark.parametrize(
        ("verb", "option", "name"), [("history", "--chart", "x.svg"), ("export", "--output", "x.jsonl")]
    )
    def test_a_folder_that_is_not_there_is_named(
        self, opened: str, tmp_path: Path, verb: str, option: str, name: str
    ) -> None:
        told = refused("ledger", verb, "--ledger", opened, option, tmp_path / "nowhere" / name)
        assert told.startswith(f"unlisted: {option} = ")
        assert "a folder that can be written to" in told

    def test_nothing_is_listed_in_another_format(self, opened: str) -> None:
        for words in (("account", "list"), ("account", "show", "ads"), ("ledger", "history")):
            assert unlisted(*words, "--ledger", opened, "--format", "parquet").code == 2


class TestAnsweringVerbs:
    @pytest.mark.parametrize("verb", VERBS)
    def test_an_account_pays_once_for_a_repeated_question(self, verb: str, opened: str, rows: Path) -> None:
        first = ask(verb, rows, opened)
        assert first.code == 0, first.said
        assert first.said == "Paid by 'ads': entry 4 of the data set 'kitchen'\n"
        spent = shown(opened)["spent"]
        assert Fraction(spent["rho"]) > 0
        again = ask(verb, rows, opened)
        assert (again.data, again.said) == (first.data, first.said)
        assert shown(opened)["spent"] == spent

    def test_an_idempotency_key(self, url: str, rows: Path) -> None:
        said("account", "create", "ads", "--ledger", url, "--dataset", "kitchen", *SHARE)
        key = ("--idempotency-key", "monday")
        first, again, other = ask("histogram", rows, url, *key), ask("histogram", rows, url, *key), None
        assert again.data == first.data
        other = ask("histogram", rows, url, "--idempotency-key", "tuesday")
        assert other.data != first.data
        assert "one question only" in refused_question("top", rows, url, *key)
        assert "--idempotency-key" in refused_question("top", rows, url, "--idempotency-key", "")
        alone = unlisted("top", rows, *SHELL, "-k", 2, *key)
        assert alone.code == 2
        assert "given with an account" in alone.said

    def test_the_ledger_of_the_environment(self, opened: str, rows: Path) -> None:
        done = unlisted("top", rows, *SHELL, "-k", 2, "--account", "ads", UNLISTED_LEDGER=opened)
        assert done.code == 0, done.said
        assert unlisted("account", "list", UNLISTED_LEDGER=opened).code == 0

    def test_one_option_without_the_other_is_refused(self, opened: str, rows: Path) -> None:
        question = ("top", rows, *SHELL, "-k", 2)
        assert "--account is missing" in refused(*question, "--ledger", opened)
        assert "--ledger is missing" in refused(*question, "--account", "ads")
        assert "There are: ads." in refused(*question, "--ledger", opened, "--account", "nobody")

    @pytest.mark.parametrize("verb", VERBS)
    def test_2_an_error_before_data_is_touched_costs_nothing(self, verb: str, opened: str, rows: Path) -> None:
        for words in (
            ("--item", "meal"),
            ("--where", "meal = 'x'"),
            ("--user", "usr"),
            ("--output", "no/where.csv"),
        ):
            assert ask(verb, rows, opened, *words).code == 2
        assert ask(verb, rows.with_name("none.csv"), opened).code == 2
        assert shown(opened)["spent"]["rho"] == "0"
        assert len(said("ledger", "history", "--ledger", opened).splitlines()) == 2

    def test_3_what_does_not_fit_is_refused_and_costs_nothing(self, url: str, rows: Path) -> None:
        small = ("--rho", "0.01", "--delta", "1e-9")
        said("account", "create", "ads", "--ledger", url, "--dataset", "kitchen", *small)
        done = ask("histogram", rows, url)
        assert done.code == 3
        assert "are left to the account 'ads'" in done.said
        assert "Nothing was charged." in done.said
        assert shown(url)["left"]["rho"] == "0.01"

    def test_4_a_failure_after_data_was_touched_is_charged(self, opened: str, tmp_path: Path) -> None:
        path = tmp_path / "damaged.parquet"
        pq.write_table(cooked(), path)
        data = bytearray(path.read_bytes())
        data[4:400] = bytes(396)
        path.write_bytes(data)
        done = ask("histogram", path, opened)
        assert done.code == 4
        assert done.said.splitlines()[0] == "unlisted: could not be answered; charged; see the log"
        found = shown(opened)
        assert Fraction(found["spent"]["rho"]) > 0
        assert found["reserved"]["rho"] == "0"

    @pytest.mark.parametrize("verb", VERBS)
    def test_preview_says_whether_it_would_fit(self, verb: str, opened: str) -> None:
        bound = ("-k", 2) if verb == "top" else ("--items-per-user", BOUND)
        words = ("preview", verb, *bound, "--ledger", opened, "--account", "ads")
        told = said(*words, "--epsilon", 1, "--delta", "1e-9")
        assert "left: the question fits. What is left is enough for about " in told
        assert told.endswith("more questions like this one.\n")
        assert "left: the question does not fit.\n" in said(*words, "--rho", 51, "--delta", "1e-9")
        found = json.loads(said(*words, "--epsilon", 1, "--delta", "1e-9", "--format", "json"))
        assert found["account"]["fits"] is True
        assert found["account"]["more_like_this"] > 100
        assert found["account"]["left"]["rho"] == "50"
        assert len(said("ledger", "history", "--ledger", opened).splitlines()) == 2

    def test_preview_on_a_closed_account_does_not_fit(self, opened: str) -> None:
        said("account", "close", "ads", "--ledger", opened)
        words = ("preview", "top", "-k", 2, "--ledger", opened, "--account", "ads", "--rho", 1, "--delta", "1e-9")
        assert "The account 'ads' is closed: the question does not fit.\n" in said(*words)
        assert json.loads(said(*words, "--format", "json"))["account"]["fits"] is False


def refused_question(verb: str, rows: Path, url: str, *words: object) -> str:
    done = ask(verb, rows, url, *words)
    assert done.code == 2
    return done.said


LOOKING = (
    ("account", "show", "ads"),
    ("account", "list"),
    ("account", "close", "ads"),
    ("dataset", "show", "kitchen"),
    ("dataset", "version", "kitchen", "v2"),
    ("ledger", "verify"),
    ("ledger", "history"),
    ("ledger", "export"),
)


class TestStore:
    @pytest.mark.parametrize("words", LOOKING, ids=" ".join)
    def test_a_mistyped_ledger_is_not_begun(self, words: tuple[str, ...], url: str) -> None:
        assert "a ledger that is there already" in refused(*words, "--ledger", url)
        assert not Path(url).exists()
        Path(url).touch()
        assert "a ledger that is there already" in refused(*words, "--ledger", url)

    def test_a_question_begins_no_ledger(self, url: str, rows: Path) -> None:
        assert "a ledger that is there already" in refused_question("top", rows, url)
        assert not Path(url).exists()

    @pytest.mark.parametrize("words", LOOKING, ids=" ".join)
    def test_the_ledger_must_be_named(self, words: tuple[str, ...]) -> None:
        done = unlisted(*words)
        assert done.code == 2
        assert "--ledger" in done.said

    @pytest.mark.parametrize(
        "wrong",
        [
            "",
            ":memory:",
            "sqlite://",
            "no/such/folder/budget.db",
            "mysql://owner:pa55@db.example/budget",
            "postgresql://owner:pa55@db.example:port/budget",
            "postgresql:/owner:pa55@db.example/budget",
            "postgresql://owner:pa55@127.0.0.1:1/budget",
            "://owner:pa55@x",
        ],
    )
    def test_a_wrong_address_is_refused_without_its_password(self, wrong: str) -> None:
        for words in (("account", "list"), ("account", "create", "a", "--dataset", "d", *SHARE)):
            assert "pa55" not in refused(*words, "--ledger", wrong)

    def test_a_file_that_is_no_ledger(self, rows: Path) -> None:
        for words in (("account", "list"), ("account", "create", "a", "--dataset", "d", *SHARE)):
            assert "not a ledger" in refused(*words, "--ledger", rows)

    def test_a_file_that_cannot_be_written_to(self, opened: str, rows: Path) -> None:
        read_only = f"sqlite:///file:{opened}?mode=ro&uri=true"
        assert "cannot be written to" in refused_question("top", rows, read_only)
        assert "cannot be written to" in refused("account", "close", "ads", "--ledger", read_only)
        assert "Account 'ads'" in said("account", "show", "ads", "--ledger", read_only)
        assert "adds up" in said("ledger", "verify", "--ledger", read_only)

    def test_the_password_of_a_url_is_never_printed(self, postgres_url: str, rows: Path) -> None:
        password = postgres_url.split(":")[2].partition("@")[0]
        everything = []
        for words in (
            ("account", "create", "pw-ads", "--dataset", "pw-kitchen", *SHARE),
            ("account", "create", "pw-ads", "--dataset", "pw-kitchen", *TOTAL),
            ("account", "show", "pw-ads"),
            ("account", "show", "nobody"),
            ("top", rows, *SHELL, "-k", 2, "--account", "pw-ads"),
            ("top", rows, *SHELL, "-k", 20_000, "--account", "pw-ads", "--rho", 1),
            ("ledger", "history"),
            ("ledger", "export"),
            ("ledger", "verify"),
        ):
            done = unlisted(*words, "--ledger", postgres_url)
            everything += [done.text, done.said]
        wrong = postgres_url.replace(password, "wr0ng")
        for address in (wrong, f"{postgres_url}_none"):
            done = unlisted("account", "list", "--ledger", address)
            assert done.code == 2
            everything.append(done.said)
        assert "does not know this user and password" in everything[-2]
        assert "no such database" in everything[-1]
        assert password not in "".join(everything)
        assert "wr0ng" not in "".join(everything)

    def test_as_processes_of_their_own(self, url: str, rows: Path) -> None:
        """As a person does it: a process for each verb, sharing nothing but the file."""
        created = finished("account", "create", "ads", "--ledger", url, "--dataset", "kitchen", *SHARE)
        assert (created.code, created.said) == (0, "")
        asked = finished("top", rows, *SHELL, "-k", 2, "--ledger", url, "--account", "ads", "--format", "csv")
        assert asked.text == "dish,rank\nsoup,1\nbread,2\n"
        assert finished("ledger", "verify", "--ledger", url).text == "The ledger adds up: 4 entries, 0 receipts.\n"


def _change_an_amount(connection: Connection) -> None:
    connection.execute(entries.update().where(entries.c.number == 4).values(rho="0.001"))


def _die_while_asking(account: Account) -> None:
    given = ul.counts(list(COMMON), list(COMMON.values()), items_per_user=BOUND)
    plan = given.histogram(budget=ul.Budget(rho=1, delta="1e-9"), account=account)
    account.pay(plan.charge_for(plan.data), lambda: os.kill(os.getpid(), signal.SIGKILL))
