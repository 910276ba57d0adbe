"""The services that the tests lean on are the real ones."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.conftest import missing

PATIENCE_SECONDS = 600
"""After which something that should happen counts as not happening. It is no claim about how fast a machine is."""


def test_postgres_answers(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT count(*) FROM pg_class WHERE relname = 'pg_class'").fetchone() == (1,)


def test_postgres_wants_the_password(postgres_url: str) -> None:
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(postgres_url.replace("pa55", "wrong"))


def test_spark_answers(spark_session: Any) -> None:
    assert spark_session.range(3).count() == 3


def test_what_is_missing_is_skipped_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UNLISTED_NO_SKIPS", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no such engine"):
        missing("no such engine")


def test_nothing_is_skipped_where_skips_are_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNLISTED_NO_SKIPS", "1")
    with pytest.raises(pytest.fail.Exception, match="no such engine"):
        missing("no such engine")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that the server's user may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_a_run_that_is_killed_leaves_no_server_behind(postgres_url: str, open_folder: Path) -> None:
    """The first server says that one can run here; this one belongs to a process that is killed."""
    script = (
        "import time\nfrom tests.services.postgres import running_server\n"
        "with running_server() as url:\n    print(url, flush=True)\n    time.sleep(3600)\n"
    )
    environment = {**os.environ, "TMPDIR": str(open_folder)}
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env=environment) as run:
        assert run.stdout is not None
        url = run.stdout.readline().decode().strip()
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        run.kill()
    ends = time.monotonic() + PATIENCE_SECONDS
    while list(open_folder.glob("unlisted-postgres-*")):
        assert time.monotonic() < ends, "the server's folder is still there"
        time.sleep(0.05)
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url)
