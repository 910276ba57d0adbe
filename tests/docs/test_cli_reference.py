"""The command line's help: in the docs as it is, and golden, so that a change of it is seen.

`UNLISTED_UPDATE_GOLDEN=1` writes the golden files anew.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.scripts import DOCS, ROOT, run_script

GOLDEN = ROOT / "tests" / "golden" / "help"


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    done = run_script("make_cli_reference.py", "--texts")
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


def test_the_reference_is_what_the_commands_say() -> None:
    done = run_script("make_cli_reference.py", "--check")
    assert done.returncode == 0, done.stderr


def test_every_verb_has_a_section(texts: dict[str, str]) -> None:
    lines = (DOCS / "cli.md").read_text(encoding="utf-8").splitlines()
    assert "unlisted histogram" in texts
    assert [verb for verb in texts if f"## {verb}" not in lines] == []


def test_the_texts_are_those_of_the_installed_command(texts: dict[str, str]) -> None:
    command = [str(Path(sys.executable).with_name("unlisted")), "top", "--help"]
    settings = {"TERMINAL_WIDTH": "80", "NO_COLOR": "1", "TERM": "dumb"}
    environment = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "PY_COLORS")}
    said = subprocess.run(command, capture_output=True, text=True, env=environment | settings, check=True).stdout
    assert [line.strip() for line in said.split("\n") if line.strip()] == [
        line.strip() for line in texts["unlisted top"].split("\n") if line.strip()
    ]


def test_help_texts_are_golden(texts: dict[str, str]) -> None:
    said = {f"{verb.replace(' ', '-')}.txt": text for verb, text in texts.items()}
    if os.environ.get("UNLISTED_UPDATE_GOLDEN") == "1":
        GOLDEN.mkdir(parents=True, exist_ok=True)
        for old in GOLDEN.glob("*.txt"):
            old.unlink()
        for name, text in said.items():
            (GOLDEN / name).write_text(text, encoding="utf-8")
    golden = {path.name: path.read_text(encoding="utf-8") for path in GOLDEN.glob("*.txt")}
    assert said == golden, "if the new help is right: UNLISTED_UPDATE_GOLDEN=1 pytest tests/docs"
