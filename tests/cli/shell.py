"""A shell for the tests: the command line run inside the test's own process, or as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pyarrow.csv
from tests.fixtures.kitchen import cooked
from typer.testing import CliRunner

from unlisted.cli.main import application


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    data: bytes
    said: str

    @property
    def text(self) -> str:
        return self.data.decode()


APP = application()


def unlisted(*words: object, **variables: str) -> Done:
    """Run a command inside this process."""
    done = CliRunner(env=variables).invoke(APP, [str(word) for word in words], prog_name="unlisted")
    return Done(done.exit_code, done.stdout_bytes, done.stderr)


def process(*words: object, **variables: str) -> subprocess.Popen[bytes]:
    """Start a command as a process of its own, as a shell does."""
    command = [sys.executable, "-m", "unlisted", *(str(word) for word in words)]
    kept = {name: value for name, value in os.environ.items() if name not in ("UNLISTED_LOG", "FORCE_COLOR")}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=kept | variables)


def finished(*words: object, **variables: str) -> Done:
    """Run a command as a process of its own to its end."""
    running = process(*words, **variables)
    data, said = running.communicate()
    return Done(running.returncode, data, said.decode())


def csv_file(folder: Path) -> Path:
    """Write the kitchen's table as a CSV file."""
    path = folder / "cooked.csv"
    pyarrow.csv.write_csv(cooked(), path)
    return path
