"""`unlisted stream`."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pyarrow.csv
import pytest
from tests.cli.shell import Done, unlisted
from tests.streams.brooks import rows_of

import unlisted as ul
from unlisted.streams.stream import Stream

BUDGET = ("--rho", "0.5", "--delta", "1e-6")
ROWS = rows_of(*[(user, "soup" if user % 3 else "bread") for user in range(300)], (1, "PLANTED"))


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    pyarrow.csv.write_csv(ROWS, tmp_path / "rows.csv")
    return tmp_path / "rows.csv"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    done = created(tmp_path / "stream")
    assert done.code == 0, done.said
    return tmp_path / "stream"


def created(folder: Path, *words: object) -> Done:
    unit = () if "--unit" in words else ("--unit", "event", "--round-length", "1 day")
    return unlisted("stream", "create", folder, "--rounds", 6, "--items-per-event", 2, *BUDGET, *unit, *words)


def test_a_stream_is_what_python_creates(tmp_path: Path) -> None:
    said = ("--unit", "user", "--rounds-per-user", 2, "--display", "sticky", "--release-every", 3, "--user", "who")
    done = created(tmp_path / "s", *said, "--item", "a", "--item", "b", "--count-per-item", 2, "--where", "x > 1")
    assert done.code == 0, done.said
    assert done.text.startswith("Stream: round 0 of 6\nGuarantee: ")
    same = Stream.create(
        tmp_path / "t",
        rounds=6,
        items_per_event=2,
        budget=ul.Budget(rho="0.5", delta="1e-6"),
        unit="user",
        rounds_per_user=2,
        display="sticky",
        release_every=3,
        user="who",
        item=["a", "b"],
        count_per_item=2,
        where="x > 1",
    )
    assert Stream.open(tmp_path / "s").settings == same.settings


def test_rounds_are_pushed_and_come_back(folder: Path, rows: Path) -> None:
    first = unlisted("stream", "push", folder, rows, "--format", "json")
    assert first.code == 0, first.said
    found = json.loads(first.data)
    assert {row["item"] for row in found["rows"]} == {"soup", "bread"}
    assert found["plan"]["round"] == 1
    assert found["complete"] is True
    second = json.loads(unlisted("stream", "push", folder, rows, "--round", 2, "--format", "json").data)
    assert abs(second["rows"][0]["count"] - 400) < 60
    again = unlisted("stream", "push", folder, rows, "--round", 1, "--format", "json")
    assert again.data == first.data


def test_a_person_reads_a_table(folder: Path, rows: Path) -> None:
    done = unlisted("stream", "push", folder, rows)
    assert done.code == 0, done.said
    assert "soup" in done.text
    assert "PLANTED" not in done.text
    assert "are held back" in done.text.splitlines()[-1]


def test_a_file_without_a_byte_is_an_empty_round(folder: Path, tmp_path: Path) -> None:
    empty = tmp_path / "nothing.csv"
    empty.touch()
    done = unlisted("stream", "push", folder, empty)
    assert done.code == 0, done.said
    assert Stream.open(folder).round == 1


def test_other_contents_gaps_and_the_end_are_refused(folder: Path, rows: Path, tmp_path: Path) -> None:
    unlisted("stream", "push", folder, rows)
    other = tmp_path / "other.csv"
    pyarrow.csv.write_csv(ROWS.slice(1), other)
    for words, said in (
        (("--round", 1), "--round = 1 is not allowed: it must be 2, the next round. It was taken in with other"),
        (
            ("--round", 3),
            "it must be at most 2, the next round. Push round 2 first, or fill the gap if it was empty",
        ),
        (("--user", "item"), "--user = 'item' is not allowed: it must be 'user', the user column of this stream"),
        (("--round", 7), "The stream has ended"),
    ):
        done = unlisted("stream", "push", folder, other, *words)
        assert (done.code, done.text) == (2, "")
        assert said in done.said
    assert unlisted("stream", "push", folder, other, "--round", 3, "--fill-gaps").code == 0
    assert Stream.open(folder).round == 3


def test_counts_that_were_bounded_before(folder: Path, tmp_path: Path) -> None:
    counts = tmp_path / "counts.json"
    counts.write_text('{"soup": 300, "bread": 1}')
    done = unlisted("stream", "push", folder, counts, "--counted", "--format", "json")
    assert [row["item"] for row in json.loads(done.data)["rows"]] == ["soup"]
    for wrong in ("[1]", "{", '{"soup": "SECRET"}'):
        counts.write_text(wrong)
        done = unlisted("stream", "push", folder, counts, "--counted")
        assert done.code == 2
        assert "SECRET" not in done.said
    for word in ("--user", "--table", "--types"):
        done = unlisted("stream", "push", folder, counts, "--counted", word, "x=int")
        assert done.code == 2
        assert done.said.startswith(f"unlisted: {word} = ")
        assert "left out with --counted" in done.said


def test_a_round_without_a_release_says_when_there_is_one(tmp_path: Path, rows: Path) -> None:
    created(tmp_path / "s", "--release-every", 2)
    done = unlisted("stream", "push", tmp_path / "s", rows)
    assert (done.code, done.text, done.said) == (0, "", "Taken in. The next release is after round 2.\n")
    second = unlisted("stream", "push", tmp_path / "s", rows)
    assert second.code == 0
    assert "correlated discrete Gaussian" in str(Stream.open(tmp_path / "s").release(2).plan["noise"])
    unwritten = tmp_path / "third.csv"
    third = unlisted("stream", "push", tmp_path / "s", rows, "--output", unwritten)
    assert third.said.splitlines()[1:] == [f"Nothing was written to {unwritten}."]
    assert not unwritten.exists()


def test_show_says_where_it_stands(folder: Path, rows: Path) -> None:
    unlisted("stream", "push", folder, rows)
    assert unlisted("stream", "show", folder).text == f"{Stream.open(folder)!r}\n"
    found = json.loads(unlisted("stream", "show", folder, "--format", "json").data)
    assert (found["round"], found["settings"]["rounds"]) == (1, 6)
    assert found["guarantee"]["rho"] <= 0.5


def test_an_export_has_all_releases(folder: Path, rows: Path, tmp_path: Path) -> None:
    for _ in range(3):
        unlisted("stream", "push", folder, rows)
    chart, receipt = tmp_path / "chart.svg", tmp_path / "receipt.json"
    done = unlisted("stream", "export", folder, "--format", "csv", "--chart", chart, "--receipt", receipt)
    assert done.code == 0, done.said
    table = list(csv.DictReader(io.StringIO(done.text)))
    assert [row["round"] for row in table if row["item"] == "soup"] == ["1", "2", "3"]
    assert "Private running counts" in chart.read_text()
    assert json.loads(receipt.read_bytes())["released_rows"] == len(table)
    one = json.loads(unlisted("stream", "export", folder, "--round", 2, "--format", "json").data)
    assert one["rows"] == Stream.open(folder).release(2).as_dict()["rows"]
    few = unlisted("stream", "export", folder, "--chart", chart, "--item", "bread", "--overwrite")
    assert few.code == 0
    assert "soup" not in chart.read_text()


def test_an_account_pays(tmp_path: Path, rows: Path) -> None:
    ledger = ("--ledger", tmp_path / "budget.db")
    unlisted("account", "create", "ads", *ledger, "--dataset", "searches", "--rho", "0.6", "--delta", "1e-5")
    assert created(tmp_path / "s", *ledger, "--account", "ads").code == 0
    refused = created(tmp_path / "t", *ledger, "--account", "ads")
    assert refused.code == 3
    assert not (tmp_path / "t").exists()
    receipt = tmp_path / "receipt.json"
    assert unlisted("stream", "push", tmp_path / "s", rows, "--receipt", receipt).code == 0
    assert json.loads(receipt.read_bytes())["ledger"]["account"] == "ads"


def test_a_data_set_pays_for_its_own_source_only(tmp_path: Path) -> None:
    ledger = ("--ledger", tmp_path / "budget.db")
    source = str(tmp_path / "visits.csv")
    about = ("--rho", "9", "--delta", "1e-5", "--source", source)
    assert unlisted("dataset", "create", "clinic", *ledger, *about).code == 0
    unlisted("account", "create", "ads", *ledger, "--dataset", "clinic", "--rho", "9", "--delta", "1e-5")
    refused = created(tmp_path / "s", *ledger, "--account", "ads")
    assert refused.code == 2
    assert f"'{source}', which the data set 'clinic' is about" in refused.said
    assert created(tmp_path / "s", *ledger, "--account", "ads", "--source", source).code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--rounds", 0), "--rounds = 0"),
        (("--items-per-event", 0), "--items-per-event = 0"),
        (("--unit", "user"), "--items-per-user is missing"),
        (("--release-every", 7), "--release-every = 7"),
        (("--item", "round"), "--item = 'round'"),
        (("--idempotency-key", "x"), "--idempotency-key = 'x'"),
        (("--epsilon", 1), "--rho"),
        (("--where", "x >"), "--where = 'x >'"),
    ],
    ids=str,
)
def test_refusals_name_the_option(tmp_path: Path, words: tuple, said: str) -> None:
    done = created(tmp_path / "s", *words)
    assert done.code == 2
    assert said in done.said
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_stream_is_said(tmp_path: Path, rows: Path, folder: Path) -> None:
    for verb in ("show", "export"):
        done = unlisted("stream", verb, tmp_path / "nothing")
        assert (done.code, done.text) == (2, "")
        assert "There is no stream" in done.said
    done = created(folder)
    assert done.code == 2
    assert "DIR = " in done.said
    assert "does not exist yet" in done.said
    done = created(tmp_path / "a" / "b")
    assert done.code == 2
    assert "Its parent folder does not exist" in done.said


def test_a_stream_is_verified_and_copied(folder: Path, rows: Path, tmp_path: Path) -> None:
    unlisted("stream", "push", folder, rows)
    copied = unlisted("stream", "backup", folder, tmp_path / "copy")
    assert (copied.code, copied.text.split(" to ")[0]) == (0, "Copied 1 rounds"), copied.said
    whole = unlisted("stream", "verify", tmp_path / "copy")
    assert (whole.code, whole.text) == (0, "The stream is in order: 1 rounds, 1 releases.\n"), whole.said
    log = tmp_path / "copy" / "releases" / "log"
    log.write_bytes(log.read_bytes()[:-1])
    torn = unlisted("stream", "verify", tmp_path / "copy")
    assert torn.code == 1
    assert torn.said.startswith("violation: The release after round 1 is torn")
    public = unlisted("stream", "backup", folder, tmp_path / "public", "--releases-only")
    assert "holds nothing that was not released" in public.text
    assert unlisted("stream", "push", tmp_path / "public", rows).code == 2


def test_a_stream_is_renewed(folder: Path, rows: Path, tmp_path: Path) -> None:
    unlisted("stream", "push", folder, rows)
    done = unlisted("stream", "renew", folder, tmp_path / "next", "--rounds", 9, *BUDGET)
    assert done.code == 0, done.said
    assert done.text.startswith("Stream: round 0 of 9\nGuarantee: ")
    assert "Known values: " in done.text
    assert "protects what a person does in one round" in done.said
    shown = unlisted("stream", "push", tmp_path / "next", rows)
    assert "Values that were never shown before with fewer than" in shown.said + shown.text
    again = unlisted("stream", "renew", folder, tmp_path / "next", *BUDGET)
    assert (again.code, "does not exist yet" in again.said) == (2, True)
    unlisted("stream", "renew", folder, tmp_path / "new", "--forget-values", *BUDGET)
    assert Stream.open(tmp_path / "new").settings.known is None
