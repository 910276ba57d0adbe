"""What every test may use: the real services, started once, and one way to say that one cannot be had."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NoReturn

import pytest
from hypothesis import HealthCheck, settings
from tests.services import postgres, spark

__all__ = ["missing"]

# A property is about what happens, never about how long it takes. Mutants are all tried on the same examples.
settings.register_profile(
    "unlisted",
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=os.environ.get("UNLISTED_SAME_EXAMPLES") == "1",
)
settings.load_profile("unlisted")


def missing(reason: str) -> NoReturn:
    """Skip the test by name because something it needs is not here; fail it where nothing may be skipped.

    `UNLISTED_NO_SKIPS=1` is for the place where everything is installed: there a skip is a test that silently
    stopped running.
    """
    if os.environ.get("UNLISTED_NO_SKIPS") == "1":
        pytest.fail(f"missing, and UNLISTED_NO_SKIPS=1 forbids to skip: {reason}", pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The URL, with a password, of a PostgreSQL server that runs as long as the tests."""
    if (reason := postgres.why_not()) is not None:
        missing(reason)
    with postgres.running_server() as url:
        yield url


@pytest.fixture(scope="session")
def spark_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A Spark session that runs as long as the tests; starting one takes several seconds."""
    if (reason := spark.why_not()) is not None:
        missing(reason)
    with spark.running_session(tmp_path_factory.mktemp("spark")) as session:
        yield session
