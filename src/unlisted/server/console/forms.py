"""What a form sent. Read here, because two lines of the standard library do it without another dependency."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl

from starlette.requests import Request

from unlisted.errors import InvalidArgumentError

MOST_BYTES = 64 * 1024
"""A question with a long condition has a few hundred."""

_MOST_FIELDS = 200
_CONTENT_TYPE = "application/x-www-form-urlencoded"


@dataclass(frozen=True)
class Form:
    """The fields of a form in the order they were sent; a field may be sent several times."""

    fields: tuple[tuple[str, str], ...] = ()

    def one(self, name: str, default: str = "") -> str:
        """Return a field without the blanks around it; the default if it was not sent or left empty."""
        return next((value.strip() for key, value in self.fields if key == name and value.strip()), default)

    def all(self, name: str) -> tuple[str, ...]:
        """Return every value that a field was sent with."""
        return tuple(value for key, value in self.fields if key == name)


async def read_form(request: Request) -> Form:
    """Read the body of a request as a form."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _CONTENT_TYPE:
        raise InvalidArgumentError("form", "another content type", _CONTENT_TYPE)
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_BYTES:
            raise InvalidArgumentError("form", "a longer one", f"at most {MOST_BYTES:,} bytes")
    try:
        fields = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS
        )
    except ValueError:
        raise InvalidArgumentError("form", "something else", "fields that a browser sends, in UTF-8") from None
    return Form(tuple(fields))
