"""What the pages show runs: every Python block, every command, and what they print where it has no noise in it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.docs.scripts import BLOCK, DOCS, PAGES, run_script


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_a_page_runs(page: str) -> None:
    done = run_script("run_pages.py", page)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        ('```python\nprint(1)\n```\n\n```text title="prints"\n2\n```\n', "but shows"),
        ("```python\n1 / 0\n```\n", "ZeroDivisionError"),
        ("```python\nname = 1\n```\n\n```python\nnames\n```\n", "NameError"),
        ("```console\n$ unlisted histogram nothing.csv\n```\n", "exit code 2"),
        ("```console\n$ echo yes\n```\n", "begins with"),
        ("```console\n$ unlisted preview top -k 1 --epsilon 1 --delta 1e-8\nPlan: none\n```\n", "but shows"),
        ("```console\n$ unlisted --version\n$ echo yes\n```\n", "begins with"),
        ("```python\nn = 98\n```\n\nAbove <!--= n -->107<!--/--> it appears.\n", "n is 98, but the page says 107"),
        ("Above <!--= n -->98<!--/-->.\n\n```python\nn = 98\n```\n", "NameError"),
        ("It is <!--= 0.5 -->0.5<!--/-->.\n", "with an f-string"),
        ("It is\n<!--= 5 -->5<!--/-->.\n", "do not start a line so"),
        ("- <!--= 5 -->5<!--/--> of them.\n", "do not start a line so"),
        ("It is <!--= [[5]][0][0] -->5<!--/-->.\n", "Markdown sees a link"),
        ("| <!--= 4 | 1 -->5<!--/--> |\n", "Markdown sees a link"),
        ("<!-- run:\n1 / 0\n-->\n", "ZeroDivisionError"),
    ],
)
def test_a_page_that_is_wrong_is_found(tmp_path: Path, page: str, complaint: str) -> None:
    shutil.copy(DOCS / "run_pages.py", tmp_path)
    (tmp_path / "page.md").write_text(page, encoding="utf-8")
    done = run_script("run_pages.py", docs=tmp_path)
    assert done.returncode == 1
    assert complaint in done.stderr


def test_numbers_are_filled_in(tmp_path: Path) -> None:
    shutil.copy(DOCS / "run_pages.py", tmp_path)
    page = tmp_path / "page.md"
    hidden = "<!-- run:\nhalf = 1 / 2\n-->\n"
    page.write_text(
        f"{hidden}\n| <!--= 5000 + 1 --><!--/--> | <!--= f'{{half:.0%}}' -->1 %<!--/--> |\n", encoding="utf-8"
    )
    assert run_script("run_pages.py", "--write", docs=tmp_path).returncode == 0
    filled = f"{hidden}\n| <!--= 5000 + 1 -->5,001<!--/--> | <!--= f'{{half:.0%}}' -->50%<!--/--> |\n"
    assert page.read_text(encoding="utf-8") == filled
    assert run_script("run_pages.py", docs=tmp_path).returncode == 0


def test_every_command_of_a_block_is_run(tmp_path: Path) -> None:
    shutil.copy(DOCS / "run_pages.py", tmp_path)
    create = "$ unlisted dataset create {} --ledger budget.db --rho 1 --delta 1e-6"
    block = "\n".join(["```console", create.format("one"), create.format("two"), "```", ""])
    (tmp_path / "page.md").write_text(
        f"{block}\n```console\n$ unlisted dataset show two --ledger budget.db\n```\n", encoding="utf-8"
    )
    done = run_script("run_pages.py", docs=tmp_path)
    assert done.returncode == 0, done.stderr


def test_what_has_no_noise_is_compared() -> None:
    exact = [
        block
        for page in PAGES
        for block in BLOCK.finditer((DOCS / page).read_text(encoding="utf-8"))
        if 'title="prints"' in block["options"]
    ]
    assert len(exact) > 10
    assert all(block["body"] for block in exact)


def test_the_survey_example_has_its_two_numbers() -> None:
    shown = (DOCS / "theory.md").read_text(encoding="utf-8")
    assert "compose, then convert: ε = 0.752\nconvert, then compose: ε = 1.073\n" in shown
