"""Slips at the shell that must spend nothing, and answers that must not be lost once they are paid for."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import typer
from tests.cli.shell import unlisted
from tests.fixtures.kitchen import BOUND, COMMON, SHELL, histogram
from tests.tables.fixtures.engines import installed

from unlisted.cli import output
from unlisted.cli.output import write_release
from unlisted.cli.output_options import OutputOptions

QUESTION = (*SHELL, "--items-per-user", BOUND)


@pytest.fixture
def never_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail the test if a question is answered: then something would have been spent."""

    def run(*_: object, **__: object) -> None:
        raise AssertionError("the question was run")

    monkeypatch.setattr("unlisted.query.plan.Plan.run", run)


@pytest.mark.parametrize("ending", ["csv", "CSV", "json", "parquet", "txt"])
def test_the_form_follows_the_ending(ending: str, rows: Path, tmp_path: Path) -> None:
    answer = tmp_path / f"answer.{ending}"
    assert unlisted("histogram", rows, *QUESTION, "--output", answer).code == 0
    if ending == "parquet":
        assert pq.read_table(answer).column_names[0] == "dish"
    elif ending == "json":
        assert len(json.loads(answer.read_text())["rows"]) == len(COMMON)
    else:
        first = answer.read_text().splitlines()[0]
        assert first.startswith("Release of" if ending == "txt" else "dish,count,low,high")


@pytest.mark.usefixtures("never_run")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--output", "a.xlsx"), "--output = 'a.xlsx' is not allowed: it must be a name that ends in .csv"),
        (("--output", "answer"), "ends in .csv, .json, .parquet or .txt"),
        (("--output", "a.csv", "--format", "json"), "--format = 'json' is not allowed: it must be csv"),
        (("--output", "there.csv"), "It exists already. Give --overwrite to replace it."),
        (("--output", "new.csv", "--receipt", "there.csv"), "--receipt = 'there.csv'"),
        (("--statement", "there.csv"), "--statement = 'there.csv'"),
        (("--chart", "there.svg"), "--chart = 'there.svg'"),
        (("--output", "new.csv", "--statement", "new.csv"), "a file other than --output"),
    ],
)
def test_slips_are_refused_before_anything_is_spent(
    words: tuple[str, ...], said: str, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed("altair")
    monkeypatch.chdir(rows.parent)
    for name in ("there.csv", "there.svg"):
        Path(name).write_text("mine")
    done = unlisted("histogram", rows, *QUESTION, *words)
    assert done.code == 2
    assert said in done.said
    assert Path("there.csv").read_text() == Path("there.svg").read_text() == "mine"
    assert sorted(path.name for path in Path().iterdir()) == ["cooked.csv", "there.csv", "there.svg"]


def test_overwrite_replaces_every_file(rows: Path, tmp_path: Path) -> None:
    files = {"--output": "a.csv", "--receipt": "r.json", "--statement": "s.txt"}
    words: list[object] = []
    for option, name in files.items():
        (tmp_path / name).write_text("old")
        words += [option, tmp_path / name]
    assert unlisted("histogram", rows, *QUESTION, *words, "--overwrite").code == 0
    assert all("old" not in (tmp_path / name).read_text().split() for name in files.values())
    assert (tmp_path / "s.txt").read_text().startswith("What this is\n")


def test_a_said_form_may_have_any_name_and_a_device_needs_none(rows: Path, tmp_path: Path) -> None:
    assert unlisted("histogram", rows, *QUESTION, "--output", tmp_path / "a.dat", "--format", "csv").code == 0
    assert (tmp_path / "a.dat").read_text().startswith("dish,")
    assert unlisted("histogram", rows, *QUESTION, "--output", os.devnull).code == 0


def _full_disk(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("ending", ["csv", "json", "txt", "parquet"])
def test_an_answer_is_printed_or_kept_where_its_file_cannot_be_written(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(output, "write_file", _full_disk)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(typer.Exit) as end:
        write_release(histogram(), OutputOptions(output=tmp_path / f"a.{ending}"))
    assert end.value.exit_code == 4
    shown = capsys.readouterr()
    assert "was not written: No space left on device" in shown.err
    if ending == "parquet":
        (kept,) = tmp_path.iterdir()
        assert f"it is kept in {kept}" in shown.err
        assert pq.read_table(kept).num_rows == len(COMMON)
    else:
        assert all(dish in shown.out for dish in COMMON)


def test_what_can_be_neither_written_nor_printed_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(output, "write_file", _full_disk)
    monkeypatch.setattr(output, "_show", _full_disk)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    options = OutputOptions(output=tmp_path / "a.csv", statement=tmp_path / "s.txt")
    with pytest.raises(typer.Exit):
        write_release(histogram(), options)
    kept = {path.suffix: path.read_text() for path in tmp_path.iterdir()}
    assert kept[".csv"].startswith("dish,count")
    assert kept[".txt"].startswith("What this is")
    assert capsys.readouterr().err.count("it is kept in") == 2


def test_a_chart_that_cannot_be_drawn_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def drawn(*_: object) -> bytes:
        raise RuntimeError("the renderer gave up")

    monkeypatch.setattr(output, "_drawn", drawn)
    options = OutputOptions(output=tmp_path / "a.csv", chart=tmp_path / "a.svg", receipt=tmp_path / "r.json")
    with pytest.raises(typer.Exit) as end:
        write_release(histogram(), options)
    assert end.value.exit_code == 4
    assert (tmp_path / "a.csv").exists()
    assert (tmp_path / "r.json").exists()
    assert "a.svg was not written: it cannot be" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--receipt", "--statement"])
def test_a_preview_has_nothing_to_state(option: str, tmp_path: Path) -> None:
    done = unlisted("preview", "histogram", "--epsilon", 1, "--delta", "1e-8", option, tmp_path / "a.txt")
    assert done.code == 2
    assert "A preview releases nothing." in done.said
