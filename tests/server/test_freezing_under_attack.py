"""An attacker against the allowance of failures: floods over two servers, names of requests, forged thaws."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.cli.shell import unlisted
from tests.server.asgi import Inside
from tests.server.console.test_attacks import Stranger
from tests.server.running import PATIENCE_SECONDS, Running, serving
from tests.server.test_frozen import BUDGET, PLACE, Rows, histogram

import unlisted as ul
from unlisted.errors import ChargedFailureError, FrozenError
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.verify import verify
from unlisted.query.remote_table import connect
from unlisted.server.app import make_app
from unlisted.server.auth import KeyRing, key_id
from unlisted.server.config import Config, Offer

ACCOUNTS, EACH, ALL, AT_ONCE = ("ads", "ops", "risk"), 3, 5, 4
"""Three accounts that may fail three times each and five times together, on servers that answer four at once."""


@pytest.fixture
def rows(tmp_path: Path) -> Rows:
    return Rows(tmp_path / "searches.parquet")


@pytest.fixture
def offered(rows: Rows) -> Config:
    said = {"items_per_user": 1, "version": "1", "failures": ALL}
    offer = Offer("searches", str(rows.file), "user", ("query",), BUDGET, **said)
    return Config("unused", {"searches": offer}, secure_cookies=False)


@pytest.fixture
def ledger(fresh_postgres: str) -> Iterator[Ledger]:
    with Ledger(fresh_postgres) as book:
        yield book


@pytest.fixture
def service(offered: Config, ledger: Ledger) -> Inside:
    app = make_app(offered, ledger)
    ledger.open("ads", dataset="searches", budget=BUDGET, failures=EACH)
    return Inside(app, KeyRing(ledger).create("Ana", "analyst", {"searches": "ads"}))


@pytest.fixture
def two_servers(
    tmp_path: Path, rows: Rows, fresh_postgres: str
) -> Iterator[tuple[Running, Running, dict[str, str]]]:
    """Two services in processes of their own, on one ledger."""
    config = f"""ledger = {{ env = "TEST_LEDGER" }}
