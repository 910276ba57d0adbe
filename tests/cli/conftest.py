"""What every test of the command line may use."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.shell import csv_file


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """The kitchen's table as a CSV file, alone in its folder."""
    return csv_file(tmp_path)
