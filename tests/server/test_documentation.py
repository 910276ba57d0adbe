"""What docs/service.md shows: the configuration is read, the client's code runs against a real service."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs.scripts import BLOCK, DOCS, run_script
from tests.server.running import Running

import unlisted as ul
from unlisted.query.remote_table import connect
from unlisted.server.api.admin import admin_router as admin
from unlisted.server.api.routes import datasets_router as router
from unlisted.server.api.routes import streams_router as streams
from unlisted.server.config import read_config

PAGE = (DOCS / "service.md").read_text(encoding="utf-8")
BLOCKS = {(block["kind"], block["options"].strip()): block["body"] for block in BLOCK.finditer(PAGE)}


def test_the_configuration_is_read(tmp_path: Path):
    (tmp_path / "unlisted.toml").write_text(BLOCKS["toml", 'title="unlisted.toml"'])
    config = read_config(tmp_path / "unlisted.toml")
    assert config.datasets["searches"].filters == ("day", "device")
    (tmp_path / "unlisted.toml").write_text(
        BLOCKS["toml", 'title="unlisted.toml"'].replace("[limits]\n", BLOCKS["toml", ""]).replace('"60s"', '"2s"')
    )
    assert read_config(tmp_path / "unlisted.toml").limits.pad_to == 2.0


def test_the_clients_code_runs(service: Running, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("UNLISTED_KEY", service.keys["analyst"])
    monkeypatch.setattr(ul, "connect", connect, raising=False)
    names: dict[str, object] = {}
    exec(BLOCKS["python", 'title="with a service"'].replace("https://counts.example.org", service.url), names)
    assert isinstance(names["release"], ul.Release)
    assert isinstance(names["labels"], ul.Release)


def test_the_reference_is_what_the_service_says():
    done = run_script("make_http_reference.py", "--check")
    assert done.returncode == 0, done.stderr


def test_every_route_is_in_the_table():
    table = "\n".join(line for line in PAGE.splitlines() if line.startswith("| `"))
    for route in (*router.routes, *streams.routes, *admin.routes):
        words = [word for word in str(getattr(route, "path", "")).split("/") if word.isalpha()]
        assert re.search(rf"/{words[-1]}\b", table), words
