"""A release: what it holds, what it never holds, that it cannot be changed, and its receipt."""

from __future__ import annotations

import builtins
import copy
import dataclasses
import io
import json
import pickle
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.fixtures.kitchen import BOUND, BUDGET, COMMON, PLANTED, asked, cooked, histogram, labels, nobody, top
from tests.tables.fixtures.engines import installed

import unlisted as ul
from unlisted.counts.weights import Weighing
from unlisted.mechanisms.partition_selection.then_count import FindThenCount
from unlisted.release.export import as_csv, as_json, as_parquet
from unlisted.release.release import as_plain, escaped, printable, promise, short_up, shown_up
from unlisted.release.text import as_text


@pytest.fixture(scope="module")
def release() -> ul.Release:
    return histogram()


@pytest.fixture(scope="module")
def ranking() -> ul.Release:
    return top()


@pytest.fixture(scope="module")
def values() -> ul.Release:
    return labels()


def of(rows: dict[str, Any], plan: dict[str, Any] | None = None) -> ul.Release:
    """Make a release of given rows, as a mechanism would have."""
    return ul.Release(
        table=pa.table(rows),
        complete=True,
        guarantee=ul.Guarantee(Fraction(1, 10), Fraction("1e-9")),
        at_delta=Fraction("2e-9"),
        plan=plan or {"count": "users"},
    )


def buffers_of(table: pa.Table) -> Iterator[bytes]:
    """Every buffer behind a table, whole, whatever part of it the table shows."""
    for column in table.columns:
        for chunk in column.chunks:
            for buffer in filter(None, chunk.buffers()):
                behind = buffer
                while behind is not None:
                    yield behind.to_pybytes()
                    behind = behind.parent


def every_output(release: ul.Release) -> Iterator[tuple[str, bytes]]:
    """Every form in which a release leaves, as bytes."""
    polars, pandas = installed("polars"), installed("pandas")
    installed("altair")
    for number, buffer in enumerate(buffers_of(release.to_arrow())):
        yield f"buffer {number}", buffer
    for number, buffer in enumerate(buffers_of(pa.RecordBatchReader.from_stream(release).read_all())):
        yield f"buffer {number} of the stream", buffer
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, release.to_arrow().schema) as writer:
        writer.write_table(release.to_arrow())
    yield "IPC", sink.getvalue().to_pybytes()
    written = io.BytesIO()
    frame = release.to_polars()
    assert isinstance(frame, polars.DataFrame)
    frame.write_ipc(written)
    yield "Polars", written.getvalue()
    assert isinstance(release.to_pandas(), pandas.DataFrame)
    yield "pandas", pickle.dumps(release.to_pandas())
    yield "pickle", pickle.dumps(release)
    yield "rows", repr(release.rows).encode()
    yield "repr", repr(release).encode()
    yield "receipt", json.dumps(release.receipt()).encode()
    yield "dict", json.dumps(release.as_dict()).encode()
    yield "schema", str(release.to_arrow().schema).encode() + repr(release.to_arrow().schema.metadata).encode()
    yield "chart", json.dumps(release.chart().to_dict()).encode()
    yield "JSON", as_json(release.as_dict())
    yield "CSV", as_csv(release)
    yield "Parquet", as_parquet(release)
    yield "text", as_text(release).encode()


def planted_sources() -> dict[str, Any]:
    """The rows in forms that carry all their labels along: dictionaries, categories, metadata, views of more."""
    polars, pandas = installed("polars"), installed("pandas")
    rows = cooked()
    words = rows["dish"].combine_chunks()
    at = rows.column_names.index("dish")
    field = pa.field("dish", pa.string(), metadata={"example": PLANTED})
    noted = rows.set_column(at, field, words).replace_schema_metadata({"seen": PLANTED})
    padded = pa.concat_arrays([pa.array([PLANTED] * 5), words, pa.array([PLANTED] * 5)]).slice(5, len(words))
    frame = pandas.DataFrame({name: rows[name].to_pylist() for name in rows.column_names})
    enum = polars.Enum([PLANTED, *sorted(set(words.to_pylist()) - {PLANTED})])
    return {
        "plain": rows,
        "dictionary": rows.set_column(at, "dish", words.dictionary_encode()),
        "metadata": noted,
        "slice": rows.set_column(at, "dish", padded),
        "view": rows.set_column(at, "dish", words.cast(pa.string_view())),
        "large": rows.set_column(at, "dish", words.cast(pa.large_string())),
        "pandas category": frame.astype({"dish": "category"}),
        "polars enum": polars.from_arrow(rows).with_columns(polars.col("dish").cast(enum)),
        "polars categorical, lazy": polars.from_arrow(rows)
        .lazy()
        .with_columns(polars.col("dish").cast(polars.Categorical)),
    }


