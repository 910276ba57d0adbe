"""A new analyst's first hour: messy files and frames, each of which gets a right answer or a clear refusal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.cli.shell import unlisted
from tests.tables.fixtures.engines import installed

import unlisted as ul

PEOPLE = 400
HOW: dict[str, Any] = {"epsilon": 20, "items_per_user": 1}


def _file(folder: Path, encoding: str, sep: str, product: str = "Käse") -> Path:
    lines = [sep.join(("Kunden Nr", "Produkt", "Datum", "Preis"))]
    lines += [sep.join((str(user), product, "30.11.2025", "1,50")) for user in range(PEOPLE)]
    path = folder / "kunden.csv"
    path.write_bytes("\n".join(lines).encode(encoding))
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1", "windows-1252"])
@pytest.mark.parametrize("sep", [";", "\t", ","])
def test_an_accent_is_counted_whatever_the_file_is_written_in(encoding: str, sep: str, tmp_path: Path) -> None:
    if sep == ",":
        sep = "|"
    path = _file(tmp_path, encoding, sep)
    said = {} if encoding.startswith("utf-8") else {"encoding": encoding}
    table = ul.table(path, user="Kunden Nr", sep=sep, **said)
    assert [row["Produkt"] for row in table.histogram("Produkt", **HOW).run()] == ["Käse"]


def test_a_wrong_dialect_gets_a_hint_before_anything_is_spent(tmp_path: Path) -> None:
    path = _file(tmp_path, "utf-8", ";")
    session = ul.Session(ul.table(path, user="Kunden Nr"), epsilon=1)
    with pytest.raises(ul.InvalidArgumentError, match="say sep=';'"):
        session.histogram("Produkt", epsilon=1)
    assert session.spent == 0


def test_dates_and_decimals_as_they_are_written_there(tmp_path: Path) -> None:
    path = _file(tmp_path, "latin-1", ";")
    how: dict[str, Any] = {"sep": ";", "encoding": "latin-1", "decimal": ",", "date_format": "%d.%m.%Y"}
    table = ul.table(path, user="Kunden Nr", types={"Datum": "date", "Preis": "decimal"}, **how)
    where = "Datum >= DATE '2025-11-01' AND Preis > 1"
    assert len(table.histogram("Produkt", where=where, **HOW).run()) == 1


def test_a_declared_column_that_a_question_does_not_read_drops_nothing(tmp_path: Path) -> None:
    path = _file(tmp_path, "utf-8", ";")
    table = ul.table(path, user="Kunden Nr", sep=";", types={"Datum": "date"})
    assert len(table.histogram("Produkt", **HOW).run()) == 1
    assert len(table.histogram("Datum", **HOW).run()) == 0, "no text of the column is a date as ISO writes it"
    found = ul.check(path, user="Kunden Nr", item="Datum", sep=";", types={"Datum": "date"})
    assert found.left_out == {"Datum: no date": PEOPLE}


def test_frames_of_pandas_as_people_have_them() -> None:
    pandas: Any = installed("pandas")
    frame = pandas.DataFrame(
        {
            "user": range(PEOPLE),
            "month": pandas.period_range("2025-01", periods=1, freq="M").repeat(PEOPLE),
            "tags": [[1, 2]] * PEOPLE,
            "at": pandas.Timestamp("2025-01-01 23:30", tz="UTC"),
            "dish": "soup",
        }
    )
    table = ul.table(frame, user="user")
    assert [row["month"] for row in table.histogram("month", **HOW).run()] == ["2025-01"]
    assert [row["tags"] for row in table.histogram("tags", **HOW).run()] == ["[1, 2]"]
    with pytest.raises(ul.InvalidArgumentError, match="timezone="):
        table.histogram("at", **HOW)
    zoned = ul.table(frame, user="user", timezone="Europe/Berlin")
    assert [str(row["at"]) for row in zoned.histogram("at", **HOW).run()] == ["2025-01-02 00:30:00"]
    assert len(zoned.histogram("dish", where="at >= TIMESTAMP '2025-01-02 00:00:00'", **HOW).run()) == 1
    by_index = ul.table(frame.set_index("user"), user="user")
    assert [row["dish"] for row in by_index.histogram("dish", **HOW).run()] == ["soup"]


def test_the_offending_word_comes_first_and_the_grammar_last(tmp_path: Path) -> None:
    path = _file(tmp_path, "utf-8", ";")
    words = ("histogram", path, "--user", "Kunden Nr", "--item", "Produkt", "--sep", ";", "--epsilon", 1)
    done = unlisted(*words, "--where", "regexp_matches(Produkt, 'x')")
    assert done.code == 2
    assert done.said.index("`regexp_matches`") < done.said.index("It must be a condition on one row")


def test_ten_minutes_from_a_messy_file_to_a_published_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _file(tmp_path, "latin-1", ";")
    monkeypatch.chdir(tmp_path)
    Path("unlisted.toml").write_text(
        '[datasets.kunden]\nsource = "kunden.csv"\nuser = "Kunden Nr"\nsep = ";"\nencoding = "latin-1"\n'
    )
    words = ("histogram", "kunden", "Produkt", "--epsilon", 1, "--output", "out.csv", "--statement", "out.txt")
    assert unlisted(*words).code == 0
    assert Path("out.csv").read_text(encoding="utf-8").startswith("Produkt,count,low,high\nKäse,")
    assert "“Produkt”" in Path("out.txt").read_text(encoding="utf-8")
    again = unlisted(*words)
    assert again.code == 2, "the second run would replace what was published"
