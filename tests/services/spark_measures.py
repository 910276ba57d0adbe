"""What Spark itself measured of its work: how long tasks ran, and how much they read and sent."""

from __future__ import annotations

from typing import Any


def stages(session: Any) -> list[Any]:
    """Everything that ran so far, with its measures."""
    spark = session.sparkContext
    context = spark._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    with_details, with_summaries, quantiles = False, False, spark._gateway.new_array(spark._jvm.double, 0)
    found = context.statusStore().stageList(None, with_details, with_summaries, quantiles, None)
    return [found.apply(at) for at in range(found.size())]
