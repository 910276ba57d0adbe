"""What may be told about requests: one line in the log and a counter. Nothing in them depends on data.

No label, no predicate, no question, no path but its pattern, no word that a caller made up: there are as many
counters as there are routes, methods and outcomes, and never more. No length of time, and the time of a line is
when the request came. An answer and a failure after data was touched are the same word, `answered`: which of the
two it was can depend on a row, and stands in the owner's log.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime

from fastapi.telemetry import TelemetryConfig

from unlisted import __version__
from unlisted.errors import UnlistedError
from unlisted.ledger.state import DatasetState
from unlisted.tables.failures import OWNER_LOG

LOG = logging.getLogger("unlisted.server")

NO_TELEMETRY = TelemetryConfig(
    tracing=False, metrics=False, logs=False, operation_spans=False, auto_configure=False
)
"""What FastAPI is told: its spans and histograms hold how long each request took, and its logs whole errors."""


_METHODS = frozenset({"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"})
"""The methods of HTTP. A caller can send any word."""


def known_method(method: str) -> str:
    """Return a method of HTTP as it is, and any other word as `other`."""
    return method if method in _METHODS else "other"


def outcome(status: int) -> str:
    """Return what became of a request, in one of five words."""
    if status < 400 or status == 500:
        return "answered"
    if status in (401, 403, 404, 429):
        return "denied"
    if status == 402:
        return "over budget"
    return "busy" if status >= 500 else "invalid"


class Metrics:
    """Counters in Prometheus' text format."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, str]] = Counter()

    def count(self, method: str, route: str, status: int) -> None:
        """Count a request."""
        self._requests[method, route, outcome(status)] += 1

    def text(self) -> str:
        """Return all counters."""
        lines = [
            "# HELP unlisted_info The version that runs.",
            "# TYPE unlisted_info gauge",
            f'unlisted_info{{version="{__version__}"}} 1',
            "# HELP unlisted_requests_total Requests by route and outcome; failures after data was touched count "
            "as answered.",
            "# TYPE unlisted_requests_total counter",
        ]
        lines += [
            f'unlisted_requests_total{{method="{method}",route="{route}",outcome="{word}"}} {count}'
            for (method, route, word), count in sorted(self._requests.items())
        ]
        return "\n".join(lines) + "\n"


def gauges(datasets: Iterable[DatasetState], *, waiting: int, running: int) -> str:
    """Return what the owner watches: budgets as the ledger has them, the queue, and failures since the last thaw.

    It is what an admin sees in the ledger anyway; no number of rows, and no length of time.
    """
    lines = [
        "# HELP unlisted_questions Questions that wait for a thread, and that are being answered.",
        "# TYPE unlisted_questions gauge",
        f'unlisted_questions{{state="waiting"}} {waiting}',
        f'unlisted_questions{{state="running"}} {running}',
    ]
    found = sorted(datasets, key=lambda one: one.name)
    parts = ("total", "used", "reserved")
    lines += ["# HELP unlisted_budget The loss of a data set (rho or mu_squared) and its delta.", _GAUGE]
    for one in found:
        for part in parts:
            loss, delta = getattr(one, part).exact
            counted = one.accounting.option
            told = f'dataset="{_label(one.name)}",part="{part}"'
            lines.append(f'unlisted_budget{{{told},amount="{counted}"}} {float(loss)!r}')
            lines.append(f'unlisted_budget{{{told},amount="delta"}} {float(delta)!r}')
    lines += ["# HELP unlisted_failures Forfeits since the last thaw, and how many may be.", _FAILURES]
    for one in found:
        told = f'dataset="{_label(one.name)}"'
        lines.append(f'unlisted_failures{{{told},part="seen"}} {one.failures.seen}')
        lines.append(f'unlisted_failures{{{told},part="allowed"}} {one.failures.allowed}')
    return "\n".join(lines) + "\n"


_GAUGE, _FAILURES = "# TYPE unlisted_budget gauge", "# TYPE unlisted_failures gauge"


def _label(name: str) -> str:
    """Write a name as Prometheus reads it."""
    return name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class Readiness:
    """Whether the service can answer: asked once a second at most, in a thread of its own, and not for long.

    Whoever has no key may ask, and must not keep the ledger busy. A check that does not come back, because a
    database hangs, is no check that went well.
    """

    def __init__(
        self, check: Callable[[], None] = lambda: None, patience: float = 5.0, remembered: float = 1.0
    ) -> None:
        self.check = check
        self._patience = patience
        self._remembered = remembered
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="unlisted-ready")
        self._asked: Future[bool] | None = None
        self._since = 0.0
        self.stopping = False

    async def is_ready(self) -> bool:
        """Return whether the last check went well; a new one is begun if that is a while ago."""
        now = time.monotonic()
        if self._asked is None or (self._asked.done() and now - self._since >= self._remembered):
            self._asked, self._since = self._thread.submit(self._checked), now
        if not self._asked.done():
            left = max(0.0, self._since + self._patience - now)
            await asyncio.wait({asyncio.wrap_future(self._asked)}, timeout=left)
        return not self.stopping and self._asked.done() and self._asked.result()

    def _checked(self) -> bool:
        try:
            self.check()
        except UnlistedError as reason:
            OWNER_LOG.error("The service is not ready: %s", reason)
            return False
        except Exception:
            OWNER_LOG.exception("The service is not ready, in a way that nobody foresaw.")
            return False
        return True


class JsonLines(logging.Formatter):
    """A record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Write what was told, and nothing that logging adds by itself."""
        told = {"time": _seconds(record.created), "level": record.levelname.lower(), "event": record.getMessage()}
        return json.dumps(told | getattr(record, "told", {}))


def log_request(came: float, method: str, route: str, status: int, caller: str | None) -> None:
    """Write the one line about a request."""
    told = {
        "time": _seconds(came),
        "method": method,
        "route": route,
        "outcome": outcome(status),
        "key": caller,
    }
    LOG.info("request", extra={"told": told})


def log_to_stderr() -> None:
    """Send the service's log, and what uvicorn warns of, as JSON lines to the standard error stream."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for log, level in ((LOG, logging.INFO), (logging.getLogger("uvicorn"), logging.WARNING)):
        log.addHandler(handler)
        log.setLevel(level)
        log.propagate = False


def _seconds(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")
