"""The wide run: thousands of cases, each one hostile row, on every source there is.

`UNLISTED_HOSTILE_EXAMPLES` is how many cases of each source are drawn, of Spark a tenth; 700 are about an hour on
one quiet core.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from tests.hostile.cases import Case, cases, hunted, in_turn
from tests.hostile.object_cells import OBJECTS
from tests.hostile.server_sources import DATABASES, POSTGRES, SPARK
from tests.hostile.sources import FRAMES_AND_FILES, Workshop
from tests.hostile.text_sources import TEXT_FILES

EXAMPLES = int(os.environ.get("UNLISTED_HOSTILE_EXAMPLES", "200"))
SOURCES = {**FRAMES_AND_FILES, **DATABASES, **OBJECTS, **TEXT_FILES, **POSTGRES, **SPARK}


@pytest.mark.long
@pytest.mark.parametrize("source", SOURCES)
def test_every_kind_in_every_role(source: str, workshop: Workshop) -> None:
    found = [what for case in in_turn(SOURCES[source]) for what in hunted(case, SOURCES, workshop)]
    assert found == [], "\n".join(found)


@pytest.mark.long
@pytest.mark.parametrize("source", SOURCES)
def test_anything_at_all(source: str, workshop: Workshop) -> None:
    only = {source: SOURCES[source]}

    examples = EXAMPLES // 10 if source.startswith("spark") else EXAMPLES

    @settings(max_examples=examples, phases=(Phase.generate,), suppress_health_check=list(HealthCheck))
    @given(case=cases(only))
    def drawn(case: Case) -> None:
        assert hunted(case, SOURCES, workshop) == []

    drawn()
