"""A plan: what it says before anything is spent, and what happens when it runs and when that fails."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.fixtures.kitchen import BOUND, BUDGET, COMMON, PLANTED, asked, cooked, nobody

import unlisted as ul
from unlisted.query.planner import plan_of
from unlisted.query.questions import KINDS, Histogram
from unlisted.tables.failures import OWNER_LOG

FIXED = "could not be answered; no account pays, so nothing was charged; see the log"
NAMES = {
    "histogram": "threshold_histogram",
    "top_histogram": "top_histogram",
    "top": "top_k",
    "labels": "hinted_label_rounds",
}
FROM_THE_LARGEST = ("top_histogram", "top")


def planned(kind: str, source: Any = None, **how: Any) -> ul.Plan:
    bounds: dict[str, Any] = {"k": 3} if kind == "top" else {"items_per_user": BOUND}
    plan: ul.Plan = getattr(asked(source), kind)("dish", **({"budget": BUDGET} | bounds | how))
    return plan


class Kept(logging.Handler):
    """A handler that keeps what it is handed."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(logging.Formatter().format(record))


@contextmanager
def kept_by(logger: logging.Logger) -> Iterator[list[str]]:
    """Return what a logger hands to whoever attaches a handler to it."""
    handler = Kept()
    logger.addHandler(handler)
    try:
        yield handler.records
    finally:
        logger.removeHandler(handler)


@pytest.mark.parametrize("kind", NAMES)
def test_a_plan_says_cost_accuracy_and_why(kind: str) -> None:
    plan = planned(kind)
    text = str(plan)
    numbers = plan.preview()["plan"]
    for percent in ("50", "95", "99"):
        assert f"{numbers['users_needed'][percent]:,} ({percent} %)" in text
    assert text.startswith("Plan: ")
    assert "-approximate" in text
    assert "Protects: every user" in text
    assert "Threshold: " in text
    assert "Noise: " in text
    assert f"Why: {plan.reason}" in text
    assert repr(plan) == text


@pytest.mark.parametrize("kind", NAMES)
def test_a_preview_is_json_with_all_that_is_known_beforehand(kind: str) -> None:
    found = json.loads(json.dumps(planned(kind).preview(), allow_nan=False))
    assert list(found) == ["complete", "guarantee", "plan"]
    assert found["complete"] is {"histogram": True, "top_histogram": False, "top": None, "labels": True}[kind]
    assert set(found["guarantee"]) == {"rho", "delta", "epsilon", "at_delta"}
    plan = found["plan"]
    assert list(plan)[:3] == ["mechanism", "threshold", "noise"]
    assert plan["mechanism"] == NAMES[kind]
    assert plan["question"] == kind.replace("_", "-")
    assert plan["user"] == "user"
    assert plan["items"] == ["dish"]
    assert plan["adjacency"] == "add_remove"
    assert plan["unit"] == "user"
    assert plan["count"] == "users"
    assert set(plan["users_needed"]) == {"50", "95", "99"}
    assert plan["users_needed_above_cut"] == (kind in FROM_THE_LARGEST)
    assert ("k" in plan) == (kind == "top")
    assert ("fetch" in plan) == (kind in FROM_THE_LARGEST)
    assert (plan["half_width_95"] is None) == (kind in ("top", "labels"))
    assert ("users_needed_of_one_item" in plan) == (kind == "labels")


def test_the_promise_stays_inside_the_budget() -> None:
    for budget in (ul.Budget(epsilon=1, delta="1e-8"), ul.Budget(rho="0.05", delta="1e-8")):
        for kind in NAMES:
            assert budget.allows(planned(kind, budget=budget).guarantee)


def test_a_preview_needs_no_table_and_cannot_run() -> None:
    for name, kind in KINDS.items():
        k = {"k": 3} if name == "top" else {}
        items = ("item",) if kind.names_items() else ()
        plan = plan_of(kind(items=items, items_per_user=3, budget=BUDGET, **k))
        assert plan.preview()["plan"]["items"] is None
        assert "no data was named" in str(plan)
        with pytest.raises(ul.InvalidArgumentError, match="a preview"):
            plan.run()


def test_a_preview_costs_what_the_plan_costs() -> None:
    previewed = plan_of(Histogram(items=("item",), items_per_user=BOUND, budget=BUDGET))
    assert previewed.mechanism == planned("histogram").mechanism
    assert previewed.preview()["guarantee"] == planned("histogram").preview()["guarantee"]


def test_a_plan_cannot_be_made_to_say_something_else() -> None:
    plan = planned("histogram", where="place = 'home'")
    with pytest.raises(TypeError):
        plan.asked["where"] = None  # type: ignore[index]
    with pytest.raises(AttributeError):
        plan.reason = ""  # type: ignore[misc]
    plan.preview()["plan"]["where"] = None
    assert plan.run().plan["where"] == "place = 'home'"


def test_a_plan_can_run_again_with_other_noise() -> None:
    plan = planned("histogram", budget=ul.Budget(epsilon=1, delta="1e-9"))
    answers = {tuple(row["count"] for row in plan.run().rows) for _ in range(4)}
    assert len(answers) == 4


