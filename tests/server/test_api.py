"""API v1 as an analyst meets it."""

from __future__ import annotations

import csv
import io

import pyarrow.parquet as pq
import pytest
from tests.server.running import HIDDEN_LABEL, HISTOGRAM, LABELS, TOP, Running

import unlisted as ul
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.verify import verify
from unlisted.release.release import Release, spent_as_dict

RELEASES = "/v1/datasets/searches/releases"


def test_health_and_readiness_need_no_key(service: Running):
    assert service.ask("/health", who=None).json() == {"status": "ok"}
    assert service.ask("/ready", who=None).json() == {"status": "ready"}


def test_data_sets_show_offered_columns_and_what_they_hold(service: Running):
    found = {one["name"]: one for one in service.ask("/v1/datasets").json()}
    assert sorted(found) == ["broken", "empty", "searches", "slow_file", "slow_server"]
    assert found["searches"] == service.ask("/v1/datasets/searches").json()
    assert found["searches"]["items"] == [{"name": "query", "type": "text"}, {"name": "device", "type": "text"}]
    assert found["searches"]["filters"] == [{"name": "device", "type": "text"}]
    assert (found["searches"]["user"], found["searches"]["account"]) == ("user", "ads-searches")
    assert "salary" not in str(found)


def test_a_preview_is_the_plans_own_and_costs_nothing(service: Running, book: Ledger, sources):
    before = book.history()
    found = service.ask("/v1/datasets/searches/preview", HISTOGRAM).json()
    table = ul.table(sources / "searches.parquet", user="user")
    budget, account = ul.Budget(epsilon=1, delta=1e-8), book.account("ads-searches")
    plan = table.histogram("query", budget=budget, items_per_user=1, account=account)
    assert {**plan.preview(), "plan_sha256": found["plan_sha256"], "refusal": None, "warnings": []} == found
    assert book.history() == before


def test_a_release_is_paid_stored_and_found_again(service: Running, book: Ledger):
    before = book.account("ads-searches").balance().left
    answer = service.ask(RELEASES, TOP).json()
    assert [row["query"] for row in answer["rows"]] == ["soup", "bread", "tea"]
    after = book.account("ads-searches").balance().left
    assert after.loss < before.loss
    entry = answer["ledger"]["entry"]
    assert service.ask(f"{RELEASES}/{entry}").json() == answer
    listed = service.ask(f"{RELEASES}?most=1").json()[0]
    assert (listed["entry"], listed["plan"]) == (entry, answer["plan"])
    assert listed["guarantee"] == answer["guarantee"]
    assert service.ask(f"{RELEASES}?before={entry}&most=1").json()[:1] != [listed]
    receipt = service.ask(f"{RELEASES}/{entry}/receipt").json()
    assert receipt["ledger"] == answer["ledger"]
    assert verify(book, [receipt]) == []


def test_a_ranking_that_ended_early_says_what_it_promised_and_what_was_charged(service: Running, book: Ledger):
    before = book.account("ads-searches").balance().account.used
    question = {**TOP, "k": 10}
    promised = service.ask("/v1/datasets/searches/preview", question).json()["guarantee"]
    answer = service.ask(RELEASES, question, headers={"Idempotency-Key": "early"}).json()
    charged = book.account("ads-searches").balance().account.used - before
    assert not answer["complete"]
    assert answer["guarantee"] == promised
    assert answer["spent"] == spent_as_dict(charged.guarantee())
    assert answer["spent"]["rho"] < answer["guarantee"]["rho"]
    entry = answer["ledger"]["entry"]
    receipt = service.ask(f"{RELEASES}/{entry}/receipt").json()
    assert (receipt["guarantee"], receipt["spent"]) == (promised, answer["spent"])
    listed = service.ask(f"{RELEASES}?most=1").json()[0]
    assert listed["guarantee"] == promised
    assert listed["spent"] == dict(zip(("rho", "delta"), charged.texts, strict=True))


def test_a_repeated_idempotency_key_gives_the_first_answer_at_no_cost(service: Running, book: Ledger):
    named = {"Idempotency-Key": "monday-report"}
    first = service.ask(RELEASES, HISTOGRAM, headers=named).json()
    spent = book.account("ads-searches").balance().left
    assert service.ask(RELEASES, HISTOGRAM, headers=named).json() == first
    assert book.account("ads-searches").balance().left == spent
    other = service.ask(RELEASES, TOP, headers=named)
    assert (other.status, other.json()["argument"]) == (422, "idempotency_key")


