"""A cluster that loses a machine while it counts: the answer comes all the same, and is paid for once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import missing
from tests.services import spark


@pytest.mark.long
def test_one_of_two_workers_may_die_on_the_way_to_an_answer(tmp_path: Path) -> None:
    if (reason := spark.why_not()) is not None:
        missing(reason)
    root = Path(__file__).parents[4]
    command = [sys.executable, "-m", "tests.tables.engines.spark.cluster_script", str(tmp_path)]
    ran = subprocess.run(command, check=False, capture_output=True, text=True, cwd=root)
    once = "reserved settled"
    assert ran.stdout.splitlines() == [
        f"answered reading_has_begun {once}",
        f"answered pairs_are_kept {once} {once}",
    ], ran.stderr[-2000:]