def test_the_grep_would_find_a_label() -> None:
    leaky = of({"dish": pa.array(["soup", PLANTED]).slice(0, 1), "count": [9], "low": [8], "high": [10]})
    found = {name for name, data in every_output(leaky) if PLANTED.encode() in data}
    assert any(name.startswith("buffer") for name in found)
    listed = of({"dish": pa.array(["soup", PLANTED]), "count": [9, 8], "low": [8, 7], "high": [10, 9]})
    missed = {name for name, data in every_output(listed) if PLANTED.encode() not in data}
    # Offsets and numbers hold no labels, and a receipt holds a digest of them.
    assert {name for name in missed if not name.startswith("buffer")} == {"receipt", "schema"}


@pytest.mark.parametrize(
    "form",
    [
        *("plain", "dictionary", "metadata", "slice", "view", "large"),
        *("pandas category", "polars enum", "polars categorical, lazy"),
    ],
)
def test_nothing_unreleased_is_in_any_output(form: str) -> None:
    source = planted_sources()[form]
    table = ul.table(source, user="user")
    for plan in (
        table.histogram("dish", budget=BUDGET, items_per_user=BOUND),
        table.top("dish", k=3, budget=BUDGET, counts=True),
        table.top_histogram("dish", budget=BUDGET, items_per_user=BOUND, fetch=30),
        table.labels("dish", budget=BUDGET, items_per_user=BOUND),
        table.top("dish", k=3, budget=BUDGET, items_per_user=BOUND, method="labels", counts=True),
    ):
        answer = plan.run()
        assert "soup" in answer.to_arrow()["dish"].to_pylist()
        for name, data in every_output(answer):
            assert PLANTED.encode() not in data, name
            assert b"rare" not in data, name


def test_nothing_unreleased_survives_several_columns_or_an_enum(tmp_path: Any) -> None:
    path = tmp_path / "rows.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("rows", cooked())
        words = ", ".join(f"'{word}'" for word in sorted(set(cooked()["dish"].to_pylist())))
        connection.execute(f"CREATE TYPE dish AS ENUM ({words})")
        connection.execute("CREATE TABLE cooked AS SELECT user, dish::dish AS dish, place FROM rows")
    table = ul.table(path, user="user", table="cooked")
    for question in (table.histogram, table.labels):
        answer = question(["place", "dish"], budget=BUDGET, items_per_user=BOUND).run()
        assert ("home", "soup") in [(row["place"], row["dish"]) for row in answer.rows]
        for name, data in every_output(answer):
            assert PLANTED.encode() not in data, name


def test_the_answer_has_plain_columns(release: ul.Release, ranking: ul.Release) -> None:
    numbers = [(name, pa.int64()) for name in ("count", "low", "high")]
    assert release.to_arrow().schema == pa.schema([("dish", pa.string()), *numbers])
    assert ranking.to_arrow().schema == pa.schema([("dish", pa.string()), ("rank", pa.int64())])
    with_counts = top(counts=True).to_arrow().schema
    assert with_counts == pa.schema([("dish", pa.string()), ("rank", pa.int64()), *numbers])
    assert release.to_arrow().schema.metadata is None


def test_the_order_is_that_of_the_released_values_and_then_of_the_labels() -> None:
    many = pa.table(
        {"user": [u for u in range(60) for _ in range(26)], "dish": list("qwertyuiopasdfghjklzxcvbnm") * 60}
    )
    answer = ul.table(many, user="user").histogram(
        "dish", budget=ul.Budget(epsilon=60, delta="1e-9"), items_per_user=26
    )
    rows = [(-row["count"], row["dish"]) for row in answer.run().rows]
    assert len(rows) > 10
    assert len({count for count, _ in rows}) < len(rows), "some counts are equal, so that labels decide"
    assert rows == sorted(rows)


