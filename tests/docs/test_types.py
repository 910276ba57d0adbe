"""Type checkers accept what the pages show, so that a reader's editor underlines nothing."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.docs.scripts import BLOCK, DOCS, ROOT

PAGES = [*sorted(DOCS.glob("*.md")), ROOT / "README.md", ROOT / "ARCHITECTURE.md"]
WITHOUT_STUBS = "pyarrow.*,duckdb.*,pyspark.*,ibis.*,polars.*,altair.*,vl_convert.*,pandas.*"
AS_A_READER = """
[mypy-pages.*]
disallow_untyped_defs = False
disallow_untyped_calls = False
disallow_any_generics = False
check_untyped_defs = True
allow_redefinition = True
"""
"""Pages need not annotate their functions, and may use a name again, as one does in a notebook."""


HIDDEN = re.compile(r"^<!-- run:\n(?P<body>.*?)^-->$", re.DOTALL | re.MULTILINE)


def programs(folder: Path) -> list[Path]:
    """Write the Python of each page as one program, in the lines where it stands on the page."""
    folder.mkdir()
    (folder / "__init__.py").touch()
    written = []
    for page in PAGES:
        text = page.read_text("utf-8")
        lines = [""] * (text.count("\n") + 1)
        shown = [one for one in BLOCK.finditer(text) if one["kind"] == "python" and not one["options"].strip()]
        for block in (*shown, *HIDDEN.finditer(text)):
            first = text.count("\n", 0, block.start("body"))
            lines[first : first + block["body"].count("\n")] = block["body"].splitlines()
        if any(lines):
            written.append(folder / f"{re.sub(r'[^a-z]', '_', page.stem.lower())}.py")
            written[-1].write_text("\n".join(lines) + "\n", encoding="utf-8")
    return written


def unseen(page: str) -> set[str]:
    """Return the lines of a program that no reader sees: they name things for the prose."""
    (path,) = (one for one in PAGES if f"{re.sub(r'[^a-z]', '_', one.stem.lower())}.py" == page)
    text = path.read_text("utf-8")
    return {
        f"{page}:{text.count(chr(10), 0, block.start('body')) + 1 + at}"
        for block in HIDDEN.finditer(text)
        for at in range(block["body"].count("\n"))
    }


def complaints(files: list[Path], folder: Path) -> list[str]:
    """Return what mypy says of some files, under the settings of the project."""
    strict = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mypy"]
    own = "\n".join(f"{name} = {value}" for name, value in strict.items() if name not in ("packages", "overrides"))
    settings = folder / "mypy.ini"
    settings.write_text(f"[mypy]\n{own}\n[mypy-{WITHOUT_STUBS}]\nignore_missing_imports = True\n{AS_A_READER}")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", str(settings), "--no-error-summary", *map(str, files)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return [line.rpartition("/")[2] for line in done.stdout.splitlines() if ": error: " in line]


def test_what_the_pages_show_has_the_right_types(tmp_path: Path) -> None:
    files = programs(tmp_path / "pages")
    assert len(files) > 10
    wrong = tmp_path / "pages" / "wrong.py"
    wrong.write_text(
        "import unlisted as ul\n\nul.DiscreteLaplace(scale=1)\nul.Budget(epsilon=1, delta=1e-8).run()\n"
    )
    found = complaints([*files, wrong], tmp_path)
    hidden = {line for file in files for line in unseen(file.name)}
    seen = [line for line in found if line.partition(": ")[0] not in hidden]
    assert [line for line in seen if not line.startswith("wrong.py")] == []
    assert [line.partition(": ")[0] for line in seen] == ["wrong.py:4"], "the check itself finds mistakes"
