"""Questions that do not come to their end: too slow, left alone, killed. Each is charged, and none is refunded."""

from __future__ import annotations

import json
import signal
import socket
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.server.running import HISTOGRAM, LABELS, PATIENCE_SECONDS, TOP, Reply, Running, running, wait_until

from unlisted.ledger.ledger import Ledger
from unlisted.ledger.state import Balance
from unlisted.ledger.verify import verify

SLOW = ("slow_file", "slow_server")


@pytest.fixture(scope="module")
def hasty(sources: Path, ledger_url: str, keys: dict[str, str]):
    """A service that answers after a second and a half, whatever happens."""
    with running(sources, ledger_url, keys, {"pad_to": "1500ms", "time_limit": "1s"}) as one:
        yield one


def begun(service: Running, name: str, question: dict[str, Any]) -> tuple[Reply, float]:
    """Ask until a question has begun, and return its reply and how long it took.

    A busy machine may not even begin one within its limit; then it is refused at no charge.
    """
    while True:
        started = time.monotonic()
        reply = service.ask(f"/v1/datasets/{name}/releases", question)
        if reply.status != 503:
            return reply, time.monotonic() - started


def balance(book: Ledger, name: str) -> Balance:
    return book.account(f"ads-{name}").balance()


def send(service: Running, name: str) -> socket.socket:
    """Ask and do not wait for the answer."""
    line = socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE_SECONDS)
    body = json.dumps(TOP).encode()
    head = (
        f"POST /v1/datasets/{name}/releases HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {service.keys['analyst']}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    line.sendall(head.encode() + body)
    return line


@pytest.mark.parametrize("question", [TOP, LABELS], ids=lambda question: question["question"])
@pytest.mark.parametrize("name", SLOW)
def test_a_question_over_its_time_is_stopped_and_charged(hasty: Running, book: Ledger, name, question):
    before = balance(book, name)
    reply, _ = begun(hasty, name, question)
    assert (reply.status, reply.json()["detail"]) == (500, "could not be answered; charged; see the log")
    wait_until(lambda: balance(book, name).account.used.loss > before.account.used.loss)
    wait_until(lambda: balance(book, name).account.reserved.loss == 0)
    assert verify(book) == []


@pytest.mark.parametrize("name", SLOW)
def test_a_question_whose_caller_leaves_is_stopped_and_charged(service: Running, book: Ledger, name):
    before = balance(book, name)
    with send(service, name):
        wait_until(lambda: balance(book, name).account.reserved.loss > 0)
    # The limit of this service is an hour; the engine would take longer.
    wait_until(lambda: balance(book, name).account.reserved.loss == 0)
    assert balance(book, name).account.used.loss > before.account.used.loss


def test_every_answer_of_a_padded_service_waits_for_its_time(hasty: Running):
    """Sooner would tell something; this says nothing about later, which depends on the machine."""
    for name in ("searches", "empty", "broken"):
        _, took = begun(hasty, name, HISTOGRAM)
        assert took >= 1.5


def test_a_refusal_need_not_wait(sources: Path, ledger_url: str, keys: dict[str, str], book: Ledger):
    charged = book.history(account="others")
    with running(sources, ledger_url, keys, {"pad_to": "3600s"}) as padded:
        reply = padded.ask("/v1/datasets/empty/releases", {**TOP, "epsilon": 1000}, who="other")
        assert reply.status == 402
    assert book.history(account="others") == charged


def test_a_server_killed_in_the_middle_of_a_release_leaves_it_charged(sources, ledger_url, keys, book: Ledger):
    before = balance(book, "slow_server")
    with running(sources, ledger_url, keys) as doomed, send(doomed, "slow_server"):
        wait_until(lambda: balance(book, "slow_server").account.reserved.loss > 0)
        held = balance(book, "slow_server")
        doomed.process.send_signal(signal.SIGKILL)
        doomed.process.wait(PATIENCE_SECONDS)
        assert balance(book, "slow_server").left == held.left, "nothing comes back"
    # The next one to start finds the reservation of a process that is gone.
    with running(sources, ledger_url, keys) as next_one:
        assert next_one.ask("/ready", who=None).status == 200
        after = balance(book, "slow_server")
    assert after.account.reserved.loss == 0
    assert after.left == held.left
    lost = after.account.used.guarantee().rho - before.account.used.guarantee().rho
    assert lost == held.account.reserved.guarantee().rho > Fraction(0)
    assert verify(book) == []


def test_a_service_that_is_told_to_stop_ends_what_runs_and_charges_it(sources, ledger_url, keys, book: Ledger):
    before = balance(book, "slow_file")
    with running(sources, ledger_url, keys) as one, send(one, "slow_file") as line:
        wait_until(lambda: balance(book, "slow_file").account.reserved.loss > 0)
        line.close()
        one.process.terminate()
        one.process.wait(PATIENCE_SECONDS)
    after = balance(book, "slow_file")
    assert after.account.reserved.loss == 0
    assert after.account.used.loss > before.account.used.loss
