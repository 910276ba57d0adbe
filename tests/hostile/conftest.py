"""What the hostile tests share: a place to make tables, and an ear for what is printed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.hostile.rows import SECRET_ITEM, VILLAIN
from tests.hostile.sources import Workshop


@pytest.fixture
def workshop(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """A folder for tables, which are removed when they were asked about."""
    return Workshop(tmp_path_factory.mktemp("hostile"), request.getfixturevalue)


@pytest.fixture(autouse=True)
def _nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Engines print too, past Python: neither stream may quote the hostile row."""
    yield
    printed = "".join(capfd.readouterr())
    assert VILLAIN not in printed
    assert SECRET_ITEM not in printed
