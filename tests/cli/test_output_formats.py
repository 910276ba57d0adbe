"""The forms in which an answer leaves the command line, and the files it is written to."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
import threading
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from tests.cli.shell import unlisted
from tests.fixtures.kitchen import BOUND, BUDGET, COMMON, PLANTED, SHELL, histogram
from tests.tables.fixtures.engines import installed

import unlisted as ul
from unlisted.cli.output import check_writable, may_be_written, write_file, write_release
from unlisted.cli.output_options import Format, OutputOptions
from unlisted.release.export import as_csv, as_json

QUESTION = (*SHELL, "--items-per-user", BOUND)
VERBS: dict[str, tuple[object, ...]] = {
    "histogram": ("--items-per-user", BOUND),
    "top": ("-k", 3, "--counts"),
    "top-histogram": ("--items-per-user", BOUND),
}
HOSTILE = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\ttab",
    "\rreturn",
    "\nline",
    "＝1+1",
    'a,b;"c"\'',
    "two\nlines",
    "\x1b[31mred\x1b[0m",
    "\x9b31m",
    "a\u202eb",
    "[red]markup[/red]",
    "\x00",
    "\ufeffmark",
    "",
    "  ",
    "null",
    "x" * 900,
    "🍜 ラーメン",
]


class Terminal(io.TextIOWrapper):
    """A standard output that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(scope="module")
def hostile() -> ul.Release:
    """A release of labels that somebody typed to do harm."""
    rows = pa.table(
        {"user": list(range(200)) * len(HOSTILE), "dish": [one for one in HOSTILE for _ in range(200)]}
    )
    budget = ul.Budget(epsilon=60, delta="1e-9")
    release = ul.table(rows, user="user").histogram("dish", budget=budget, items_per_user=len(HOSTILE)).run()
    assert sorted(release.to_arrow()["dish"].to_pylist()) == sorted(HOSTILE)
    return release


@pytest.mark.parametrize("verb", VERBS)
def test_json_is_one_object(verb: str, rows: Path) -> None:
    done = unlisted(verb, rows, *SHELL, *VERBS[verb], "--format", "json")
    found = json.loads(done.data)
    assert list(found) == ["rows", "complete", "guarantee", "spent", "plan"]
    assert list(found["guarantee"]) == ["rho", "delta", "epsilon", "at_delta"]
    assert list(found["plan"])[:3] == ["mechanism", "threshold", "noise"]
    assert isinstance(found["complete"], bool)
    assert isinstance(found["plan"]["threshold"], int | float)
    assert done.text.endswith("}\n")


@pytest.mark.parametrize("verb", VERBS)
def test_all_forms_have_the_same_columns(verb: str, rows: Path) -> None:
    question = (verb, rows, *SHELL, *VERBS[verb])
    names = ["dish", "rank", "count", "low", "high"] if verb == "top" else ["dish", "count", "low", "high"]
    assert list(json.loads(unlisted(*question, "--format", "json").data)["rows"][0]) == names
    assert next(csv.reader(io.StringIO(unlisted(*question, "--format", "csv").text))) == names
    assert pq.read_table(pa.BufferReader(unlisted(*question, "--format", "parquet").data)).column_names == names
    assert unlisted(*question).text.splitlines()[1].split() == names


@pytest.mark.parametrize("kind", ["table", "json", "csv", "parquet"])
def test_a_file_holds_the_whole_answer(kind: str, rows: Path, tmp_path: Path) -> None:
    output = tmp_path / f"answer.{kind}"
    done = unlisted("histogram", rows, *QUESTION, "--format", kind, "--output", output)
    assert done.code == 0
    assert done.data == b""
    assert done.said == f"Wrote {len(COMMON)} rows to {output}\n"
    data = output.read_bytes()
    if kind == "parquet":
        assert pq.read_table(output)["dish"].to_pylist() == list(COMMON)
    else:
        assert all(dish.encode() in data for dish in COMMON)
    assert PLANTED.encode() not in data


