"""The speed of the service on the loopback address: previews, repeated answers, and new releases.

usage: python -m bench.speed.server

Previews and repeated answers are compared with a bare FastAPI route that reads the same body and returns a
constant of the same length, in a server of its own, under the same load in the same run: eight clients, each with
one connection. New releases are compared with the engine itself: the plain query over the same file, on as many
connections as the service runs questions at once.
"""

from __future__ import annotations

import http.client
import itertools
import json
import multiprocessing
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import uvicorn
from bench.measure import Target, print_header, print_table, times
from fastapi import FastAPI
from fastapi.responses import Response

from unlisted.demo.searches import searches
from unlisted.ledger.ledger import Ledger
from unlisted.privacy.guarantee import Budget
from unlisted.server.api.schemas import QuestionBody
from unlisted.server.auth import KeyRing
from unlisted.server.observability import NO_TELEMETRY

CLIENTS, REQUESTS, RELEASES, AT_ONCE = 8, 100, 8, 2
ROUNDS = 5
BOUND = 3.0
BODY = json.dumps({"question": "top", "items": ["query"], "k": 10, "epsilon": 1, "delta": 1e-8}).encode()
SERVE = "import typer; from unlisted.cli.serve import serve; typer.run(serve)"
CONFIG = """
ledger = "budget.db"
listen = "127.0.0.1:0"
[limits]
requests_per_minute = 100000000
questions_at_once = 2
[datasets.searches]
source = "searches.parquet"
user = "user"
items = ["query"]
budget = { rho = 100000, delta = 0.1 }
items_per_user = 10
"""
PLAIN = "SELECT query, COUNT(DISTINCT user) AS n FROM '{}' GROUP BY query ORDER BY n DESC, query LIMIT 1001"

_names = itertools.count()


def serve_bare(door: socket.socket, length: int) -> None:
    """Serve one route that reads the body and returns a constant."""
    app = FastAPI(openapi_url=None, telemetry=NO_TELEMETRY)
    constant = json.dumps("x" * (length - 2)).encode()

    @app.post("/bare")
    async def bare(question: QuestionBody) -> Response:
        return Response(constant, media_type="application/json", headers={"Questions": question.question})

    uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False)).run(sockets=[door])


@contextmanager
def bare_server(length: int) -> Iterator[int]:
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        process = multiprocessing.get_context("spawn").Process(target=serve_bare, args=(door, length), daemon=True)
        process.start()
        port = door.getsockname()[1]
    try:
        yield port
    finally:
        process.terminate()
        process.join()


@contextmanager
def service(folder: Path) -> Iterator[tuple[int, str]]:
    """Start `unlisted serve` on the demo's table; yield its port and a key."""
    pq.write_table(searches(), folder / "searches.parquet")
    (folder / "unlisted.toml").write_text(CONFIG)
    command = [sys.executable, "-c", SERVE, "--config", str(folder / "unlisted.toml")]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, env={**os.environ, "PYTHONUNBUFFERED": "1"}
        )
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline().decode().strip().rpartition(":")[2])
        with Ledger(folder / "budget.db") as ledger:
            ledger.open("bench", dataset="searches", budget=Budget(rho=100_000, delta="0.1"))
            yield port, KeyRing(ledger).create("bench", "analyst", {"searches": "bench"})
    finally:
        process.terminate()
        process.wait()


def load(port: int, path: str, headers: Callable[[], Mapping[str, str]], requests: int) -> list[float]:
    """Let all clients ask at once, over and over; return the seconds of every request."""
    together = threading.Barrier(CLIENTS)

    def client(_: int) -> list[float]:
        line = http.client.HTTPConnection("127.0.0.1", port)
        together.wait()
        took = []
        for _ in range(requests // CLIENTS):
            started = time.perf_counter()
            line.request("POST", path, BODY, {"Content-Type": "application/json", **headers()})
            reply = line.getresponse()
            body = reply.read()
            took.append(time.perf_counter() - started)
            if reply.status != 200:
                raise SystemExit(f"{path}: {reply.status} {body.decode()}")
        line.close()
        return took

    with ThreadPoolExecutor(CLIENTS) as threads:
        return [one for each in threads.map(client, range(CLIENTS)) for one in each]


def engine_rate(path: Path) -> float:
    """Return how many plain queries a second the engine answers, on so many connections at once."""

    def ask(_: int) -> None:
        with duckdb.connect() as connection:
            connection.execute(PLAIN.format(path)).fetchall()

    started = time.perf_counter()
    with ThreadPoolExecutor(AT_ONCE) as threads:
        list(threads.map(ask, range(RELEASES)))
    return RELEASES / (time.perf_counter() - started)


def wait_for(port: int) -> None:
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.05)
        else:
            return


def p99(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=100)[98]


def main() -> None:
    print_header("How many requests a second does the service answer?", ("fastapi", "uvicorn", "duckdb"))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port, key = stack.enter_context(service(folder))
        wait_for(port)
        known = {"Authorization": f"Bearer {key}"}
        asked = {
            "previews": ("/v1/datasets/searches/preview", lambda: known),
            "repeated answers": ("/v1/datasets/searches/releases", lambda: {**known, "Idempotency-Key": "again"}),
        }
        line = http.client.HTTPConnection("127.0.0.1", port)
        lengths = []
        for path, headers in asked.values():
            line.request("POST", path, BODY, {"Content-Type": "application/json", **headers()})
            lengths.append(len(line.getresponse().read()))
        line.close()
        bare_port = stack.enter_context(bare_server(max(lengths)))
        wait_for(bare_port)

        seconds: dict[str, list[float]] = {name: [] for name in ("bare route", *asked)}
        walls: dict[str, list[float]] = {name: [] for name in seconds}
        new, engine = [], []

        def unnamed() -> Mapping[str, str]:
            return {**known, "Idempotency-Key": f"new {next(_names)}".replace(" ", "-")}

        for round_number in range(ROUNDS + 1):
            for name in seconds:
                where, path, headers = (port, *asked[name]) if name in asked else (bare_port, "/bare", dict)
                started = time.perf_counter()
                took = load(where, path, headers, REQUESTS)
                if round_number:  # the first round warms up
                    walls[name].append(time.perf_counter() - started)
                    seconds[name] += took
            started = time.perf_counter()
            load(port, "/v1/datasets/searches/releases", unnamed, RELEASES)
            new.append(RELEASES / (time.perf_counter() - started))
            engine.append(engine_rate(folder / "searches.parquet"))

    wall = {name: statistics.median(each) / REQUESTS for name, each in walls.items()}
    worst = {name: p99(each) for name, each in seconds.items()}
    rows = [
        [
            name,
            f"{1 / wall[name]:,.0f}",
            times(wall[name] / wall["bare route"]),
            f"{1000 * worst[name]:.1f} ms",
            times(worst[name] / worst["bare route"]),
        ]
        for name in seconds
    ]
    print_table((f"{CLIENTS} clients", "a second", "time : bare", "p99", "p99 : bare"), rows)
    rates = statistics.median(new), statistics.median(engine)
    print_table(
        ("releases", "a second", "engine's own queries", "rate : engine"),
        [["new questions", f"{rates[0]:.1f}", f"{rates[1]:.1f}", times(rates[0] / rates[1])]],
    )
    measured = {f"{name}, {what}": of[name] / of["bare route"] for name in asked for what, of in
                (("time a request", wall), ("p99", worst))}  # fmt: skip
    print(Target("at most 3x the bare route", BOUND, at_most=True, measured=measured).verdict())


if __name__ == "__main__":
    main()