def test_rows_and_frames_say_the_same(release: ul.Release) -> None:
    polars, _ = installed("polars"), installed("pandas")
    rows = release.rows
    assert [row["dish"] for row in rows] == list(COMMON)
    assert list(rows[0]) == ["dish", "count", "low", "high"]
    assert release.to_arrow().to_pylist() == rows
    assert release.to_polars().to_dicts() == rows
    assert release.to_pandas().to_dict("records") == rows
    assert pa.table(release).to_pylist() == rows
    assert polars.DataFrame(release).to_dicts() == rows
    assert len(release) == len(rows)


def test_the_stream_can_be_read_again_and_again(release: ul.Release) -> None:
    assert [pa.RecordBatchReader.from_stream(release).read_all().num_rows for _ in range(3)] == [len(COMMON)] * 3
    with duckdb.connect() as connection:
        connection.register("released", pa.table(release))
        assert connection.execute("SELECT COUNT(*) FROM released WHERE low <= high").fetchall() == [(len(COMMON),)]


@pytest.mark.parametrize("item", ["dish", "portions", ["dish", "portions"], ["portions", "place", "dish"]])
@pytest.mark.parametrize("kind", ["histogram", "top_histogram", "top", "labels"])
def test_an_empty_table_looks_like_any_other(item: Any, kind: str) -> None:
    def shape(source: pa.Table) -> tuple[pa.Schema, list[str], list[str]]:
        bounds = {"k": 50} if kind == "top" else {"items_per_user": BOUND}
        answer = getattr(ul.table(source, user="user"), kind)(item, budget=BUDGET, **bounds).run()
        return answer.to_arrow().schema, sorted(answer.receipt()), sorted(answer.as_dict())

    assert shape(nobody()) == shape(cooked())


def test_an_empty_answer_is_drawn_and_written(release: ul.Release) -> None:
    empty = histogram(nobody())
    assert len(empty) == 0
    assert empty.rows == []
    assert empty.complete is release.complete is True
    assert repr(empty).splitlines()[1].split() == ["dish", "count", "low", "high"]
    assert repr(empty).splitlines()[-1] == repr(release).splitlines()[-1]
    assert as_csv(empty) == b"dish,count,low,high\n"
    assert pq.read_table(pa.BufferReader(as_parquet(empty))).schema == release.to_arrow().schema
    installed("polars")
    assert empty.to_polars().schema == release.to_polars().schema
    installed("altair")
    assert empty.chart().to_dict()


def test_labels_have_no_column_but_their_own_and_no_order_but_their_own(values: ul.Release) -> None:
    assert values.rows == [{"dish": dish} for dish in sorted(COMMON)]
    assert values.to_arrow().schema == pa.schema([("dish", pa.string())])
    assert values.complete is True
    assert as_csv(values) == "".join(f"{one}\n" for one in ["dish", *sorted(COMMON)]).encode()
    assert json.loads(as_json(values.as_dict()))["rows"] == values.rows
    assert pq.read_table(pa.BufferReader(as_parquet(values))).to_pylist() == values.rows
    assert repr(values).splitlines()[:-1] == [
        "Release of 4 rows: only the values were released, no counts and no order",
        *("dish", "─────"),
        *sorted(COMMON),
    ]
    again = ul.Release.from_bytes(values.to_bytes())
    assert again.as_dict() == values.as_dict()
    assert again.receipt() == values.receipt()
    assert values.receipt()["released_rows"] == len(COMMON)


@pytest.mark.parametrize("item", ["dish", ["place", "dish"]])
def test_no_labels_are_written_too(item: Any) -> None:
    names = [item] if isinstance(item, str) else item
    empty = asked(nobody()).labels(item, budget=BUDGET, items_per_user=BOUND).run()
    assert empty.rows == []
    assert empty.complete is True
    assert as_csv(empty).decode() == ",".join(names) + "\n"
    assert pq.read_table(pa.BufferReader(as_parquet(empty))).column_names == names
    assert repr(empty).splitlines()[1].split() == names
    assert ul.Release.from_bytes(empty.to_bytes()).as_dict() == empty.as_dict()
    assert dict(every_output(empty))["JSON"].startswith(b'{\n  "rows": []')


