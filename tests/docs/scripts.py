"""The scripts of docs/, run as a person runs them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# Ibis still calls what DuckDB has deprecated; that is theirs to settle.
WARNINGS = ("-W", "error", "-W", "ignore::DeprecationWarning:ibis.backends.duckdb")
WARNINGS += ("-W", "ignore:This stream protects what a person does:UserWarning")
PAGES = sorted(path.name for path in DOCS.glob("*.md"))
BLOCK = re.compile(r"^```(?P<kind>\w+)(?P<options>[^\n]*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)


def run_script(name: str, *arguments: str, docs: Path = DOCS) -> subprocess.CompletedProcess[str]:
    """Run a script of a docs folder, with warnings as errors."""
    environment = {**os.environ, "NO_COLOR": "1"}
    return subprocess.run(
        [sys.executable, *WARNINGS, str(docs / name), *arguments],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
