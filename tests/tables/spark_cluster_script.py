"""Two workers answer a question, and one of them dies on the way. Run by `test_spark_cluster.py`.

In a process of its own: a process talks to one Spark, and the other tests have theirs.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tests.services.spark import running_session
from tests.services.spark_cluster import Cluster, running_cluster, session_settings

import unlisted as ul
from unlisted.ledger.amounts import Amount
from unlisted.ledger.state import Balance

USERS, ITEMS, COMMON = 30_000, 40_000, 20
PATIENCE = 600


def frame_of(session: Any) -> Any:
    """Everybody has one of a few common items, and rarer ones; some have more than the bound."""
    rows = session.range(0, 10 * USERS, numPartitions=8)
    item = f"IF(id < {USERS}, id % {COMMON}, {COMMON} + pmod(xxhash64(id), {ITEMS}))"
    return rows.selectExpr(f"id % {USERS} AS user", f"concat('item ', {item}) AS item")


def reading_has_begun(session: Any, _: set[int]) -> bool:
    """Whether the frame is being read: some of its tasks are done, and some are not."""
    tracker = session.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    return any(stage and 0 < stage.numCompletedTasks < stage.numTasks for stage in stages)


def pairs_are_kept(session: Any, before: set[int]) -> bool:
    """Whether the pairs of user and item have been computed and cut off from the frame."""
    return bool(kept(session) - before)


def kept(session: Any) -> set[int]:
    """What the cluster holds completely."""
    found = session.sparkContext._jsc.sc().getRDDStorageInfo()
    return {one.id() for one in found if one.numCachedPartitions() == one.numPartitions()}


def has_two_workers(session: Any) -> bool:
    """Whether two machines compute, besides this process."""
    return len(session.sparkContext._jsc.sc().statusTracker().getExecutorInfos()) == 3


def wait_until(happened: Callable[[], bool], what: str) -> None:
    began = time.monotonic()
    while not happened():
        if time.monotonic() - began > PATIENCE:
            raise SystemExit(f"this never came: {what}")
        time.sleep(0.005)


def answered(plan: ul.Plan, moment: Callable[[], bool], kill: Callable[[], None]) -> ul.Release:
    """Run a plan, and kill a worker when the moment has come."""
    releases: list[ul.Release] = []
    asked = threading.Thread(target=lambda: releases.append(plan.run()))
    asked.start()
    wait_until(lambda: moment() or not asked.is_alive(), "the moment to kill a worker")
    if not asked.is_alive():
        raise SystemExit("the answer was there before the worker died")
    kill()
    asked.join()
    if not releases:
        raise SystemExit("no answer came")
    return releases[0]


def main(folder: Path, cluster: Cluster) -> None:
    workers = [cluster.start_worker(), cluster.start_worker()]
    settings = session_settings(cluster, workers=2)
    with running_session(folder, settings) as session, ul.Ledger(folder / "budget.db") as ledger:
        account = ledger.open("ads", dataset="searches", budget=ul.Budget(rho=1, delta="1e-6"))
        plan = ul.table(frame_of(session), user="user").histogram(
            "item", budget=ul.Budget(epsilon=1, delta="1e-8"), items_per_user=5, account=account
        )
        for moment in (reading_has_begun, pairs_are_kept):
            wait_until(lambda: has_two_workers(session), "two workers")
            watched, before, victim = partial(moment, session, kept(session)), account.balance(), workers.pop(0)
            release = answered(plan, watched, partial(cluster.kill, victim))
            workers.append(cluster.start_worker())
            check(release, before, account.balance())
            kinds = " ".join(entry.kind for entry in ledger.history(account="ads")[1:])
            sys.stdout.write(f"answered {moment.__name__} {kinds}\n")


def check(release: ul.Release, before: Balance, after: Balance) -> None:
    """Whether the common items came, and were paid for once."""
    counts = {row["item"]: row["count"] for row in release.rows}
    shares = [counts[f"item {at}"] / (USERS / COMMON) for at in range(COMMON)]
    assert all(0.3 < share < 1.3 for share in shares), shares
    paid = before.left.rho - after.left.rho, before.left.delta - after.left.delta
    charge = Amount.charge(release.guarantee)
    assert paid == (charge.rho, charge.delta), paid


if __name__ == "__main__":
    with running_cluster(Path(sys.argv[1])) as running:
        main(Path(sys.argv[1]), running)