def test_complete_is_what_the_question_says() -> None:
    assert histogram().complete
    assert not asked().top_histogram("dish", budget=BUDGET, items_per_user=BOUND).run().complete
    assert top(k=4).complete
    # Of eleven that were wanted only a few are common enough, so ⊥ was drawn.
    assert not top(k=11).complete
    assert not top(nobody(), k=1).complete


def test_a_release_cannot_be_changed(release: ul.Release) -> None:
    before = json.dumps(release.as_dict())
    with pytest.raises(dataclasses.FrozenInstanceError):
        release.complete = False  # type: ignore[misc]
    with pytest.raises(TypeError):
        release.plan["threshold"] = 0  # type: ignore[index]
    with pytest.raises(TypeError):
        release.plan["users_needed"]["50"] = 0
    with pytest.raises((TypeError, AttributeError)):
        release.plan["items"].append("more")
    with pytest.raises((TypeError, AttributeError)):
        release.table["count"] = [1]
    with pytest.raises(ValueError, match="read-only"):
        release.to_arrow()["count"].chunk(0).to_numpy()[0] = 5
    release.rows[0]["count"] = 5
    release.as_dict()["plan"]["users_needed"]["50"] = 5
    release.receipt()["guarantee"]["rho"] = 0
    for frame in (release.to_pandas(), top().to_pandas()):
        frame.iloc[:, -1] = 0
    assert json.dumps(release.as_dict()) == before


def test_what_was_handed_in_can_change_without_harm() -> None:
    plan = {"count": "users", "users_needed": {"50": 3}, "items": ["dish"]}
    made = of({"dish": ["soup"], "rank": [1]}, plan)
    plan["users_needed"]["50"] = 4  # type: ignore[index]
    plan["items"].append("x")  # type: ignore[attr-defined]
    assert made.as_dict()["plan"] == {"count": "users", "users_needed": {"50": 3}, "items": ["dish"]}


def test_a_release_can_be_copied_and_pickled(release: ul.Release) -> None:
    for again in (pickle.loads(pickle.dumps(release)), copy.deepcopy(release)):
        assert again.as_dict() == release.as_dict()
        assert again.receipt() == release.receipt()


def test_the_receipt_says_what_was_promised_to_whom_and_how(release: ul.Release) -> None:
    receipt = json.loads(json.dumps(release.receipt(), allow_nan=False))
    plan = asked().histogram("dish", budget=BUDGET, items_per_user=BOUND)
    assert receipt["plan"] == plan.as_dict()
    assert receipt["guarantee"] == plan.preview()["guarantee"]
    assert receipt["unit"] == {"protected": "user", "column": "user"}
    assert receipt["adjacency"] == "add_remove"
    assert receipt["bounds"] == {"items_per_user": BOUND, "rows_per_item": None, "max_label_bytes": 1024}
    assert set(receipt["versions"]) == {"unlisted", "python", "cryptography", "duckdb", "numpy", "pyarrow"}
    assert receipt["versions"]["unlisted"] == ul.__version__
    assert receipt["complete"] is True
    assert receipt["released_rows"] == len(COMMON)
    assert datetime.fromisoformat(receipt["time"]).tzinfo is not None
    assert abs(datetime.now(UTC) - datetime.fromisoformat(receipt["time"])).days == 0


def test_the_receipt_holds_no_row_and_its_digest_tells_releases_apart(release: ul.Release) -> None:
    told = json.dumps(release.receipt())
    assert not any(dish in told for dish in COMMON)
    assert release.receipt()["released_sha256"] == release.receipt()["released_sha256"]
    assert release.receipt()["released_sha256"] != histogram(where="place = 'home'").receipt()["released_sha256"]


