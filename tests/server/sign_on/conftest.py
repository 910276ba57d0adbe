"""The honest provider, once; a forging one and a service for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.sign_on.door import Door, opened
from tests.server.sign_on.providers import Forger, forging_provider, honest_provider

from unlisted.server.shared_state import lockouts


@pytest.fixture(scope="session")
def issuer() -> Iterator[str]:
    with honest_provider() as found:
        yield found


@pytest.fixture
def door(tmp_path: Path, issuer: str) -> Iterator[Door]:
    """A service whose people sign in at the honest provider, and whose API takes its ID tokens."""
    with opened(tmp_path, issuer, 'audience = "unlisted"') as one:
        yield one


@pytest.fixture(scope="module")
def one_forger() -> Iterator[Forger]:
    with forging_provider() as one:
        yield one


@pytest.fixture
def forger(one_forger: Forger) -> Forger:
    one_forger.reset()
    return one_forger


@pytest.fixture(scope="module")
def one_door(tmp_path_factory: pytest.TempPathFactory, one_forger: Forger) -> Iterator[Door]:
    with opened(tmp_path_factory.mktemp("door"), one_forger.issuer, 'audience = "unlisted"') as one:
        yield one


@pytest.fixture
def open_door(one_door: Door) -> Door:
    """A service whose people sign in at the forging one; of wrong tokens of other tests it knows nothing."""
    with one_door.ledger.store.writing() as connection:
        connection.execute(lockouts.delete())
    return one_door


@pytest.fixture
def own_door(tmp_path: Path) -> Iterator[tuple[Door, Forger]]:
    """The same for a test that breaks the provider."""
    with forging_provider() as forger, opened(tmp_path, forger.issuer, 'audience = "unlisted"') as one:
        yield one, forger
