"""Every door offers the options of a question, all of them, with the same defaults: none drifts by itself."""

from __future__ import annotations

import inspect
from typing import Any, get_args

import pytest
from tests.cli.shell import unlisted

import unlisted as ul
from unlisted.privacy.guarantee import Budget
from unlisted.query.asking.askable import Askable
from unlisted.query.options import AMOUNTS, defaults_of, own_options
from unlisted.query.private_counts import PrivateCounts
from unlisted.query.question import Question
from unlisted.query.questions import KINDS, Top
from unlisted.server.api.schemas import QuestionBody
from unlisted.server.console.question_form import ACCURACIES, NOT_IN_THE_FORM, _blank

ONE = Budget(epsilon=1, delta="1e-8")
NOT_OPTIONS = {"self", "item", "budget", "epsilon", "rho", "delta", "account"}
EVERYWHERE = list(KINDS.values())


def method_of(kind: type[Question]) -> str:
    return kind.kind.replace("-", "_")


@pytest.mark.parametrize("kind", EVERYWHERE)
def test_python_has_every_option_as_a_parameter_with_its_default(kind: type[Question]) -> None:
    parameters = inspect.signature(getattr(Askable, method_of(kind))).parameters
    said = {name: one.default for name, one in parameters.items() if name not in NOT_OPTIONS}
    options = {name: defaults_of(kind).get(name, inspect.Parameter.empty) for name in own_options(kind)}
    options.pop("items", None)
    assert said == options
    assert all(parameters[name].default is None for name in ("budget", "epsilon", "rho", "delta"))
    assert all(
        one.kind is inspect.Parameter.KEYWORD_ONLY
        for name, one in parameters.items()
        if name not in ("self", "item")
    )


@pytest.mark.parametrize("kind", EVERYWHERE)
def test_help_explains_every_parameter_and_has_an_example(kind: type[Question]) -> None:
    method = getattr(ul.PrivateTable, method_of(kind))
    text = inspect.getdoc(method) or ""
    for name in inspect.signature(method).parameters:
        assert name == "self" or f"\n    {name}: " in text, name
    assert ">>> " in text


@pytest.mark.parametrize("method", ["histogram", "top_histogram", "top"])
def test_counts_from_elsewhere_take_what_is_left_of_the_options(method: str) -> None:
    asked = inspect.signature(getattr(Askable, method)).parameters
    for name, one in inspect.signature(getattr(PrivateCounts, method)).parameters.items():
        assert name in asked
        # Whoever brings the largest counts said already how many they are.
        if name != "fetch":
            assert one.default == asked[name].default
            assert one.annotation == asked[name].annotation


@pytest.mark.parametrize("kind", EVERYWHERE)
def test_the_shell_has_every_option(kind: type[Question]) -> None:
    for verb in ((kind.kind,), ("preview", kind.kind)):
        shown = unlisted(*verb, "--help").text
        for name in (*own_options(kind), *AMOUNTS):
            spelt = "item" if name == "items" else name.replace("_", "-")
            assert f"--{spelt} " in shown, f"{verb} lacks {name}"


def test_http_has_every_option_but_what_the_owner_decides() -> None:
    fields = QuestionBody.model_fields
    said = {name for kind in EVERYWHERE for name, about in own_options(kind).items() if not about.owners}
    assert set(fields) == said | set(AMOUNTS) | {"question", "plan_sha256"}
    assert set(get_args(fields["question"].annotation)) == set(KINDS)
    for name in said - {"items"}:
        choices = {word for kind in EVERYWHERE for word in choices_of(kind, name)}
        shape = QuestionBody.model_json_schema()["properties"][name]
        assert set(words_in(shape)) >= choices
        assert shape["description"]


def test_the_form_has_every_option_but_those_it_says_why_not() -> None:
    said = {name for kind in EVERYWHERE for name in own_options(kind)} | set(AMOUNTS)
    more = {"question", "ranking", "counting", *ACCURACIES}
    assert set(_blank()) == (said - set(NOT_IN_THE_FORM)) | more


@pytest.mark.parametrize("kind", EVERYWHERE)
def test_what_a_question_says_is_read_back_as_the_same_question(kind: type[Question]) -> None:
    told: dict[str, Any] = {"items": ("dish", "place"), "items_per_user": 7, "where": "place = 'home'"}
    told |= {"max_label_bytes": 99, "adjacency": "replace"}
    told = {name: value for name, value in told.items() if name in own_options(kind)} | {"budget": ONE}
    if kind is Top:
        told |= {"k": 4, "counts": True}
    question = kind(**told)
    assert kind.read(question.said()) == question
    assert set(question.said()) <= {*own_options(kind), *AMOUNTS}


def test_a_price_for_each_draw_is_read_back_too() -> None:
    question = Top(items=("dish",), k=3, per_item_epsilon="0.1", delta="1e-9")
    assert question.said() == {"items": ["dish"], "k": 3, "per_item_epsilon": "0.1", "delta": "1E-9"}
    assert Top.read(question.said()) == question


def test_an_option_of_another_question_is_refused_by_name() -> None:
    for kind in EVERYWHERE:
        items = {"items": ("dish",)} if kind.names_items() else {}
        foreign = {name for other in EVERYWHERE for name in own_options(other)} - set(own_options(kind))
        for name in foreign:
            with pytest.raises(ul.InvalidArgumentError) as refused:
                kind.read({**items, "epsilon": 1, "delta": 1e-8, name: 3})
            assert refused.value.argument == name


def choices_of(kind: type[Question], name: str) -> tuple[str, ...]:
    about = own_options(kind).get(name)
    return () if about is None else about.choices


def words_in(shape: Any) -> list[str]:
    """Return the words that a JSON schema allows."""
    if isinstance(shape, list):
        return [word for one in shape for word in words_in(one)]
    if not isinstance(shape, dict):
        return []
    listed = [*shape.get("enum", []), *([shape["const"]] if "const" in shape else [])]
    return listed + [word for key, one in shape.items() if key in ("anyOf", "items") for word in words_in(one)]