listen = "127.0.0.1:0"
[limits]
requests_per_minute = 100000
questions_at_once = {AT_ONCE}
questions_waiting = 200
[datasets.searches]
source = "{rows.file}"
user = "user"
items = ["query"]
items_per_user = 1
version = "1"
failures = {ALL}
budget = {{ rho = 10, delta = 1e-5 }}
"""
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    given = {"TEST_LEDGER": fresh_postgres}
    with serving(folders[0], config, given, {}) as one, serving(folders[1], config, given, {}) as two:
        with Ledger(fresh_postgres) as book:
            for name in ACCOUNTS:
                book.open(name, dataset="searches", budget=BUDGET, failures=EACH)
            ring = KeyRing(book)
            keys = {name: ring.create(name, "analyst", {"searches": name}) for name in ACCOUNTS}
        yield one, two, keys


def test_a_flood_over_two_servers_fails_no_more_often_than_it_may(
    two_servers: tuple[Running, Running, dict[str, str]], rows: Rows, fresh_postgres: str
) -> None:
    one, two, keys = two_servers
    servers = (one, two)
    known = one.ask(f"{PLACE}/releases", histogram(1), who=keys["ads"])
    assert known.status == 200
    rows.damage()
    floods = [(name, number) for number in range(12) for name in ACCOUNTS]
    together = threading.Barrier(len(floods), timeout=PATIENCE_SECONDS)

    def ask(flood: tuple[str, int]) -> int:
        name, number = flood
        together.wait()
        body, header = histogram(0.1 + number / 1000), {"Idempotency-Key": f"{name}-{number}"}
        return servers[number % 2].ask(f"{PLACE}/releases", body, who=keys[name], headers=header).status

    with ThreadPoolExecutor(len(floods)) as threads:
        told = list(threads.map(ask, floods))
    rows.mend()
    assert set(told) == {403, 500}
    with Ledger(fresh_postgres) as book:
        counts = {name: book.account(name).balance().account.failures.seen for name in ACCOUNTS}
        assert book.dataset("searches").failures.seen == sum(counts.values()) == ALL
        assert max(counts.values()) <= EACH
        forfeited = [entry for entry in book.history() if entry.kind == "forfeited"]
        # What was open when it froze is lost too, and not counted.
        assert Counter(bool(entry.body["failure"]) for entry in forfeited)[True] == ALL
        assert ALL <= told.count(500) == len(forfeited) <= ALL + 2 * AT_ONCE
        assert verify(book) == []
        _nothing_begins_while_frozen(book, servers, keys, dict(zip(floods, told, strict=True)))
        assert unlisted("dataset", "thaw", "searches", "--ledger", fresh_postgres).code == 0
        for name in ACCOUNTS:
            if counts[name] == EACH:
                assert unlisted("account", "thaw", name, "--ledger", fresh_postgres).code == 0
        for server in servers:
            assert server.ask(f"{PLACE}/releases", histogram(0.5), who=keys["ops"]).status == 200
        assert verify(book) == []


def _nothing_begins_while_frozen(
    book: Ledger, servers: tuple[Running, Running], keys: dict[str, str], told: dict[tuple[str, int], int]
) -> None:
    """Ask in all the other ways there are: they tell nothing new, and change nothing."""
    before = book.history()
    for server in servers:
        for (name, number), status in told.items():
            header = {"Idempotency-Key": f"{name}-{number}"}
            again = server.ask(f"{PLACE}/releases", histogram(0.1 + number / 1000), who=keys[name], headers=header)
            assert again.status == status, "a name is told again what it was told"
        assert server.ask(f"{PLACE}/preview", histogram(0.7), who=keys["ops"]).status == 200
        # What was answered before is free, in another format too.
        repeated = server.ask(f"{PLACE}/releases", histogram(1), who=keys["ads"], headers={"Accept": "text/csv"})
        assert (repeated.status, b"tea" in repeated.body) == (200, True)
        table = connect(server.url, key=keys["ops"]).dataset("searches")
        plan = table.histogram("query", budget=ul.Budget(epsilon=0.6, delta=1e-8), items_per_user=1)
        with pytest.raises(FrozenError, match="The data set 'searches' is frozen"):
            plan.run()
        for verb in ("thaw", "failures", "accounts/ads/thaw"):
            for who in (keys["ads"], None):
                assert server.ask(f"{PLACE}/{verb}", {"account": "ads"}, who=who).status in (401, 404, 405)
    assert book.history() == before


FORGED = ("thaw-account", "thaw-dataset", "allow-account", "allow-dataset", "open-account", "grant", "create-key")


def test_nobody_thaws_but_an_admin_with_a_form_of_their_own(service: Inside, ledger: Ledger, rows: Rows) -> None:
    admin, ana = Stranger(service.app), Stranger(service.app)
    admin.sign_in(KeyRing(ledger).create("Ada", "admin"))
    ana.sign_in(service.key)
    rows.damage()
    for number in range(EACH):
        assert service.post(f"{PLACE}/releases", histogram(0.1 + number / 100)).status_code == 500
    rows.mend()
    before = ledger.history()
    fields = {"account": "ads", "dataset": "searches", "failures": "4", "key": "Ana", "name": "x", "role": "admin"}
    fields |= {"loss": "1", "rho": "1", "delta": "1e-7"}
    nobody = Stranger(service.app)
    for verb in FORGED:
        # With one's own token, with the admin's, with none; a link that an admin follows; a form from elsewhere.
        assert ana.post(f"/admin/{verb}", {"token": ana.token, **fields}).status_code == 403
        assert ana.post(f"/admin/{verb}", {"token": admin.token, **fields}).status_code == 403
        assert nobody.post(f"/admin/{verb}", {"token": admin.token, **fields}).status_code in (303, 403)
        assert admin.get(f"/admin/{verb}?account=ads&dataset=searches").status_code in (404, 405)
        for token in ("", ana.token):
            assert admin.post(f"/admin/{verb}", {"token": token, **fields}).status_code == 403
    assert ledger.history() == before
    assert ledger.account("ads").balance().account.failures.frozen
    assert admin.post("/admin/thaw-account", {"token": admin.token, "account": "ads"}).status_code in (200, 303)
    assert not ledger.account("ads").balance().account.failures.frozen
    assert verify(ledger) == []


def test_an_account_cannot_thaw_itself_by_going_on_and_off_a_data_set(service: Inside, ledger: Ledger, rows: Rows):
    """A failure is the account's, whichever key asked: a new key, or a grant given anew, starts nothing anew."""
    rows.damage()
    for number in range(EACH):
        assert service.post(f"{PLACE}/releases", histogram(0.1 + number / 100)).status_code == 500
    rows.mend()
    ring = KeyRing(ledger)
    other = ring.create("Ana again", "analyst", {"searches": "ads"})
    ring.withdraw(key_id(service.key), "searches")
    ring.grant(key_id(service.key), "searches", "ads")
    for key in (service.key, other):
        refused = service.post(f"{PLACE}/releases", histogram(0.5), key=key)
        assert (refused.status_code, refused.json()["charged"]) == (403, False)
    # To open it again with its terms is to attach to it.
    assert ledger.open("ads", dataset="searches", budget=BUDGET).balance().account.failures.frozen


