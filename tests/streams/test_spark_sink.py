"""A real Spark stream from files into a sink: stopped in the middle, begun again from its checkpoint, the same."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.streams.brooks import brook, shown

from unlisted.errors import InvalidArgumentError
from unlisted.streams.stream import Stream

BATCHES = 4
SCHEMA = "user INT, item STRING"


def write_batches(folder: Path) -> None:
    """One file a batch, of which Spark takes one at a time, the oldest first."""
    folder.mkdir()
    for number in range(BATCHES):
        rows = [{"user": user, "item": f"item {(user + number) % 3}"} for user in range(number, 30)]
        # More items than a user may have: the choice among them must be the same when a batch is done again.
        rows += [{"user": user, "item": f"rare {item}"} for user in range(30, 40) for item in range(6)]
        file = folder / f"{number}.json"
        file.write_text("\n".join(map(json.dumps, rows)))
        os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))


def run(session: Any, files: Path, checkpoint: Path, sink: Callable[[Any, int], None]) -> None:
    """Stream all files that are there into a sink, one batch for each, and stop."""
    source = session.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(files))
    writer = source.writeStream.foreachBatch(sink).option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    try:
        query.awaitTermination()
    finally:
        query.stop()


def failing(sink: Callable[[Any, int], None], at: int, *, before: bool) -> Callable[[Any, int], None]:
    """A sink that dies at a batch, before or after the stream has taken it in: Spark does it again either way."""

    def take_in(batch: Any, number: int) -> None:
        if number == at and before:
            raise RuntimeError("died before the batch")
        sink(batch, number)
        if number == at:
            raise RuntimeError("died after the batch")

    return take_in


@pytest.mark.parametrize("unit", ["event", "user"])
def test_a_stream_that_is_stopped_and_begun_again_releases_the_same(
    spark_session: Any, tmp_path: Path, unit: str
) -> None:
    write_batches(tmp_path / "files")
    brook(tmp_path / "whole", unit=unit, rounds_per_user=3 if unit == "user" else None)
    shutil.copytree(tmp_path / "whole", tmp_path / "broken")
    whole, broken = Stream.open(tmp_path / "whole"), Stream.open(tmp_path / "broken")
    run(spark_session, tmp_path / "files", tmp_path / "checkpoint of whole", whole.sink())
    checkpoint = tmp_path / "checkpoint of broken"
    for at, before in ((0, True), (2, False)):
        with pytest.raises(Exception, match="died"):
            run(spark_session, tmp_path / "files", checkpoint, failing(broken.sink(), at, before=before))
        assert broken.round == (at if before else at + 1)
    run(spark_session, tmp_path / "files", checkpoint, Stream.open(tmp_path / "broken").sink())
    assert whole.round == broken.round == BATCHES
    for (_, one), (_, other) in zip(whole.releases(), broken.releases(), strict=True):
        assert one.table.equals(other.table)
    assert len(shown(whole.release(BATCHES))) >= 3


def test_batches_can_follow_rounds_that_came_another_way(tmp_path: Path) -> None:
    stream = brook(tmp_path / "s")
    for _ in range(2):
        stream.push({"a": 90})
    sink = stream.sink(after=2)
    sink({"a": 90}, 0)
    sink({"a": 90}, 1)
    sink({"a": 90}, 1)
    assert stream.round == 4
    with pytest.raises(InvalidArgumentError, match="at most 5, the next round"):
        sink({"a": 90}, 5)
    with pytest.raises(InvalidArgumentError, match="after = -1"):
        stream.sink(after=-1)
