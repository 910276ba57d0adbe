"""What Spark itself measured of its work: how long tasks ran, and how much they read and sent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def stages(session: Any) -> list[Any]:
    """Everything that ran so far, with its measures."""
    spark = session.sparkContext
    context = spark._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    with_details, with_summaries, quantiles = False, False, spark._gateway.new_array(spark._jvm.double, 0)
    found = context.statusStore().stageList(None, with_details, with_summaries, quantiles, None)
    return [found.apply(at) for at in range(found.size())]


def next_stage(session: Any) -> int:
    """The number of the stage that will run next."""
    return max((stage.stageId() for stage in stages(session)), default=-1) + 1


def collected(session: Any, since: int) -> int:
    """How many bytes tasks sent to the driver as their results, since some stage."""
    return sum(stage.resultSize() for stage in stages(session) if stage.stageId() >= since)


def longest_task(session: Any, since: int) -> int:
    """How many rows the busiest task got from other tasks, since some stage."""
    store = session.sparkContext._jsc.sc().statusStore()
    longest = 0
    for stage in stages(session):
        if stage.stageId() >= since:
            tasks = store.taskList(stage.stageId(), stage.attemptId(), 10_000)
            metrics = (tasks.apply(at).taskMetrics() for at in range(tasks.size()))
            read = [one.get().shuffleReadMetrics().recordsRead() for one in metrics if one.isDefined()]
            longest = max([longest, *read])
    return longest


@contextmanager
def capped(session: Any, most: int) -> Iterator[None]:
    """Let the driver take no more than so many bytes from one query, for a while."""
    # The scheduler reads the setting anew for every set of tasks.
    conf = session.sparkContext._jsc.sc().conf()
    conf.set("spark.driver.maxResultSize", str(most))
    try:
        yield
    finally:
        conf.remove("spark.driver.maxResultSize")


@contextmanager
def as_at_size(session: Any, partitions: int) -> Iterator[None]:
    """Let the session do with small rows what it would do with many: so many pieces, and no copies unless told."""
    settings = {"spark.sql.shuffle.partitions": partitions, "spark.sql.autoBroadcastJoinThreshold": -1}
    before = {name: session.conf.get(name) for name in settings}
    for name, value in settings.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            session.conf.set(name, value)
