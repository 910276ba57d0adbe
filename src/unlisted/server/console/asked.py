"""A question that was asked: it goes on whether or not anybody waits, and a page says what becomes of it.

A note under the question's name says how far it is, so that any server can tell; where the server that ran it is
gone, the ledger does.
"""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from unlisted.errors import AccessError, BudgetRefusedError, ChargedFailureError, UncertainError, UnlistedError
from unlisted.query.plan import Plan
from unlisted.server.console.question_form import Draft
from unlisted.server.console.visits import Signed, SignedIn
from unlisted.tables.failures import OWNER_LOG

router = APIRouter()

QUICK_SECONDS = 1.5
"""For so long a browser waits for the answer itself; then it gets a page that waits."""

_LOST = "What became of this question is not known here. If it was asked, the history says so."


async def begin(visit: SignedIn, name: str, draft: Draft, plan: Plan, request: str) -> None:
    """Ask, once, and wait a moment: most questions are answered by then."""
    running = visit.console.running
    key = (visit.caller.key, request)
    if key not in running:
        fields = draft.hidden()
        note = {"dataset": name, "draft": fields, "state": "asked"}
        await run_in_threadpool(visit.console.notes.keep, visit.caller.key, note, request)
        running[key] = asyncio.ensure_future(_run(visit, note, plan, request))
        running[key].add_done_callback(lambda _: running.pop(key, None))
    await asyncio.wait({running[key]}, timeout=QUICK_SECONDS)


async def _nobody_leaves() -> None:
    """Wait for ever: whoever asked in a browser may close it, and look for the answer later."""
    await asyncio.Event().wait()


async def _run(visit: SignedIn, note: dict[str, Any], plan: Plan, request: str) -> None:
    try:
        release = await visit.console.executor.answer(plan, request, _nobody_leaves)
        ended = {"state": "answered", "entry": release.stamp["entry"] if release.stamp else None}
    except ChargedFailureError as failed:
        ended = {"state": "failed", "text": str(failed)}
    except UncertainError as unknown:
        ended = {"state": "unknown", "text": str(unknown)}
    except UnlistedError as refused:
        is_budget = isinstance(refused, BudgetRefusedError)
        ended = {"state": "refused", "text": str(refused), "budget": is_budget}
    except Exception:
        OWNER_LOG.exception("A question of the console failed in a way that nobody foresaw.")
        ended = {"state": "unknown", "text": _LOST}
    await run_in_threadpool(visit.console.notes.keep, visit.caller.key, {**note, **ended}, request)


@router.get("/datasets/{name}/asked/{request}")
def show(visit: Signed, name: str, request: str) -> Response:
    """Say what became of a question, or that it is still being answered."""
    visit.service.require_seen(visit.caller, name)
    note = visit.console.notes.read(visit.caller.key, request)
    if note is None or note["dataset"] != name:
        raise AccessError(404, _LOST)
    state, entry = note["state"], note.get("entry")
    if state == "asked" and (visit.caller.key, request) not in visit.console.running:
        # Another server asks, or one that is gone did: the ledger knows what was reserved.
        state, entry = visit.service.question_state(visit.caller, name, request) or (state, entry)
    if state in ("answered", "settled") and entry is not None:
        return visit.go("datasets", name, "answers", entry)
    if state == "refused":
        return visit.go("datasets", name, "ask", draft=request)
    given = {"current": "Data sets", "dataset": name, "state": state, "request": request}
    given["text"] = note.get("text", "")
    return visit.page("asked.html", given)
