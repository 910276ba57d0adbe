"""Running one answer in a process of its own, and keeping what was measured until the page is written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.scale.rows import Rows

from unlisted.tables.engines.duckdb.databases import MEMORY_LIMIT

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "docs" / "data" / "scaling.json"


@dataclass(frozen=True)
class Measured:
    """What one answer took: seconds on the wall and of the processors, and memory in bytes."""

    seconds: float
    processor_seconds: float
    peak_bytes: int
    outside_bytes: int
    released: int


def answered(source: Path | str, how: dict[str, Any], memory: str | None = None) -> Measured:
    """Ask one question of a file or a server, with so much memory for the embedded engine."""
    command = [sys.executable, "-m", "bench.scale.one_answer", str(source), json.dumps(how)]
    environment = {**os.environ, **({MEMORY_LIMIT: memory} if memory else {})}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)
    if done.returncode:
        raise SystemExit(done.stderr)
    return Measured(**json.loads(done.stdout))


def keep(part: str, said: list[dict[str, Any]]) -> None:
    """Replace one part of what was measured before."""
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    KEPT.write_text(json.dumps(kept() | {part: said}, indent=1) + "\n", encoding="utf-8")


def keep_sizes(part: str, said: list[dict[str, Any]]) -> None:
    """Replace, in one part of what was measured before, the same sizes; other sizes stay."""
    renewed = {(one["rows"], one["items"]) for one in said}
    keep(part, [one for one in kept().get(part, []) if (one["rows"], one["items"]) not in renewed] + said)


def kept() -> dict[str, list[dict[str, Any]]]:
    """Return what was measured so far, by part."""
    found: dict[str, list[dict[str, Any]]] = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    return found


def told(rows: Rows, measured: Measured, **more: Any) -> dict[str, Any]:
    """Say a measurement as plain values."""
    return {**asdict(rows), **asdict(measured), **more}
