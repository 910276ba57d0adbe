"""Every end of a command: its exit code, one line on the standard error stream, and never a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from tests.cli.shell import Done, finished, process, unlisted
from tests.fixtures.kitchen import BOUND, PLANTED, SHELL, cooked

from unlisted.cli import main
from unlisted.cli.exits import exits
from unlisted.errors import BudgetRefusedError, ChargedFailureError, InvalidArgumentError, InvalidCountsError

QUESTION = (*SHELL, "--items-per-user", BOUND)
FIXED = "unlisted: could not be answered; no account pays, so nothing was charged; see the log"


def tidy(done: Done) -> None:
    """Assert that nothing of Python or of an engine shows."""
    for word in ("Traceback", "duckdb.", "pyarrow", 'File "', "Error:", "Exception"):
        assert word not in done.said, done.said
        assert word not in done.text


def damaged(folder: Path) -> Path:
    """Write a Parquet file whose footer can be read and whose pages cannot."""
    path = folder / "damaged.parquet"
    pq.write_table(cooked(), path)
    data = bytearray(path.read_bytes())
    data[4:400] = bytes(396)
    path.write_bytes(data)
    return path


def test_0_done(rows: Path) -> None:
    assert unlisted("histogram", rows, *QUESTION).code == 0


SOURCES: dict[str, tuple[bytes | None, str]] = {
    "absent.csv": (None, "files that exist"),
    "absent*.parquet": (None, "files that exist"),
    "empty.csv": (b"", "first line must name the columns"),
    "empty.parquet": (b"", "not a Parquet file"),
    "empty.jsonl": (b"", "a JSON object"),
    "noise.csv": (bytes(range(128, 256)) * 9, "not UTF-8"),
    "noise.csv.gz": (bytes(range(256)) * 9, "cannot be opened"),
    "noise.parquet": (bytes(range(256)) * 9, "not a Parquet file"),
    "noise.jsonl": (bytes(range(256)) * 9, "a JSON object"),
    "table.xlsx": (b"PK", "a workbook that can be read"),
    "noending": (b"user,dish\n", "a file of a known kind"),
    "other.csv": (b"person,meal\n1,soup\n", "The columns are named by the first line"),
}


@pytest.mark.parametrize("name", SOURCES)
def test_2_a_source_that_cannot_be_read(name: str, tmp_path: Path) -> None:
    content, said = SOURCES[name]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    done = unlisted("histogram", tmp_path / name, *QUESTION)
    assert done.code == 2
    assert said in done.said
    assert len(done.said.splitlines()) == 1
    assert done.data == b""
    tidy(done)


def test_2_a_folder(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    for source in (tmp_path, tmp_path / "folder.csv"):
        done = unlisted("histogram", source, *QUESTION)
        assert done.code == 2
        tidy(done)


def test_2_a_database(tmp_path: Path) -> None:
    path = tmp_path / "rows.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE cooked (user INT, dish TEXT)")
    for words, said in (
        ((), "--table = None"),
        (("--table", "meals"), "The tables are: cooked."),
        (("--table", "cooked", "--types", "user=int"), "--types"),
    ):
        done = unlisted("histogram", path, *QUESTION, *words)
        assert done.code == 2
        assert said in done.said
    (tmp_path / "noise.duckdb").write_bytes(b"noise" * 100)
    assert unlisted("histogram", tmp_path / "noise.duckdb", *QUESTION, "--table", "cooked").code == 2


BAD_WORDS: list[tuple[tuple[str, ...], str]] = [
    (("--epsilon", "nan"), "--epsilon = 'nan'"),
    (("--epsilon", "-1"), "--epsilon = '-1'"),
    (("--epsilon", "0"), "--epsilon = '0'"),
    (("--epsilon", "one"), "--epsilon = 'one'"),
    (("--epsilon", ""), "--epsilon = ''"),
    (("--epsilon", "1e999"), "--epsilon = '1e999'"),
    (("--rho", "1"), "--rho = '1'"),
    (("--delta", "0"), "--delta = '0'"),
    (("--delta", "0.5"), "--delta = '0.5'"),
    (("--delta", "inf"), "--delta = 'inf'"),
    (("--items-per-user", "0"), "--items-per-user = 0"),
    (("--items-per-user", "many"), "--items-per-user"),
    (("--items-per-user", "2.5"), "--items-per-user"),
    (("--count", "people"), "--count"),
    (("--count", "rows"), "--rows-per-item = None"),
    (("--rows-per-item", "2"), "--rows-per-item = 2"),
    (("--noise", "uniform"), "--noise"),
    (("--format", "xml"), "--format"),
    (("--adjacency", "swap"), "--adjacency"),
    (("--where", "dish ="), "--where"),
    (("--where", "meal = 'soup'"), "--where"),
    (("--where", "dish = (SELECT 1)"), "--where"),
    (("--types", "user"), "--types = 'user'"),
    (("--types", "user=whole"), "types['user'] = 'whole'"),
    (("--types", "meal=int"), "--types = 'meal'"),
    (("--table", "t"), "--table = 't'"),
    (("--user", "usr"), "--user = 'usr'"),
    (("--user", ""), "--user = ''"),
    (("--item", "dish"), "--item"),
    (("--item", "rank"), "--item = 'rank'"),
    (("--item", "user"), "--item = 'user'"),
    (("--seed", "1"), "--seed"),
]


@pytest.mark.parametrize(("words", "named"), BAD_WORDS)
def test_2_a_wrong_option_is_named(words: tuple[str, ...], named: str, rows: Path) -> None:
    done = unlisted("histogram", rows, *QUESTION, *words)
    assert done.code == 2
    assert named in done.said
    assert done.data == b""
    tidy(done)


@pytest.mark.parametrize("missing", ["--user", "--item", "--epsilon"])
def test_2_a_missing_option_is_named(missing: str, rows: Path) -> None:
    """Only a bound on items and δ can be left out."""
    words = [str(word) for word in QUESTION]
    at = words.index(missing)
    done = unlisted("labels", rows, *words[:at], *words[at + 2 :])
    assert done.code == 2
    assert missing in done.said
    tidy(done)


@pytest.mark.parametrize("words", [("histogram",), ("nonsense",), ("preview", "nonsense"), ("--nonsense",)])
def test_2_bad_usage(words: tuple[str, ...]) -> None:
    done = unlisted(*words)
    assert done.code == 2
    tidy(done)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidArgumentError("budget", 1, "a budget"), 2),
        (InvalidCountsError("A label is null."), 2),
        (BudgetRefusedError("It does not fit."), 3),
        (ChargedFailureError(), 4),
        (FileNotFoundError(2, "No such file or directory", "book.db"), 2),
        (RuntimeError(f"row 5 says {PLANTED}"), 4),
        (BrokenPipeError(), 141),
    ],
)
def test_each_kind_of_error_has_its_code(error: Exception, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as end, exits():
        raise error
    assert end.value.exit_code == code
    said = capsys.readouterr().err
    assert PLANTED not in said
    assert all(line.startswith("unlisted: ") for line in said.splitlines())
    assert bool(said) == (code != 141)


@pytest.mark.parametrize("error", [typer.Exit(1), typer.Abort(), typer.BadParameter("x"), KeyboardInterrupt()])
def test_what_is_no_error_of_ours_passes_through(error: BaseException) -> None:
    with pytest.raises(type(error)), exits():
        raise error


def test_an_interrupt_before_a_verb_starts_is_silent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "application", lambda *_: interrupted)
    with pytest.raises(SystemExit) as end:
        main.main()
    assert end.value.code == 130
    assert capsys.readouterr() == ("", "")


def test_4_after_data_was_touched_there_is_one_message(tmp_path: Path) -> None:
    done = unlisted("histogram", damaged(tmp_path), *QUESTION)
    assert done.code == 4
    assert done.said.splitlines()[0] == FIXED
    assert done.data == b""
    tidy(done)


def test_4_the_cause_goes_to_a_log_only_if_one_is_kept(tmp_path: Path) -> None:
    source, log = damaged(tmp_path), tmp_path / "owner.log"
    without = finished("histogram", source, *QUESTION)
    assert without.code == 4
    assert without.said.splitlines() == [FIXED, "unlisted: No log was kept. To keep one: unlisted --log FILE …"]
    kept = finished("histogram", source, *QUESTION, UNLISTED_LOG=str(log))
    assert kept.code == 4
    assert kept.said.splitlines() == [FIXED]
    assert "Traceback" in log.read_text()
    before = len(log.read_text())
    assert unlisted("--log", log, "histogram", source, *QUESTION).code == 4
    assert len(log.read_text()) > before, "a log is appended to"


def test_2_a_log_that_cannot_be_written(tmp_path: Path, rows: Path) -> None:
    done = unlisted("--log", tmp_path, "histogram", rows, *QUESTION)
    assert done.code == 2
    assert "--log = " in done.said


def test_the_names_of_columns_cannot_command_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "hostile.parquet"
    pq.write_table(pa.table({"user": [1], "di\x1b[31msh\n\u202e": ["soup"], "[red]": [2]}), path)
    done = unlisted("histogram", path, *QUESTION)
    assert done.code == 2
    assert r"di\x1b[31msh\n\u202e, [red]" in done.said
    assert done.said.strip("\n").isprintable()


@pytest.mark.parametrize("kind", ["table", "json"])
def test_a_pipe_that_nobody_reads_is_left_quietly(kind: str, rows: Path, tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.json"
    running = process("histogram", rows, *QUESTION, "--format", kind, "--receipt", receipt)
    assert running.stdout is not None
    running.stdout.close()
    assert running.stderr is not None
    said = running.stderr.read()
    running.stderr.close()
    assert running.wait() == 141
    assert said == b""
    # The answer is paid for; what does not go into the pipe is still written.
    assert receipt.stat().st_size > 100


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="there is no device that is always full")
def test_a_full_disk_is_told(rows: Path) -> None:
    command = [sys.executable, "-m", "unlisted", "histogram", rows, *map(str, QUESTION)]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 4
    first, second = done.stderr.decode().splitlines()
    assert first == "unlisted: the answer was not written: No space left on device"
    kept = Path(second.removeprefix("unlisted: it is kept in "))
    assert kept.read_text().startswith("Release of ")
    kept.unlink()


def test_a_closed_output_is_refused_before_it_costs_anything(rows: Path) -> None:
    command = [sys.executable, "-m", "unlisted", "histogram", rows, *map(str, QUESTION)]
    done = subprocess.run(
        ["/bin/sh", "-c", '"$@" >&-', "sh", *map(str, command)], stderr=subprocess.PIPE, check=False
    )
    assert done.returncode == 2
    assert b"--output is missing: it must be given" in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="only POSIX systems send interrupts to a process")
def test_an_interrupt_is_tidy(tmp_path: Path) -> None:
    # Nobody reads the pipe, so that the demo is never over before the interrupt comes.
    chart = tmp_path / "demo.svg"
    os.mkfifo(chart)
    running = process("demo", "--chart", chart, TMPDIR=str(tmp_path))
    assert running.stdout is not None
    assert b"invented" in running.stdout.readline()
    running.send_signal(signal.SIGINT)
    _, said = running.communicate()
    # Where it met the engine, data was touched.
    assert running.returncode in (130, 4)
    assert b"Traceback" not in said
    assert list(tmp_path.iterdir()) == [chart], "what did not fit into memory is not left"


def test_without_words_there_is_help() -> None:
    done = unlisted()
    assert done.code == 2
    assert "Usage: unlisted" in done.text + done.said


def test_nothing_takes_a_seed() -> None:
    for verb in (("histogram",), ("top",), ("top-histogram",), ("demo",), ("preview", "histogram")):
        assert "seed" not in unlisted(*verb, "--help").text.lower()
