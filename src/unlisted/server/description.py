"""The OpenAPI document of the API: the same for every service, with examples, in which refusals have one form."""

from __future__ import annotations

from functools import cache
from typing import Any

from fastapi.openapi.utils import get_openapi

from unlisted import __version__
from unlisted.server import dataset_routes, stream_routes, wire

_ABOUT = (
    "Private counts when nobody has the list. Previews touch no data; a release is charged to the account that "
    "the key's grant names, its ceiling first."
)


@cache
def api_description() -> dict[str, Any]:
    """Return the document as plain values."""
    routes = [*dataset_routes.router.routes, *stream_routes.router.routes]
    found = get_openapi(title="unlisted", version=__version__, description=_ABOUT, routes=routes)
    schemas = found["components"]["schemas"]
    schemas["Problem"] = wire.Problem.model_json_schema()
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    return found