def test_everything_says_how_intervals_are_to_be_read(release: ul.Release, ranking: ul.Release) -> None:
    given, plain, order = release.reading, top(counts=True).reading, ranking.reading
    assert "given that the item was released" in given
    assert "95 % interval for the bounded count" in given
    assert "95 % interval for the bounded count" in plain
    assert "given that" not in plain
    assert "only the order" in order
    of_all = top(counts=True, items_per_user=BOUND, method="labels").reading
    assert "95 % interval for the count of all users" in of_all
    assert "bounded" not in of_all
    assert top(items_per_user=BOUND, method="labels").reading == order
    assert release.receipt()["reading"] == given
    assert given in repr(release).splitlines()[0]


def test_a_release_is_shown_as_a_table(release: ul.Release) -> None:
    lines = repr(release).splitlines()
    assert lines[0].startswith(f"Release of {len(COMMON)} rows")
    assert [line.split()[0] for line in lines[3:-1]] == list(COMMON)
    assert lines[-1].startswith("Guarantee: ")


def test_only_the_first_rows_are_shown() -> None:
    many = of({"dish": [f"meal {n}" for n in range(25)], "rank": list(range(1, 26))})
    assert repr(many).count("meal ") == 20
    assert "… and 5 more rows" in repr(many)
    assert as_text(many).count("meal ") == 25


def test_numbers_stand_to_the_right_and_wide_letters_take_two_columns() -> None:
    drawn = repr(of({"dish": ["ramen", "ラーメン", "cafe\u0301"], "rank": [1, 10, 100]})).splitlines()
    assert drawn[3:6] == ["ramen        1", "ラーメン    10", "cafe\u0301       100"]


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("soup", "soup"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x9b31m", r"\x9b31m"),
        ("a\u202eb", r"a\u202eb"),
        ("two\nlines\ttab\r", r"two\nlines\ttab\r"),
        ("\x00", r"\x00"),
        ("\u200bhidden", r"\u200bhidden"),
        ("", "''"),
        ("   ", "'   '"),
        ("[red]markup[/red]", "[red]markup[/red]"),
        ("x" * 200, "x" * 79 + "…"),
        ("zażółć gęślą 🍜", "zażółć gęślą 🍜"),
        (7, "7"),
        (None, "None"),
    ],
)
def test_a_label_on_a_screen_is_only_text(label: object, shown: str) -> None:
    assert printable(label) == shown
    assert printable(label).isprintable()


def test_the_name_of_a_column_on_a_screen_is_only_text() -> None:
    assert repr(of({"di\x1b[31msh\n": ["soup"], "rank": [1]})).replace("\n", "").isprintable()


def test_some_characters_may_be_kept() -> None:
    assert escaped("a\nb\x1b", kept="\n") == "a\nb\\x1b"


@pytest.mark.parametrize(
    ("amount", "shown"),
    [("0.3", 0.3), ("0.1", 0.1), ("1e-8", 1e-8), ("0", 0.0), ("1", 1.0), ("1e-400", 5e-324)],
)
def test_an_exact_decimal_is_shown_as_itself_or_above(amount: str, shown: float) -> None:
    assert shown_up(Fraction(amount)) == shown


def test_an_amount_is_never_shown_below_itself() -> None:
    for numerator in range(1, 400):
        amount = Fraction(numerator, 7919)
        assert Fraction(repr(shown_up(amount))) >= amount
        assert Fraction(short_up(amount, 3)) >= amount
        assert Fraction(short_up(amount, 3)) < amount * Fraction(102, 100)


def test_a_promise_rounds_every_number_up() -> None:
    line = promise(ul.Guarantee(Fraction("0.12345678"), Fraction("1.2345e-9")), Fraction("2e-9"))
    assert line.startswith("Guarantee: (")
    assert line.endswith(", 2e-09)-DP; also 1.24e-09-approximate 0.123457-zCDP.")


@pytest.mark.parametrize(
    ("label", "said"),
    [
        (float("inf"), "inf"),
        (-0.0, -0.0),
        (True, True),
        (Decimal("1.50"), "1.50"),
        (datetime(2025, 1, 2, 3, 4), "2025-01-02 03:04:00"),
        (b"ab", "b'ab'"),
        (2**70, 2**70),
    ],
)
def test_every_label_can_be_said_in_json(label: Any, said: Any) -> None:
    assert as_plain(label) == said
    json.dumps(as_plain(label), allow_nan=False)


