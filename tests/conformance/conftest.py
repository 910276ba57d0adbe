"""Every conformance test runs once for each mechanism of the registry."""

from __future__ import annotations

import pytest
from tests.conformance.registry import SUBJECTS, Subject


@pytest.fixture(params=SUBJECTS, ids=lambda subject: subject.name)
def subject(request: pytest.FixtureRequest) -> Subject:
    return request.param
