"""Write docs/http.md from the OpenAPI document of the service.

With `--check` nothing is written, and the script leaves with 1 if the page is out of date.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent / "http.md"
HEAD = """# HTTP

Every route needs a key, `Authorization: Bearer ul_…`. The same as a machine reads it is at `/v1/openapi.json`;
[the service](service.md) says what the statuses mean and how one is run.
"""


def lines(document: dict[str, Any]) -> Iterator[str]:
    """Yield the page, route by route."""
    yield HEAD
    routes = {
        f"{method.upper()} {path}": route
        for path, methods in document["paths"].items()
        for method, route in methods.items()
    }
    everywhere = set.intersection(*(set(route["responses"]) for route in routes.values())) - {"200"}
    yield "Every route may refuse:\n"
    yield from _statuses(next(iter(routes.values())), everywhere)
    for name, route in routes.items():
        yield f"## {name}\n"
        yield f"{route['description']}\n"
        yield from _parameters(route.get("parameters", []))
        yield from _examples(route)
        yield from _body(route, document["components"]["schemas"])
        yield from _statuses(route, set(route["responses"]) - everywhere - {"200"})
    yield from _question(document["components"]["schemas"]["QuestionBody"])


def _statuses(route: dict[str, Any], which: set[str]) -> Iterator[str]:
    for status in sorted(which):
        yield f"* {status}: {route['responses'][status]['description']}"
    if which:
        yield ""


def _parameters(parameters: list[dict[str, Any]]) -> Iterator[str]:
    for one in parameters:
        where = "a header" if one["in"] == "header" else f"in the {one['in']}"
        yield f"* `{one['name']}`, {where}: {one['description']}"
    if parameters:
        yield ""


def _examples(route: dict[str, Any]) -> Iterator[str]:
    if "examples" not in _sent(route):
        return
    yield "The body is a [question](#a-question). For example:\n"
    for one in _sent(route)["examples"].values():
        yield f"```json\n{json.dumps(one['value'], indent=2)}\n```\n"


def _sent(route: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = route.get("requestBody", {"content": {"application/json": {}}})["content"]
    return found["application/json"]


def _body(route: dict[str, Any], schemas: dict[str, Any]) -> Iterator[str]:
    sent = _sent(route)
    if not sent or "examples" in sent:
        return
    schema = schemas[sent["schema"]["$ref"].rpartition("/")[2]]
    yield f"The body, for example `{json.dumps(schema['example'])}`:\n"
    yield from _fields(schema)
    yield ""


def _question(schema: dict[str, Any]) -> Iterator[str]:
    yield "## A question\n"
    yield from _fields(schema)


def _fields(schema: dict[str, Any]) -> Iterator[str]:
    yield "| field | meaning |\n|---|---|"
    for name, field in schema["properties"].items():
        needed = " Needed." if name in schema.get("required", ()) else ""
        yield f"| `{name}` | {field['description']}{needed} |"


def main(arguments: list[str]) -> int | str:
    """Write or check."""
    from unlisted.server.api.routes import api_description  # noqa: PLC0415 - an extra

    page = "\n".join(lines(api_description())) + "\n"
    if "--check" in arguments:
        is_current = PAGE.read_text(encoding="utf-8") == page
        return 0 if is_current else "docs/http.md is out of date; run: python docs/make_http_reference.py"
    PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