@pytest.mark.parametrize("package", ["polars", "pandas"])
def test_a_missing_extra_says_how_to_get_it(
    package: str, release: ul.Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] == package:
            raise ModuleNotFoundError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ul.MissingExtraError, match=rf'pip install "unlisted\[{package}\]"'):
        getattr(release, f"to_{package}")()


def test_labels_keep_their_types() -> None:
    rows = pa.table(
        {
            "user": list(range(400)) * 2,
            "day": pa.array([datetime(2025, 1, 1), datetime(2025, 1, 2)] * 400, pa.timestamp("us")),
            "size": pa.array(np.tile([1.5, -0.0], 400)),
        }
    )
    table = ul.table(rows, user="user")
    for item, kind in (("day", pa.timestamp("us")), ("size", pa.float64())):
        answer = table.histogram(item, budget=BUDGET, items_per_user=2).run()
        assert answer.to_arrow().schema.field(item).type == kind
        assert len(answer) == 2
        json.dumps(answer.as_dict(), allow_nan=False)


def test_times_finer_than_python_holds_are_read_as_text() -> None:
    """Python's own times end at microseconds; an answer that is paid for must be readable all the same."""
    moments = pa.array([1] * 500, pa.timestamp("ns"))
    rows = pa.table({"user": pa.array(range(500)), "moment": moments})
    plan = ul.table(rows, user="user").histogram(
        "moment", budget=ul.Budget(epsilon=1, delta=1e-8), items_per_user=1
    )
    assert plan.run().rows[0]["moment"] == "1970-01-01 00:00:00.000000001"


def test_a_release_is_a_container_as_people_know_them() -> None:
    release = histogram()
    assert list(release) == release.rows
    assert release[0] == release.rows[0]
    assert release[-1] == release.rows[-1]
    assert release[:2] == release.rows[:2]
    assert release["dish"] == [row["dish"] for row in release.rows]
    assert len(release) == len(release.rows)
    with pytest.raises(KeyError):
        release["portions"]
    with pytest.raises(IndexError):
        release[10_000]


def test_rows_can_be_written_and_no_file_is_replaced_by_accident(tmp_path: Path) -> None:
    release = ul.counts(["=1+1", "soup"], [9000, 8000], items_per_user=1).histogram(budget=BUDGET).run()
    as_csv, as_parquet = tmp_path / "rows.csv", tmp_path / "rows.parquet"
    release.write_csv(as_csv)
    release.write_parquet(as_parquet)
    assert "'=1+1" in as_csv.read_text("utf-8")
    assert pq.read_table(as_parquet).equals(release.to_arrow())
    for write, path in ((release.write_csv, as_csv), (release.write_parquet, as_parquet)):
        with pytest.raises(ul.InvalidArgumentError, match="overwrite=True"):
            write(path)
        write(path, overwrite=True)


def test_what_was_released_beside_counts_is_in_the_receipt_and_survives_bytes() -> None:
    """A mechanism's extras: the noisy sizes of users, and what scaling may hide, said with the intervals."""
    mechanism = FindThenCount.for_budget(BUDGET, Weighing(BOUND)).mechanism
    plan = asked().release_with("dish", mechanism=mechanism, at_delta=BUDGET.delta)
    release = plan.run()
    assert {row["dish"] for row in release.rows} == set(COMMON)
    too = release.receipt()["plan"]["released_too"]
    assert sum(one["users"] for one in too["user_sizes"]) > 100
    assert f"users who have more than {too['items_in_full']} of these values count for less" in release.reading
    assert ul.Release.from_bytes(release.to_bytes()).receipt()["plan"]["released_too"] == too
    assert all(row["low"] <= row["count"] <= row["high"] for row in release.rows)
    assert "users of one item each: " in str(plan)
    assert "where users of up to D1 found items count in full" in str(plan)
    assert plan.preview()["plan"]["half_widths_95"]["100"] == plan.preview()["plan"]["half_width_95"]
