"""What is shipped for operators. Images cannot be built here: files are read as their programs would read them."""

from __future__ import annotations

import asyncio
import configparser
import re
import signal
import stat
from fractions import Fraction
from pathlib import Path

import pytest
import uvicorn
import yaml
from tests.ledger.books import PATIENCE_SECONDS

from unlisted import Budget, Guarantee
from unlisted.errors import InvalidArgumentError
from unlisted.ledger.amounts import Amount
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.state import DatasetState
from unlisted.server.config import LEAST_SECRET, read_config
from unlisted.server.observability import Metrics, Readiness, gauges
from unlisted.server.run import _Server, check

DEPLOY = Path(__file__).parents[2] / "deploy"
CONFIG = """
ledger = "budget.db"
secret = { file = "secret" }

[datasets.searches]
source = "searches.csv"
user = "user"
items = ["query"]
budget = { rho = 1, delta = 1e-6 }
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "searches.csv").write_text("user,query\n1,soup\n")
    (tmp_path / "secret").write_text("s" * LEAST_SECRET)
    (tmp_path / "unlisted.toml").write_text(CONFIG)
    return tmp_path


def test_a_new_sqlite_ledger_is_its_owners_alone(tmp_path):
    """The trial's fault: the file was readable by everybody on the machine."""
    place = tmp_path / "budget.db"
    with Ledger(place) as book:
        book.open("ads", dataset="searches", budget=Budget(rho=1, delta="1e-6"))
        for file in tmp_path.glob("budget.db*"):
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


@pytest.mark.parametrize("secret", ["", "tiny", "s" * (LEAST_SECRET - 1)])
def test_an_empty_or_short_secret_is_refused(place, secret):
    (place / "secret").write_text(secret)
    with pytest.raises(InvalidArgumentError, match="random characters or more") as told:
        read_config(place / "unlisted.toml")
    assert not secret or secret not in str(told.value)


def test_a_check_says_whether_a_service_could_start_and_writes_nothing(place):
    said = check(read_config(place / "unlisted.toml"))
    assert said == [
        "The ledger is not there yet, and will be made.",
        "searches: 1 columns to count, new to the ledger",
    ]
    assert not (place / "budget.db").exists()
    (place / "searches.csv").write_text("user,other\n1,soup\n")
    with pytest.raises(InvalidArgumentError, match="query"):
        check(read_config(place / "unlisted.toml"))


def test_a_service_that_is_told_to_stop_lowers_its_readiness_first():
    readiness = Readiness()
    server = _Server(uvicorn.Config(app=None), readiness, seconds=PATIENCE_SECONDS)
    assert asyncio.run(readiness.is_ready())
    server.handle_exit(signal.SIGTERM, None)
    assert not asyncio.run(readiness.is_ready())
    assert not server.should_exit
    # Whoever insists need not wait.
    server.handle_exit(signal.SIGTERM, None)
    assert server.should_exit


def test_alerts_speak_of_gauges_that_there_are():
    rules = [
        rule for group in yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"] for rule in group["rules"]
    ]
    state = DatasetState('a "name"', total=Amount.charge(Guarantee(Fraction(1), Fraction(0))))
    told = gauges([state], waiting=0, running=0) + Metrics().text() + "up"
    for rule in rules:
        for name in re.findall(r"unlisted_\w+|\bup\b", rule["expr"]):
            assert name in told, name
    assert 'dataset="a \\"name\\""' in told


def test_compose_names_what_is_there():
    told = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    assert set(told["services"]) == {"server", "ledger", "proxy"}
    for service in told["services"].values():
        assert set(service.get("secrets", ())) <= set(told["secrets"])
        assert "build" in service or "image" in service
        named = {one.split(":")[0] for one in service.get("volumes", ())}
        assert {one for one in named if not one.startswith(".")} <= set(told["volumes"])
    assert (DEPLOY.parent / told["services"]["server"]["build"]["dockerfile"]).exists()


def test_the_image_installs_extras_that_there_are_and_runs_as_nobody_special():
    text = (DEPLOY / "Dockerfile").read_text()
    instructions = [line.split()[0] for line in text.splitlines() if line[:1].isupper()]
    assert instructions[0] == "FROM"
    assert "USER unlisted" in text
    extras = text.split("/build[")[1].split("]")[0].split(",")
    declared = (DEPLOY.parent / "pyproject.toml").read_text()
    assert all(f"\n{extra} = [" in declared for extra in extras)


def test_the_unit_checks_before_it_starts():
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read_string((DEPLOY / "unlisted.service").read_text())
    assert unit["Service"]["ExecStartPre"] == unit["Service"]["ExecStart"] + " --check"
    assert unit["Service"]["User"] != "root"


def test_the_proxy_asks_for_readiness_and_says_hsts():
    text = (DEPLOY / "Caddyfile").read_text()
    assert "health_uri /ready" in text
    assert "Strict-Transport-Security" in text
