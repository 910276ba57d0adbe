"""`unlisted.toml`: what it says is what is served, and what it should not say is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import unlisted as ul
from unlisted.cli.main import application
from unlisted.errors import InvalidArgumentError
from unlisted.ledger.ledger import Ledger
from unlisted.server.config import Config, read_config
from unlisted.server.startup import open_datasets

SMALL = """
ledger = "budget.db"
[datasets.searches]
source = "searches.parquet"
user = "user_id"
items = ["query"]
budget = { rho = 1, delta = 1e-6 }
"""


def read(tmp_path: Path, text: str) -> Config:
    (tmp_path / "unlisted.toml").write_text(text)
    return read_config(tmp_path / "unlisted.toml")


def write_rows(tmp_path: Path) -> None:
    pq.write_table(pa.table({"user_id": ["a"], "other": ["b"], "query": ["soup"]}), tmp_path / "searches.parquet")


def test_a_small_one_has_safe_defaults(tmp_path: Path):
    config = read(tmp_path, SMALL)
    offer = config.datasets["searches"]
    assert (config.host, config.port) == ("127.0.0.1", 8080)
    assert config.ledger == str(tmp_path / "budget.db")
    assert offer.source == str(tmp_path / "searches.parquet")
    assert (offer.items, offer.filters, offer.adjacency) == (("query",), (), "add_remove")
    assert offer.budget == ul.Budget(rho=1, delta="1e-6")
    assert config.limits.pad_to is None
    assert config.secure_cookies


def test_everything_that_can_be_said_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TEST_LEDGER", "postgresql://me:pass-word@host/db")
    (tmp_path / "secret").write_text("quite secret, and long enough too\n")
    config = read(
        tmp_path,
        """
