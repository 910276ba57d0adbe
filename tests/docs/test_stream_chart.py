"""The picture of the shop's year: there, well formed, and left alone where the table is not."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from tests.docs.scripts import DOCS, run_script

PICTURE = DOCS / "images" / "stream.svg"


def test_the_picture_shows_private_and_true_counts() -> None:
    words = {text.strip() for text in ElementTree.parse(PICTURE).getroot().itertext()}
    assert {"PARTY BUNTING", "private, with its 95 % band; dots as released", "true, without bounds"} <= words
    assert PICTURE.name in (DOCS / "streams.md").read_text(encoding="utf-8")


def test_without_the_table_nothing_is_drawn(tmp_path: Path) -> None:
    done = run_script("make_stream_chart.py", str(tmp_path / "nothing.parquet"), str(tmp_path / "stream.svg"))
    assert done.returncode == 1
    assert "nothing.parquet is not here" in done.stderr
    assert list(tmp_path.iterdir()) == []