@pytest.mark.parametrize("kept", [True, False])
def test_over_http_too_a_charge_that_nobody_knows_is_unknown(service: Inside, ledger: Ledger, *, kept: bool):
    store = ledger.store._engine
    booked: list[sa.Connection] = []

    def seen(connection: sa.Connection, _cursor: object, statement: str, *_: object) -> None:
        if "INSERT INTO unlisted_entries" in statement and not booked:
            booked.append(connection)

    def cut(connection: sa.Connection) -> None:
        if booked == [connection]:
            booked.append(connection)
            driver = connection.connection.driver_connection
            if kept:
                driver.execute("COMMIT")
            driver.close()

    sa.event.listen(store, "before_cursor_execute", seen)
    sa.event.listen(store, "commit", cut)
    reply = service.post(f"{PLACE}/releases", histogram(0.5), headers={"Idempotency-Key": "monday"})
    assert (reply.status_code, reply.json()["charged"]) == (503, None)
    assert reply.json()["type"] == "urn:unlisted:problem:charge-unknown"
    assert "may or may not have been booked" in reply.json()["detail"]
    # Asked again by its name, it says what became of it.
    again = service.post(f"{PLACE}/releases", histogram(0.5), headers={"Idempotency-Key": "monday"})
    assert (again.status_code, again.json().get("charged")) == ((500, True) if kept else (200, None))
    assert verify(ledger) == []


def test_what_fails_between_the_noise_and_the_ledger_is_the_same_failure(
    tmp_path: Path, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes of a release are made of labels: what goes wrong there tells no more than any other failure."""
    whole, made = ul.Release.to_bytes, []

    def to_bytes(release: ul.Release) -> bytes:
        made.append(len(release))
        if release.spent is not None and len(release):
            raise ValueError("tea")
        return whole(release)

    monkeypatch.setattr(ul.Release, "to_bytes", to_bytes)
    with ul.Ledger(tmp_path / "own.db") as book:
        account = book.open("ads", dataset="searches", budget=BUDGET)
        table = ul.table(rows.file, user="user")
        plan = table.histogram("query", budget=ul.Budget(epsilon=1, delta=1e-8), items_per_user=1, account=account)
        with pytest.raises(ChargedFailureError) as failed:
            plan.run()
        assert max(made) == 1
        assert str(failed.value) == str(ChargedFailureError())
        assert failed.value.__cause__ is None
        assert account.balance().account.failures.seen == 1
