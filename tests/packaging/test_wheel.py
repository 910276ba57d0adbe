"""The wheel as somebody gets it: built here, installed into an empty environment, used in an empty folder.

What the tests themselves need is not in that environment, so that a base installation that leans on it fails here.
"""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.architecture.source import PACKAGE, REPOSITORY
from tests.architecture.test_front_door import ONLY_WHEN_USED
from tests.conftest import missing

import unlisted

PROJECT: dict[str, Any] = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))
NOT_THERE = (
    "altair",
    "fastapi",
    "hypothesis",
    "mpmath",
    "pandas",
    "pip",
    "polars",
    "pytest",
    "scipy",
    "sqlalchemy",
)
"""What extras and the tests need; a base installation has none of it."""

CITIES = ("Aarhus", "Lyon", "Porto")
PEOPLE = 2_000
ALONE = "only one person"


def clean() -> dict[str, str]:
    """The variables of this process without those that would lend a new environment our own packages."""
    return {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME"}}


def pip(*words: object, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run pip without asking anybody anything."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=clean() | variables)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout. Only the build backend is fetched; a build that fails is a failure."""
    if importlib.util.find_spec("pip") is None:
        missing("pip is not installed, and it builds the wheel")
    folder = tmp_path_factory.mktemp("wheel")
    backend = folder / "backend"
    fetched = pip("install", "--no-compile", "--target", backend, *PROJECT["build-system"]["requires"])
    if fetched.returncode:
        missing(f"the index of packages cannot be reached: {fetched.stderr.strip().splitlines()[-1]}")
    options = ("--no-deps", "--no-build-isolation", "--wheel-dir", folder)
    built = pip("wheel", *options, REPOSITORY, PYTHONPATH=str(backend))
    assert built.returncode == 0, built.stderr
    (made,) = folder.glob("*.whl")
    return made


@dataclass(frozen=True)
class Environment:
    """An environment with the wheel and what it needs, and an empty folder to work in."""

    programs: Path
    folder: Path

    def run(self, program: str, *words: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.programs / program), *map(str, words)],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
            env=clean(),
        )

    def says(self, program: str, *words: object) -> str:
        done = self.run(program, *words)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def empty(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """A new environment with nothing but the wheel and its base dependencies, as constraints.txt pins them.

    The index was reached a moment ago, for the build backend: what cannot be installed now is our fault.
    """
    root = tmp_path_factory.mktemp("empty")
    venv.create(root / "venv", with_pip=False, symlinks=os.name != "nt")
    programs = root / "venv" / ("Scripts" if os.name == "nt" else "bin")
    constraints = REPOSITORY / "constraints.txt"
    done = pip("--python", programs / "python", "install", "--no-compile", "--constraint", constraints, wheel)
    assert done.returncode == 0, done.stderr
    (root / "work").mkdir()
    return Environment(programs, root / "work")


@pytest.fixture(scope="module")
def visits(empty: Environment) -> str:
    """A small CSV file: cities with many people each, and a value that one person alone has."""
    rows = [f"{city} {n},{city}" for city in CITIES for n in range(PEOPLE)]
    (empty.folder / "visits.csv").write_text("\n".join(["user,city", *rows, f"somebody,{ALONE}"]) + "\n", "utf-8")
    return "visits.csv"


# What is in it.


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name: archive.read(name) for name in archive.namelist() if ".dist-info/" not in name}
    source = PACKAGE.parent
    files = (path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    assert held == {path.relative_to(source).as_posix(): path.read_bytes() for path in files}


@pytest.mark.parametrize(
    "pattern",
    [
        r"py\.typed",
        r"server/console/templates/\w+\.html",
        *(rf"server/console/static/\w+\.{suffix}" for suffix in ("css", "js", "svg")),
        r"privacy/lemma\.md",
    ],
)
def test_what_is_no_python_is_in_the_wheel(pattern: str, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        assert any(re.fullmatch(f"unlisted/{pattern}", name) for name in archive.namelist())


def test_no_tests_pages_or_benchmarks_are_in_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        roots = {name.split("/")[0] for name in archive.namelist()}
    assert roots == {"unlisted", f"unlisted-{unlisted.__version__}.dist-info"}


# What it says of itself.


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Any:
    """What the wheel says of itself, as an index would read it."""
    inside = zipfile.Path(wheel, f"unlisted-{unlisted.__version__}.dist-info/")
    return importlib.metadata.PathDistribution(inside).metadata  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def citation() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text("utf-8"))
    return loaded


def test_the_metadata_name_version_authors_and_licence(metadata: Any, wheel: Path) -> None:
    assert (metadata["Name"], metadata["Version"]) == ("unlisted", unlisted.__version__)
    assert metadata["Author"] == ", ".join(author["name"] for author in PROJECT["project"]["authors"]) != ""
    assert metadata["License-Expression"] == "Apache-2.0"
    with zipfile.ZipFile(wheel) as archive:
        (licence,) = (name for name in archive.namelist() if name.endswith("/LICENSE"))
        assert archive.read(licence) == (REPOSITORY / "LICENSE").read_bytes()
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload().strip() == (REPOSITORY / "README.md").read_text("utf-8").strip()


def test_the_classifiers_agree_with_what_is_there(metadata: Any) -> None:
    """That each exists, the build itself checks."""
    classifiers = metadata.get_all("Classifier")
    lowest = metadata["Requires-Python"].removeprefix(">=")
    assert f"Programming Language :: Python :: {lowest}" in classifiers
    assert "Typing :: Typed" in classifiers
    assert not any("Windows" in one for one in classifiers), "README says that nobody has tested it there"
    assert not any(one.startswith("License ::") for one in classifiers), "the licence is an expression"


def test_every_address_is_declared_once_and_cited(metadata: Any, citation: dict[str, Any]) -> None:
    """There is no public address yet, and none is made up; the day there is one, all three name it."""
    declared = PROJECT["project"].get("urls", {})
    assert [line.split(", ")[1] for line in metadata.get_all("Project-URL") or []] == list(declared.values())
    assert citation.get("repository-code") == declared.get("Source")


def test_the_base_needs_what_is_declared_and_no_extra(metadata: Any) -> None:
    def name(requirement: str) -> str:
        return re.split(r"[^\w.-]", requirement)[0]

    base = [one for one in metadata.get_all("Requires-Dist") if "extra ==" not in one]
    assert sorted(map(name, base)) == sorted(map(name, PROJECT["project"]["dependencies"]))
    assert set(metadata.get_all("Provides-Extra")) == PROJECT["project"]["optional-dependencies"].keys()


def test_the_citation_is_of_this_version(citation: dict[str, Any]) -> None:
    assert {"cff-version", "message", "title", "authors", "license", "version"} <= citation.keys()
    assert citation["version"] == unlisted.__version__
    assert citation["license"] == PROJECT["project"]["license"]
    assert citation["authors"] == PROJECT["project"]["authors"]


# What it does in an empty environment.


def test_the_environment_has_nothing_of_ours(empty: Environment) -> None:
    program = (
        "import importlib.metadata as m, unlisted; print(unlisted.__file__); "
        "print(*(d.metadata['Name'].lower() for d in m.distributions()))"
    )
    place, there = empty.says("python", "-c", program).splitlines()
    assert Path(place).is_relative_to(empty.programs.parent)
    assert "unlisted" in there.split()
    assert [name for name in NOT_THERE if name in there.split()] == []


def test_importing_it_imports_nothing_heavy(empty: Environment) -> None:
    loaded = empty.says(
        "python", "-c", "import sys, unlisted; print(*{name.split('.')[0] for name in sys.modules})"
    )
    assert "unlisted" in loaded.split()
    assert set(loaded.split()) & set(ONLY_WHEN_USED) == set()


def test_the_command_says_its_version(empty: Environment) -> None:
    assert unlisted.__version__ in empty.says("unlisted", "--version")


def test_the_columns_of_a_csv_file(empty: Environment, visits: str) -> None:
    listed = empty.says("unlisted", "columns", visits)
    assert "user" in listed
    assert "city" in listed
    assert CITIES[0] not in listed


def test_a_histogram_from_the_shell(empty: Environment, visits: str) -> None:
    words = ("--user", "user", "--items-per-user", 1, "--epsilon", 4, "--output", "counts.csv")
    empty.says("unlisted", "histogram", visits, "--item", "city", *words)
    header, *lines = (empty.folder / "counts.csv").read_text("utf-8").splitlines()
    counts = {line.split(",")[0]: int(line.split(",")[1]) for line in lines}
    assert header == "city,count,low,high"
    assert counts.keys() == set(CITIES)
    assert all(abs(count - PEOPLE) < 100 for count in counts.values())


def test_a_session_from_python(empty: Environment, visits: str) -> None:
    """The answer, as a notebook shows it, in words, and what needs an extra: refused by its name."""
    program = f"""
import unlisted as ul

session = ul.Session(ul.table({visits!r}, user="user"), epsilon=4)
release = session.histogram("city", items_per_user=1, epsilon=4).run()
for city in ("{CITIES[0]}", "{CITIES[-1]}"):
    assert city in release._repr_html_()
    assert city in str(release)
assert "4" in release.statement()
print(release.to_arrow()["city"].to_pylist())
for method in (release.chart, release.to_polars, release.to_pandas):
    try:
        method()
    except ul.MissingExtraError as refused:
        print(refused)
"""
    cities, *refusals = empty.says("python", "-c", program).splitlines()
    assert sorted(ast.literal_eval(cities)) == sorted(CITIES)
    for extra, refusal in zip(("charts", "polars", "pandas"), refusals, strict=True):
        assert f"unlisted[{extra}]" in refusal


def test_the_service_names_its_extra(empty: Environment) -> None:
    (empty.folder / "unlisted.toml").write_text("", "utf-8")
    done = empty.run("unlisted", "serve", "--config", "unlisted.toml")
    assert done.returncode != 0
    assert "unlisted[server]" in done.stderr
    assert "Traceback" not in done.stderr
