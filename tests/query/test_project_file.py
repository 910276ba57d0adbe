"""`unlisted.toml`: one file names the data sets for Python, the shell and the service."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.shell import unlisted

import unlisted as ul
from unlisted.query.project_file import dataset_called, find_project
from unlisted.server.config import read_config

FILE = """
ledger = "budget.db"

[datasets.kitchen]
source = "küche.csv"
user = "gast"
sep = ";"
encoding = "latin-1"
items = ["gericht"]
items_per_user = 2
budget = { epsilon = 3, delta = 1e-6 }
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    lines = ["gast;gericht", *(f"{user};Käse" for user in range(400)), *(f"{user};Brot" for user in range(300))]
    (tmp_path / "küche.csv").write_text("\n".join(lines), encoding="latin-1")
    (tmp_path / "unlisted.toml").write_text(FILE, encoding="utf-8")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    return tmp_path


@pytest.mark.usefixtures("project")
def test_python_and_the_shell_know_a_data_set_by_its_name() -> None:
    plan = ul.dataset("kitchen").histogram("gericht", epsilon=1)
    assert plan.asked["items_per_user"] == 2
    assert [row["gericht"] for row in plan.run()] == ["Käse", "Brot"]
    done = unlisted("histogram", "kitchen", "gericht", "--epsilon", 1, "--format", "csv")
    assert done.code == 0
    assert "Käse" in done.text
    assert "No account paid" in done.said
    assert unlisted("top", "kitchen", "--item", "gericht", "-k", 2, "--epsilon", 1).code == 0


@pytest.mark.usefixtures("project")
def test_a_session_takes_the_bounds_of_the_data_set() -> None:
    session = ul.Session(ul.dataset("kitchen"), epsilon=2)
    assert session.histogram("gericht", epsilon=1).asked["items_per_user"] == 2


def test_the_service_reads_the_same_file(project: Path) -> None:
    offer = read_config(project / "unlisted.toml").datasets["kitchen"]
    assert offer.reading == {"sep": ";", "encoding": "latin-1"}
    assert offer.items_per_user == 2


@pytest.mark.usefixtures("project")
def test_an_account_of_the_projects_ledger_pays() -> None:
    words = ("account", "create", "me", "--ledger", "../budget.db", "--dataset", "kitchen")
    assert unlisted(*words, "--epsilon", 3, "--delta", "1e-6").code == 0
    done = unlisted("top", "kitchen", "gericht", "-k", 2, "--epsilon", 1, "--account", "me")
    assert "Paid by 'me'" in done.said


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("kitchen", "gericht", "--user", "other"), "--user = 'other'"),
        (("kitchen", "gericht", "--item", "gericht"), "--item"),
        (("kitchen", "gericht", "--adjacency", "replace"), "unlisted.toml decides"),
        (("kitchn", "gericht"), "--user is missing"),
        (("kitchen",), "--item is missing"),
    ],
)
def test_slips_are_refused(words: tuple[str, ...], said: str) -> None:
    done = unlisted("histogram", *words, "--epsilon", 1)
    assert done.code == 2
    assert said in done.said


def test_what_is_misspelt_or_twofold_is_refused(project: Path) -> None:
    Path("kitchen").write_text("a file")
    with pytest.raises(ul.InvalidArgumentError, match="not both"):
        dataset_called("kitchen")
    with pytest.raises(ul.InvalidArgumentError, match=r"one of those in .*: kitchen"):
        ul.dataset("pantry")
    path = project / "unlisted.toml"
    for wrong, said in (("item_per_user = 3", "unknown name"), ('decimal = ";"', "decimal"), ("oops", "TOML")):
        path.write_text(f"{FILE}\n[datasets.other]\nsource = 'a'\nuser = 'b'\n{wrong}\n")
        with pytest.raises(ul.InvalidArgumentError, match=said):
            find_project()


def test_without_a_file_the_error_says_what_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unlisted.query.project_file.FILE", "no-such-project.toml")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ul.InvalidArgumentError, match=r"Write one with a section \[datasets.NAME\]"):
        ul.dataset("kitchen")
