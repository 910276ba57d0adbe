"""The speed of the ledger: reserve and settle, against two bare commits of the same store; and of a balance.

usage: python -m bench.speed.ledger [--skip-postgres]

A pair is one paid question whose answer is there at once: the ceiling reserved in one transaction, the release and
what it cost stored in another. The limit is a loop that inserts one row in each of two transactions, through the
same engine, the same pool and the same commits that reach the disk. Sixteen clients are threads of one process, as
in a service. A data set is one chain of entries, which bare inserts are not: clients on one data set would wait
for each other's commits if they did not book together. Clients on a data set each show what it costs without one.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path

import sqlalchemy as sa
from bench.measure import Side, Target, interleaved, print_header, print_table, timed, times
from tests.services import postgres

from unlisted.ledger.account import Account
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.schema import entries
from unlisted.privacy.guarantee import Budget, Guarantee
from unlisted.query.charging import Charge

CLIENTS = 16
PAIRS = 160
ROUNDS = 7
BALANCES = 50
FEW, MANY = 10, 1_000_000
BOUND, BALANCE_BOUND = 3.0, 2.0

TOTAL = Budget(rho=1_000_000, delta="0.4")
CEILING, USED = Guarantee(Fraction(1, 100), Fraction(1, 10**12)), Guarantee(Fraction(1, 200), Fraction(1, 10**12))
RELEASE = bytes(2_000)
ONE, OWN = "one data set", "a data set each"

bare = sa.Table("bare", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("text", sa.Text))
_names = itertools.count()


def insert_twice(ledger: Ledger) -> None:
    """Do the least that two durable steps take."""
    for _ in range(2):
        with ledger.store.writing() as connection:
            connection.execute(bare.insert(), {"text": "x" * 400})


def pay(account: Account) -> None:
    """Reserve, deliver at once, settle: a new question each time."""
    question = f"question {next(_names)}"
    source = f"{account.dataset}.parquet"
    account.pay(Charge(CEILING, question, "user", "add_remove", source), lambda: (RELEASE, USED))


def by_clients(work: list[Callable[[], object]]) -> Callable[[], None]:
    """Let all clients do their work over and over, at once, until it was done as often as was asked for."""

    def client(one: Callable[[], object]) -> None:
        for _ in range(PAIRS // len(work)):
            one()

    def together() -> None:
        with ThreadPoolExecutor(len(work)) as threads:
            list(threads.map(client, work))

    return together


def sides_of(store: str, ledger: Ledger) -> Iterator[Side]:
    """Yield one side for each number of clients and way to share data sets, and the bare loops."""
    with ledger.store.writing() as connection:
        bare.create(connection)
    together = [ledger.open(f"one {n}", dataset="shared", budget=TOTAL) for n in range(CLIENTS)]
    apart = [ledger.open(f"own {n}", dataset=f"own {n}", budget=TOTAL) for n in range(CLIENTS)]
    for clients in (1, CLIENTS):
        loops = [lambda: insert_twice(ledger)] * clients
        yield timed(f"{store}, {clients}, bare", by_clients(loops))
        yield timed(f"{store}, {clients}, {ONE}", by_clients([_paying(one) for one in together[:clients]]))
    yield timed(f"{store}, {CLIENTS}, {OWN}", by_clients([_paying(one) for one in apart]))


def _paying(account: Account) -> Callable[[], None]:
    return lambda: pay(account)


def balances_of(store: str, ledger: Ledger) -> Iterator[Side]:
    """Yield the reading of a balance beside few entries and beside many."""
    for size in (FEW, MANY):
        account = ledger.open(f"with {size:,}", dataset=f"of {size:,}", budget=TOTAL)
        _fill(ledger, account, size)
        yield timed(f"{store}, balance, {size}", _reading(account))


def _reading(account: Account) -> Callable[[], None]:
    def read() -> None:
        for _ in range(BALANCES):
            account.balance()

    return read


def _fill(ledger: Ledger, account: Account, size: int) -> None:
    """Put entries into the store in bulk: a balance does not care how they came there."""
    with ledger.store.writing() as connection:
        for start in range(3, size + 3, 10_000):
            rows = [
                {
                    "dataset": account.dataset,
                    "number": number,
                    "kind": "settled" if number % 2 else "reserved",
                    "time": "2026-01-01T00:00:00.000000+00:00",
                    "account": account.name,
                    "reservation": number - 1,
                    "rho": "0.01",
                    "delta": "0",
                    "body": "{}",
                    "previous": "0" * 64,
                    "hash": "0" * 64,
                }
                for number in range(start, min(start + 10_000, size + 3))
            ]
            connection.execute(entries.insert(), rows)


def rows_of(seconds: dict[str, float], stores: list[str]) -> tuple[list[list[str]], dict[str, float]]:
    """Say pairs a second and the ratios to the bare loop of as many clients."""
    rows, ratios = [], {}
    for store, (clients, sharing) in itertools.product(stores, ((1, ONE), (CLIENTS, ONE), (CLIENTS, OWN))):
        took, limit = seconds[f"{store}, {clients}, {sharing}"], seconds[f"{store}, {clients}, bare"]
        name = f"{store}, {clients} client{'s' if clients > 1 else ''}, {sharing}"
        ratios[name] = took / limit
        rows.append([name, f"{PAIRS / took:,.0f}", f"{PAIRS / limit:,.0f}", times(ratios[name])])
    return rows, ratios


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--skip-postgres", action="store_true")
    skipped = options.parse_args().skip_postgres
    print_header("How many questions a second can a ledger book?", ("sqlalchemy", "psycopg"))
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        ledgers = {"SQLite": stack.enter_context(Ledger(Path(folder) / "budget.db"))}
        if skipped or (reason := postgres.why_not()) is not None:
            print(f"PostgreSQL is left out: {'as asked' if skipped else reason}\n")
        else:
            url = stack.enter_context(postgres.running_server(durable=True))
            ledgers["PostgreSQL"] = stack.enter_context(Ledger(url))
        sides = [side for store, ledger in ledgers.items() for side in sides_of(store, ledger)]
        for side in sides:
            side()  # connections are made and statements compiled once, by whoever comes first
        seconds = interleaved(sides, ROUNDS)
        reading = [side for store, ledger in ledgers.items() for side in balances_of(store, ledger)]
        seconds |= interleaved(reading, ROUNDS)

    rows, ratios = rows_of(seconds, list(ledgers))
    print_table(("pairs a second", "ledger", "bare", "time : bare"), rows)
    balances = {
        store: seconds[f"{store}, balance, {MANY}"] / seconds[f"{store}, balance, {FEW}"] for store in ledgers
    }
    read = [
        [
            store,
            *(f"{1000 * seconds[f'{store}, balance, {size}'] / BALANCES:.2f} ms" for size in (FEW, MANY)),
            times(ratio),
        ]
        for store, ratio in balances.items()
    ]
    print_table(("balance", f"of {FEW} entries", f"of {MANY:,}", "ratio"), read)
    print(Target("at most 3x the bare loop", BOUND, at_most=True, measured=ratios).verdict())
    claim = "a balance of a million entries within 2x of one of ten"
    print(Target(claim, BALANCE_BOUND, at_most=True, measured=balances).verdict())


if __name__ == "__main__":
    main()