def test_every_format_holds_the_same_rows(service: Running):
    entry = service.ask(RELEASES, HISTOGRAM).json()["ledger"]["entry"]
    place = f"{RELEASES}/{entry}"
    rows = service.ask(place).json()["rows"]
    assert {row["query"] for row in rows} == {"soup", "bread", "tea"}
    text = service.ask(place, headers={"Accept": "text/csv"})
    assert text.headers["content-type"].startswith("text/csv")
    assert [row["query"] for row in csv.DictReader(io.StringIO(text.body.decode()))] == [r["query"] for r in rows]
    parquet = service.ask(place, headers={"Accept": "application/vnd.apache.parquet"})
    assert pq.read_table(io.BytesIO(parquet.body)).to_pylist() == rows
    whole = service.ask(place, headers={"Accept": "application/vnd.unlisted.release"})
    assert Release.from_bytes(whole.body).rows == rows
    for reply in (text, parquet, whole):
        assert HIDDEN_LABEL.encode() not in reply.body


def test_a_plan_that_was_not_previewed_is_not_run(service: Running, book: Ledger):
    seen = service.ask("/v1/datasets/searches/preview", HISTOGRAM).json()["plan_sha256"]
    before = book.history()
    other = service.ask(RELEASES, {**HISTOGRAM, "epsilon": 2, "plan_sha256": seen})
    assert (other.status, other.json()["type"]) == (409, "urn:unlisted:problem:another-plan")
    assert book.history() == before
    assert service.ask(RELEASES, {**HISTOGRAM, "plan_sha256": seen}).status == 200


def test_balance_and_history_are_the_accounts_own(service: Running, book: Ledger):
    service.ask("/v1/datasets/empty/releases", TOP)
    balance = service.ask("/v1/datasets/empty/balance").json()
    assert balance["left"]["rho"] == book.account("ads-empty").balance().left.texts[0]
    mine = service.ask("/v1/datasets/empty/history").json()
    assert {one["account"] for one in mine} == {"ads-empty"}
    assert [one["kind"] for one in mine][:2] == ["opened", "reserved"]
    everybodys = service.ask("/v1/datasets/empty/history", who="admin").json()
    assert {None, "ads-empty", "others"} <= {one["account"] for one in everybodys}
    assert ".parquet" not in str(everybodys), "where the rows lie is the owner's business"
    assert service.ask("/v1/datasets/empty/history?after=3&most=1", who="admin").json() == everybodys[3:4]


def test_a_question_over_the_budget_is_refused_and_says_what_is_left(service: Running, book: Ledger):
    before = book.history()
    refused = service.ask("/v1/datasets/empty/releases", {**TOP, "epsilon": 100}, who="other")
    assert (refused.status, refused.json()["type"]) == (402, "urn:unlisted:problem:budget-refused")
    assert "left to the account 'others'" in refused.json()["detail"]
    assert book.history() == before


@pytest.mark.parametrize(
    ("changed", "argument"),
    [
        ({"items": ["salary"]}, "items"),
        ({"items": ["user"]}, "items"),
        ({"where": "device ="}, "where"),
        ({"where": "salary > 3"}, "where"),
        ({"where": "device = 'phone' OR query = 'soup'"}, "where"),
        ({"k": 0.5}, None),
        ({"k": 10**9}, "k"),
        ({"fetch": 10**9}, "fetch"),
        ({"noise": "laplace"}, "noise"),
        ({"epsilon": -1}, None),
        ({"rho": 1}, "rho"),
        ({"surprise": 1}, None),
        ({"count": "rows"}, "rows_per_item"),
        ({"method": "weighted"}, "method"),
        ({"method": "best"}, None),
        ({"method": "labels", "fetch": 10}, "fetch"),
        ({"method": "labels", "count": "rows", "rows_per_item": 2}, "count"),
        ({"method": "labels", "epsilon": None, "per_item_epsilon": 1}, "per_item_epsilon"),
    ],
)
def test_what_is_not_offered_is_refused_in_words_that_name_nothing_else(
    service: Running, book: Ledger, changed, argument
):
    before = book.history()
    for place in ("preview", "releases"):
        refused = service.ask(f"/v1/datasets/searches/{place}", {**TOP, **changed})
        assert refused.status == 422
        assert refused.headers["content-type"] == "application/problem+json"
        assert refused.json().get("argument") == argument
        if changed != {"items": ["salary"]} and "salary" not in changed.get("where", ""):
            assert "salary" not in refused.body.decode()
    assert book.history() == before


