"""What every test of the command line may use."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.shell import csv_file


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """The kitchen's table as a CSV file, alone in its folder."""
    return csv_file(tmp_path)


@pytest.fixture(autouse=True)
def _signals_of_its_own() -> Iterator[None]:
    """Undo what a service did to signals that was started inside this process, so that it ends with its test."""
    before = {ending: signal.getsignal(ending) for ending in (signal.SIGINT, signal.SIGTERM)}
    yield
    for ending, handler in before.items():
        signal.signal(ending, handler)