ledger = { env = "TEST_LEDGER" }
listen = "[::1]:9000"
owner_log = "owner.log"
secret = { file = "secret" }
trusted_proxies = ["127.0.0.1"]
secure_cookies = false
[limits]
pad_to = "2s"
time_limit = "1500ms"
body_bytes = 1000
requests_per_minute = 30
questions_at_once = 2
questions_waiting = 3
fetch = 5000
[datasets.searches]
source = "searches.csv"
types = { age = "int" }
user = "user_id"
items = ["query"]
filters = ["age"]
budget = { rho = "0.5", delta = "1e-6" }
items_per_user = 10
rows_per_item = 3
adjacency = "replace"
version = "2026-11"
description = "Searches."
[streams.hourly]
folder = "hourly"
dataset = "searches"
[streams.daily]
folder = "daily"
dataset = "searches"
outside_budget = true
""",
    )
    assert config.ledger == "postgresql://me:pass-word@host/db"
    assert (config.host, config.port, config.secret) == ("::1", 9000, "quite secret, and long enough too")
    limits = config.limits
    assert (limits.pad_to, limits.time_limit, limits.body_bytes, limits.fetch) == (2.0, 1.5, 1000, 5000)
    assert config.streams["hourly"].folder == tmp_path / "hourly"
    assert [one.outside_budget for one in config.streams.values()] == [False, True]
    assert config.datasets["searches"].version == "2026-11"
    assert "pass-word" not in repr(config.datasets) + str(config.limits)
    assert "quite secret, and long enough too" not in repr(config)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SMALL.replace("budget.db", "postgresql://me:pass-word@host/db"), "kept out of this file"),
        (SMALL.replace('"budget.db"', '{ env = "NOT_SET_ANYWHERE" }'), "a variable that is set"),
        (SMALL.replace('"budget.db"', '{ file = "nowhere" }'), "a file that can be read"),
        ('secret = "here"\n' + SMALL, "kept out of this file"),
        (SMALL + "itmes_per_user = 3", "one of: "),
        ("listne = 1\n" + SMALL, "one of: "),
        (SMALL + "[limits]\npad_too = 1", "one of: "),
        ('ledger_password = "pass-word"\n' + SMALL, "ledger_password = 'an unknown name'"),
        (SMALL.replace('"budget.db"', '{ password = "pass-word" }'), "a variable that is set"),
        ('limits = "pass-word"\n' + SMALL, "a table of names"),
        (SMALL + '[limits]\npad_to = "2 s"', "a length of time"),
        (SMALL + '[limits]\npad_to = "1s"\ntime_limit = "2s"', "at most pad_to"),
        (SMALL + "[limits]\nbody_bytes = 0", "1 or above"),
        ('listen = "8080"\n' + SMALL, "HOST:PORT"),
        (SMALL.replace('["query"]', '"query"'), "a list of names"),
        (SMALL.replace('["query"]', "[]"), "at least one"),
        (SMALL.replace('user = "user_id"', ""), "given in the configuration"),
        (SMALL.replace("rho = 1", "rho = 1, epsilon = 1"), "left out with epsilon"),
        (SMALL.replace("rho = 1, ", ""), "given, or rho in its place"),
        (SMALL + '[streams.x]\nfolder = "x"\ndataset = "y"', "one of the data sets"),
        ('ledger = "budget.db"', "at least one"),
        ("ledger = ", "TOML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, said: str):
    with pytest.raises(InvalidArgumentError, match=said) as refusal:
        read(tmp_path, text)
    assert "pass-word" not in str(refusal.value)


def test_data_sets_are_opened_once_and_must_stay_what_they_are(tmp_path: Path):
    write_rows(tmp_path)
    config = read(tmp_path, SMALL)
    with Ledger(config.ledger) as ledger:
        open_datasets(config, ledger)
        open_datasets(config, ledger)
        state = ledger.dataset("searches")
        assert (state.unit, state.source) == ("user_id", str(tmp_path / "searches.parquet"))
        assert state.total.texts == ("1", "0.000001")
        for changed in (("user_id", "other"), ("searches.parquet", "b.parquet"), ("rho = 1", "rho = 2")):
            with pytest.raises(InvalidArgumentError, match=r"never changes|unlisted dataset move"):
                open_datasets(read(tmp_path, SMALL.replace(*changed)), ledger)
        open_datasets(read(tmp_path, SMALL + 'version = "2"'), ledger)
        assert ledger.dataset("searches").version == "2"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (("searches.parquet", "nowhere.parquet"), "datasets.searches.source = "),
        (
            ('"user_id"', '"usr"'),
            "datasets.searches.user = 'usr' is not allowed: it must be a column of the source",
        ),
        (('["query"]', '["qurey"]'), "searches.items = 'qurey' is not allowed: it must be a column of the source"),
        (("items = ", 'filters = ["day"]\nitems = '), "searches.filters = 'day' is not allowed"),
    ],
)
def test_a_data_set_that_is_not_there_is_not_written_down(tmp_path: Path, changed: tuple[str, str], said: str):
    """Also none that stands before it in the file."""
    write_rows(tmp_path)
    first = SMALL.replace("datasets.searches", "datasets.first")
    config = read(tmp_path, first + SMALL.replace('ledger = "budget.db"', "").replace(*changed))
    with Ledger(config.ledger) as ledger:
        with pytest.raises(InvalidArgumentError, match=re.escape(said)):
            open_datasets(config, ledger)
        assert ledger.datasets() == []


def test_a_user_column_that_nobody_can_tell_apart_is_refused_at_the_start(tmp_path: Path):
    """And not question by question, to analysts who can do nothing about it."""
    pq.write_table(pa.table({"user_id": [[1.0]], "query": ["soup"]}), tmp_path / "searches.parquet")
    config = read(tmp_path, SMALL)
    with Ledger(config.ledger) as ledger:
        with pytest.raises(InvalidArgumentError, match=r"datasets\.searches\.user .* in one form for each person"):
            open_datasets(config, ledger)
        assert ledger.datasets() == []


def test_the_demo_says_that_it_takes_no_configuration(tmp_path: Path):
    done = CliRunner().invoke(application(), ["serve", "--demo", "--config", str(tmp_path / "unlisted.toml")])
    assert done.exit_code == 2
    assert "left out with --demo" in " ".join(done.stderr.split())