@pytest.mark.parametrize(
    ("question", "changed", "argument"),
    [
        (HISTOGRAM, {"method": "counts"}, "method"),
        (HISTOGRAM, {"fetch": 10}, "fetch"),
        ({**HISTOGRAM, "question": "top-histogram"}, {"method": "gumbel"}, "method"),
        ({**HISTOGRAM, "question": "top-histogram"}, {"counts": True}, "counts"),
        (LABELS, {"method": "gumbel"}, "method"),
        (LABELS, {"method": "labels"}, "method"),
        (LABELS, {"k": 3}, "k"),
        (LABELS, {"fetch": 10}, "fetch"),
        (LABELS, {"counts": True}, "counts"),
        (LABELS, {"noise": "laplace"}, "noise"),
        (LABELS, {"per_item_epsilon": 1}, "per_item_epsilon"),
        (LABELS, {"count": "rows"}, "count"),
        (LABELS, {"rows_per_item": 2}, "rows_per_item"),
        (LABELS, {"items_per_user": 10**7}, "items_per_user"),
    ],
)
def test_what_belongs_to_another_question_is_not_passed_over(
    service: Running, book: Ledger, question, changed, argument
):
    before = book.history()
    for place in ("preview", "releases"):
        refused = service.ask(f"/v1/datasets/searches/{place}", {**question, **changed})
        assert (refused.status, refused.json()["argument"]) == (422, argument)
    assert book.history() == before


def test_labels_come_without_counts_or_order(service: Running, book: Ledger):
    preview = service.ask("/v1/datasets/searches/preview", LABELS).json()
    assert (preview["complete"], preview["plan"]["question"], preview["plan"]["items_per_user"]) == (
        True,
        "labels",
        1,
    )
    answer = service.ask(RELEASES, {**LABELS, "plan_sha256": preview["plan_sha256"]}).json()
    assert sorted(answer["rows"], key=str) == [{"query": "bread"}, {"query": "soup"}, {"query": "tea"}]
    assert answer["reading"] == "only the values were released, no counts and no order"
    assert answer["plan"] == preview["plan"]
    place = f"{RELEASES}/{answer['ledger']['entry']}"
    text = service.ask(place, headers={"Accept": "text/csv"}).body.decode()
    assert text.splitlines() == ["query", *(row["query"] for row in answer["rows"])]
    parquet = service.ask(place, headers={"Accept": "application/vnd.apache.parquet"})
    assert pq.read_table(io.BytesIO(parquet.body)).to_pylist() == answer["rows"]
    assert verify(book, [service.ask(f"{place}/receipt").json()]) == []


def test_a_ranking_finds_labels_first_unless_callers_say_otherwise(service: Running):
    def mechanism(**more: object) -> str:
        preview = service.ask("/v1/datasets/searches/preview", {**TOP, "k": 500, **more}).json()
        return str(preview["plan"]["mechanism"])

    # So many draws leave little ε to each: Gumbel noise would need many more users.
    assert mechanism() == "found_top_k"
    assert mechanism(method="auto") == "found_top_k"
    assert mechanism(items_per_user=1) == "found_top_k"
    assert mechanism(k=3) == "top_k"
    assert mechanism(fetch=5000) == "top_k"
    assert mechanism(method="gumbel") == "top_k"
    assert mechanism(items_per_user=1, method="gumbel") == "top_k"
    assert mechanism(method="labels") == "label_ranking"


def test_the_specification_names_every_route_and_its_examples_work(service: Running):
    found = service.ask("/v1/openapi.json", who=None).json()
    assert found["openapi"].startswith("3.")
    question = found["paths"]["/v1/datasets/{name}/preview"]["post"]["requestBody"]["content"]["application/json"]
    assert {"histogram", "labels", "top", "top-histogram", "users", "by group"} <= question["examples"].keys()
    for example in question["examples"].values():
        assert service.ask("/v1/datasets/searches/preview", example["value"]).status == 200
    problem = found["components"]["schemas"]["Problem"]
    assert {"type", "title", "status", "detail", "charged"} == set(problem["required"])


def test_a_query_parameter_that_does_not_exist_is_refused(service: Running):
    found = service.ask("/v1/datasets/searches/releases?moost=3")
    assert found.status == 422
    assert "moost" in found.json()["detail"]


def test_totals_are_asked_without_the_bound_that_the_data_set_sets_for_others(service: Running):
    asked = {**HISTOGRAM, "with_totals": True, "other": True}
    answer = service.ask(RELEASES, asked).json()
    assert list(answer["totals"]) == ["users", "user_values", "other", "other_values"]
    assert answer["plan"]["items_per_user"] is None
    rows = csv.DictReader(io.StringIO(service.ask(RELEASES, asked, headers={"Accept": "text/csv"}).body.decode()))
    assert [row["row"] for row in rows][-4:] == list(answer["totals"])


@pytest.mark.parametrize("column", ["query", "salary", "nope"])
def test_sums_are_of_offered_numbers_alone(service: Running, column: str):
    refused = service.ask("/v1/datasets/searches/preview", {**HISTOGRAM, "sum": column, "max_per_item": 3})
    assert (refused.status, refused.json()["charged"]) == (422, False)
    assert "no column of numbers is offered" in refused.json()["detail"]
