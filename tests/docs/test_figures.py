"""Numbers in the pages are those that the scripts in bench/ print now."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tests.docs.scripts import DOCS, PAGES, ROOT, run_script

FIGURE = re.compile(r"<!-- figure: (\w+\.py) \w+ -->\n(.*?)<!-- end of figure -->", re.DOTALL)


def test_every_table_is_what_its_script_prints() -> None:
    done = run_script("make_figures.py", "--check")
    assert done.returncode == 0, done.stderr


def test_a_table_that_was_edited_is_found_and_written_anew(tmp_path: Path) -> None:
    docs, bench = tmp_path / "docs", tmp_path / "bench" / "utility"
    docs.mkdir()
    bench.mkdir(parents=True)
    shutil.copy(DOCS / "make_figures.py", docs)
    shutil.copy(ROOT / "bench" / "utility" / "sharper_analysis.py", bench)
    page = docs / "known-weaknesses.md"
    text = (DOCS / page.name).read_text(encoding="utf-8")
    kept = next(found for found in FIGURE.finditer(text) if found[1] == "sharper_analysis.py")[0]
    page.write_text(kept.replace("107", "106"), encoding="utf-8")

    assert run_script("make_figures.py", "--check", docs=docs).returncode == 1
    assert run_script("make_figures.py", docs=docs).returncode == 0
    assert page.read_text(encoding="utf-8") == kept


def test_every_script_for_the_pages_is_used_by_one() -> None:
    used = {found[1] for page in PAGES for found in FIGURE.finditer((DOCS / page).read_text(encoding="utf-8"))}
    assert used == {
        "auto_rules.py",
        "interval_coverage.py",
        "items_per_user.py",
        "sharper_analysis.py",
        "users_needed.py",
    }