@pytest.mark.parametrize(
    ("kind", "ending"), [("table", "svg"), ("json", "png"), ("csv", "html"), ("parquet", "json")]
)
def test_nothing_unreleased_is_in_any_file(kind: str, ending: str, rows: Path, tmp_path: Path) -> None:
    installed("altair")
    files = [tmp_path / f"answer.{kind}", tmp_path / "receipt", tmp_path / f"chart.{ending}"]
    words = ("--output", files[0], "--receipt", files[1], "--chart", files[2])
    assert unlisted("histogram", rows, *QUESTION, "--format", kind, *words).code == 0
    for file in files:
        assert file.stat().st_size > 50
        assert PLANTED.encode() not in file.read_bytes()


def test_the_receipt_is_that_of_the_release(rows: Path, tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.json"
    done = unlisted("histogram", rows, *QUESTION, "--format", "json", "--receipt", receipt)
    told, answer = json.loads(receipt.read_text()), json.loads(done.data)
    assert told["plan"] == answer["plan"]
    assert told["guarantee"] == answer["guarantee"]
    assert told["released_rows"] == len(answer["rows"])
    assert set(told) == set(histogram().receipt())


def test_csv_reads_back_and_holds_no_formula(hostile: ul.Release) -> None:
    text = as_csv(hostile).decode()
    head, *rows = csv.reader(io.StringIO(text, newline=""))
    assert head == ["dish", "count", "low", "high"]
    labels = [row[0] for row in rows]
    assert sorted(label.removeprefix("'") for label in labels) == sorted(HOSTILE)
    assert not [label for label in labels if label.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝"))]
    assert "'=1+1" in labels


def test_the_header_of_a_csv_file_holds_no_formula() -> None:
    counts = ul.counts(["soup"], [500], items_per_user=1, item="=cmd()")
    assert as_csv(counts.histogram(budget=BUDGET).run()).decode().startswith("'=cmd(),count,low,high\n")


def test_negative_numbers_are_no_formulas() -> None:
    rows = pa.table({"user": list(range(300)), "shift": [-5] * 300})
    release = ul.table(rows, user="user").histogram("shift", budget=BUDGET, items_per_user=1).run()
    assert as_csv(release).decode().splitlines()[1].startswith("-5,")


def test_json_reads_back_and_cannot_command_a_terminal(hostile: ul.Release) -> None:
    data = as_json(hostile.as_dict())
    assert sorted(row["dish"] for row in json.loads(data)["rows"]) == sorted(HOSTILE)
    assert all(line.isprintable() for line in data.decode().split("\n"))
    assert "ラーメン" in data.decode(), "what can be printed is printed"


def test_json_says_every_text() -> None:
    odd = {"lone": "\ud800", "far": "\U0010ffff", "C1": "\x85"}
    assert json.loads(as_json(odd)) == odd


def test_a_table_cannot_command_a_terminal(hostile: ul.Release, capsys: pytest.CaptureFixture[str]) -> None:
    write_release(hostile, OutputOptions())
    shown = capsys.readouterr().out
    assert all(line.isprintable() for line in shown.splitlines())
    assert "[red]markup[/red]" in shown, "markup is not obeyed"
    assert "''" in shown, "an empty label can be seen"


def test_csv_on_a_terminal_cannot_command_it(hostile: ul.Release, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.BytesIO()
    monkeypatch.setattr("sys.stdout", Terminal(screen, encoding="utf-8"))
    write_release(hostile, OutputOptions(format="csv"))
    assert b"\x1b" not in screen.getvalue()
    assert b"\\x1b[31mred" in screen.getvalue()


def test_parquet_is_not_for_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", Terminal(io.BytesIO(), encoding="utf-8"))
    with pytest.raises(ul.InvalidArgumentError, match="--output FILE"):
        check_writable(OutputOptions(format="parquet"))
    check_writable(OutputOptions(format="csv"))


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--output", "nowhere/answer.csv"), "--output = 'nowhere/answer.csv'"),
        (("--output", "."), "--output = '.'"),
        (("--receipt", "nowhere/receipt.json"), "--receipt = "),
        (("--chart", "nowhere/chart.svg"), "--chart = "),
        (("--chart", "chart.gif"), "--chart = 'chart.gif'"),
        (("--output", "same.json", "--receipt", "./same.json"), "a file other than --output"),
        (("--output", "cooked.csv"), "a file other than the SOURCE"),
        (("--output", "x" * 300), "--output = "),
    ],
)
def test_what_cannot_be_written_is_refused_before_it_costs_anything(
    words: tuple[str, ...], named: str, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = rows.read_bytes()
    monkeypatch.chdir(rows.parent)
    done = unlisted("histogram", rows, *QUESTION, *words)
    assert done.code == 2
    assert named in done.said
    assert done.data == b""
    assert rows.read_bytes() == before
    assert list(rows.parent.iterdir()) == [rows]


def test_an_answer_that_cannot_be_written_is_shown_instead(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The folder was there when the question was asked, and is gone when the answer is: it is paid for."""
    options = OutputOptions(
        format="csv", output=tmp_path / "gone" / "answer.csv", receipt=tmp_path / "receipt.json"
    )
    with pytest.raises(typer.Exit) as end:
        write_release(histogram(), options)
    assert end.value.exit_code == 4
    shown = capsys.readouterr()
    assert shown.out.startswith("dish,count,low,high\nsoup,")
    assert "was not written: No such file or directory" in shown.err
    assert json.loads((tmp_path / "receipt.json").read_text())["released_rows"] == len(COMMON)


def test_a_chart_that_fails_keeps_nothing_else_from_being_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    installed("altair")
    options = OutputOptions(format="csv", output=tmp_path / "answer.csv", chart=tmp_path / "gone" / "a.svg")
    with pytest.raises(typer.Exit) as end:
        write_release(histogram(), options)
    assert end.value.exit_code == 4
    assert (tmp_path / "answer.csv").read_text().startswith("dish,")
    assert "a.svg was not written" in capsys.readouterr().err


def test_a_file_is_replaced_whole_and_may_be_read_by_others(tmp_path: Path) -> None:
    path = tmp_path / "answer.csv"
    path.write_bytes(b"before")
    umask = os.umask(0o022)
    try:
        write_file(path, b"after")
    finally:
        os.umask(umask)
    assert path.read_bytes() == b"after"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert list(tmp_path.iterdir()) == [path], "no part is left behind"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link.csv").symlink_to("real.csv")
    write_file(tmp_path / "link.csv", b"answer")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_bytes() == b"answer"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_what_is_no_file_is_written_to_and_never_replaced(tmp_path: Path) -> None:
    """Who says `--output /dev/null` as an administrator must still have a /dev/null afterwards."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    assert may_be_written(pipe)
    write_file(pipe, b"answer")
    reader.join()
    assert read == [b"answer"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_part_is_removed_when_writing_fails(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_file(tmp_path / "folder", b"answer")
    with pytest.raises(TypeError):
        write_file(tmp_path / "answer", "no bytes")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == [tmp_path / "folder"]


@pytest.mark.parametrize("kind", get_args(Format))
def test_an_empty_answer_has_the_same_form(kind: Format, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("user,dish,portions,place\n")
    done = unlisted("histogram", tmp_path / "empty.csv", *QUESTION, "--format", kind)
    assert done.code == 0
    shapes: dict[str, Any] = {
        "json": lambda: json.loads(done.data)["rows"] == [],
        "csv": lambda: done.data == b"dish,count,low,high\n",
        "parquet": lambda: pq.read_table(pa.BufferReader(done.data)).schema.names[0] == "dish",
        "table": lambda: done.text.splitlines()[1].split() == ["dish", "count", "low", "high"],
    }
    assert shapes[kind]()