@pytest.mark.parametrize("adjacency", ["add_remove", "replace"])
def test_the_neighbours_are_said(adjacency: Any) -> None:
    plan = planned("histogram", adjacency=adjacency)
    assert plan.preview()["plan"]["adjacency"] == adjacency
    assert ("replaced by another" in str(plan)) == (adjacency == "replace")
    assert plan.run().receipt()["adjacency"] == adjacency


def test_rows_are_said() -> None:
    plan = planned("histogram", count="rows", rows_per_item=3)
    assert "3 rows of each" in str(plan)
    assert "an item needs rows" in str(plan)


@pytest.mark.parametrize("item", [["dish", "portions"], ["portions", "dish"]])
@pytest.mark.parametrize("source", [cooked, nobody])
def test_several_item_columns_keep_their_names_order_and_types(item: list[str], source: Any) -> None:
    types = {"dish": pa.string(), "portions": pa.int64()}
    plan = asked(source()).histogram(item, budget=BUDGET, items_per_user=BOUND)
    schema = plan.run().to_arrow().schema
    assert schema.names == [*item, "count", "low", "high"]
    assert [schema.field(name).type for name in item] == [types[name] for name in item]
    bare = asked(source()).labels(item, budget=BUDGET, items_per_user=BOUND).run().to_arrow().schema
    assert bare == pa.schema([(name, types[name]) for name in item])


def test_a_tail_that_is_not_fetched_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """The path that reads only large counts gives answers of the same shape."""
    simple = planned("histogram").run()
    monkeypatch.setattr("unlisted.tables.counting.FEW_LABELS", 0)
    lazy = planned("histogram").run()
    assert lazy.to_arrow().schema == simple.to_arrow().schema
    assert [row["dish"] for row in lazy.rows] == [row["dish"] for row in simple.rows] == list(COMMON)
    assert lazy.plan == simple.plan
    several = asked().histogram(["dish", "place"], budget=BUDGET, items_per_user=BOUND).run()
    assert several.to_arrow().column_names == ["dish", "place", "count", "low", "high"]
    empty = asked(nobody()).histogram(["dish", "place"], budget=BUDGET, items_per_user=BOUND).run()
    assert empty.to_arrow().schema == several.to_arrow().schema


def damaged(folder: Path) -> ul.Plan:
    path = folder / "damaged.parquet"
    pq.write_table(cooked(), path)
    data = bytearray(path.read_bytes())
    # Pages stand before the footer, which stays as it is: the schema can still be read.
    data[4:400] = bytes(396)
    path.write_bytes(data)
    return ul.table(path, user="user").histogram("dish", budget=BUDGET, items_per_user=BOUND)


def failing_frame(_folder: Path) -> ul.Plan:
    def batches() -> Any:
        yield from cooked().slice(0, 10).to_batches()
        raise ValueError(f"row 11 says: {PLANTED}")

    stream = pa.RecordBatchReader.from_batches(cooked().schema, batches())
    return ul.table(stream, user="user").histogram("dish", budget=BUDGET, items_per_user=BOUND)


def test_a_file_that_is_gone_is_refused_before_anything_is_charged(tmp_path: Path) -> None:
    path = tmp_path / "deleted.parquet"
    pq.write_table(cooked(), path)
    plan = ul.table(path, user="user").histogram("dish", budget=BUDGET, items_per_user=BOUND)
    path.unlink()
    with pytest.raises(ul.InvalidArgumentError, match="that can be read"):
        plan.run()


@pytest.mark.parametrize("fails", [damaged, failing_frame])
def test_every_failure_after_data_was_touched_is_the_same_to_the_caller(fails: Any, tmp_path: Path) -> None:
    plan = fails(tmp_path)
    with kept_by(OWNER_LOG) as owners, pytest.raises(ul.ChargedFailureError) as failure:
        plan.run()
    error = failure.value
    assert str(error) == FIXED
    assert error.args == (FIXED,)
    # Neither the cause nor anything of the engine hangs on it, where a logging tool would find it.
    assert error.__cause__ is None
    assert error.__context__ is None
    told = "".join(traceback.format_exception(error))
    assert PLANTED not in told
    assert "duckdb" not in told.lower()
    # The owner has the cause.
    assert len(owners) == 1
    assert "Traceback" in owners[0]


def test_no_frame_of_the_error_has_seen_data(tmp_path: Path) -> None:
    with pytest.raises(ul.ChargedFailureError) as failure:
        failing_frame(tmp_path).run()
    frames = [frame.f_code.co_name for frame, _ in traceback.walk_tb(failure.value.__traceback__)]
    assert frames == ["test_no_frame_of_the_error_has_seen_data", "run"]


def test_the_cause_of_a_failure_goes_to_nobody_else(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with kept_by(logging.getLogger()) as others, kept_by(logging.getLogger("unlisted")) as ours:
        logging.getLogger().error("the test itself is heard")
        with pytest.raises(ul.ChargedFailureError):
            failing_frame(tmp_path).run()
    assert others == ["the test itself is heard"]
    assert ours == []
    assert capfd.readouterr() == ("", "")
