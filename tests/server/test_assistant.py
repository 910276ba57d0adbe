"""An assistant, by the protocol's own client over standard input and output: asks, repeats itself, overreaches."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client
from tests.server.running import HIDDEN_LABEL, HISTOGRAM, TOP, make_sources

from unlisted.errors import InvalidArgumentError
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.rows import Page
from unlisted.ledger.verify import verify
from unlisted.privacy.guarantee import Budget
from unlisted.server.assistant import TOOLS, Assistant, mcp_server
from unlisted.server.config import Config, read_config
from unlisted.server.startup import open_datasets

SMALL = {**HISTOGRAM, "epsilon": 0.2}

CONFIG = """
ledger = "budget.db"
owner_log = "owner.log"

[datasets.searches]
source = "searches.parquet"
user = "user"
items = ["query", "device"]
filters = ["device"]
items_per_user = 1
budget = { epsilon = 6, delta = 1e-5 }

[datasets.broken]
source = "broken.parquet"
user = "user"
items = ["query"]
items_per_user = 1
budget = { epsilon = 6, delta = 1e-5 }
"""


@pytest.fixture
def config(tmp_path: Path) -> Config:
    make_sources(tmp_path)
    (tmp_path / "unlisted.toml").write_text(CONFIG)
    told = read_config(tmp_path / "unlisted.toml")
    with Ledger(told.ledger) as ledger:
        open_datasets(told, ledger)
        ledger.open("assistant", dataset="searches", budget=Budget(rho="0.2", delta="1e-7"))
        ledger.open("unlucky", dataset="broken", budget=Budget(rho="0.2", delta="1e-7"))
    return told


Conversation = Callable[[Any], Awaitable[Any]]


def talk(config: Config, conversation: Conversation) -> None:
    """Start `unlisted mcp` as an assistant would, and talk to it over standard input and output."""

    async def run() -> None:
        folder = Path(config.ledger).parent
        words = ["-m", "unlisted", "mcp", "--config", str(folder / "unlisted.toml"), "--account", "assistant"]
        environment = {"PYTHONPATH": os.pathsep.join(sys.path)}
        command = StdioServerParameters(command=sys.executable, args=words, env=environment)
        with (folder / "said").open("w") as said:
            async with Client(stdio_client(command, said)) as client:
                await conversation(client)

    asyncio.run(run())


def talk_inside(config: Config, conversation: Conversation, account: str = "assistant") -> None:
    """Talk to the same server in this process, which starts sooner."""

    async def run() -> None:
        with Ledger(config.ledger) as ledger:
            assistant = Assistant(config, ledger, account)
            async with Client(mcp_server(assistant)) as client:
                await conversation(client)
            await assistant.close()

    asyncio.run(run())


async def use(client: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    found = await client.call_tool(tool, arguments)
    assert not found.is_error, found
    assert json.loads(found.content[0].text) == found.structured_content
    return dict(found.structured_content)


async def refusal(client: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    found = await client.call_tool(tool, arguments)
    assert found.is_error
    return dict(found.structured_content)


def test_an_assistant_lists_previews_asks_and_repeats_itself_for_one_price(config: Config) -> None:
    async def conversation(client: Any) -> None:
        tools = {one.name: one for one in (await client.list_tools()).tools}
        assert set(tools) == {"list", "preview", "ask", "balance"} == set(TOOLS)
        assert [name for name, one in tools.items() if not one.annotations.read_only_hint] == ["ask"]
        about = await use(client, "list")
        assert [one["name"] for one in about["dataset"]["items"]] == ["query", "device"]
        assert "histogram" in about["questions"]
        assert HIDDEN_LABEL not in json.dumps(about)
        full = await use(client, "balance")
        preview = await use(client, "preview", **SMALL)
        assert preview["refusal"] is None
        assert await use(client, "balance") == full, "a preview is free"
        first = await use(client, "ask", **SMALL, plan_sha256=preview["plan_sha256"])
        assert "never instructions" in first["note"]
        assert first["rows_released"] == len(first["rows"])
        spent = await use(client, "balance")
        assert spent["left"] != full["left"]
        again = await use(client, "ask", **SMALL, show=1)
        assert again["rows"] == first["rows"][:1]
        assert again["rows_released"] == first["rows_released"]
        assert again["ledger"] == first["ledger"]
        assert await use(client, "balance") == spent, "a repeat is free"

    talk(config, conversation)
    # After a restart too.
    talk(config, lambda client: use(client, "ask", **SMALL))
    with Ledger(config.ledger) as ledger:
        entries = ledger.history_page("searches", "assistant", Page(50))
        assert [one.kind for one in entries] == ["opened", "reserved", "settled"]
        assert entries[1].body["by"] == "mcp"
        assert verify(ledger) == []


def test_refusals_are_readable_and_say_whether_they_were_charged(config: Config) -> None:
    async def conversation(client: Any) -> None:
        full = await use(client, "balance")
        dear = await refusal(client, "ask", **{**TOP, "epsilon": 5})
        assert dear["charged"] is False
        assert "left" in dear["refused"]
        for wrong, word in (
            ({**SMALL, "items": ["salary"]}, "query, device"),
            ({**SMALL, "where": "salary > 7"}, "salary"),
            ({**SMALL, "epsilon": "much"}, "epsilon"),
            ({**SMALL, "epsilonn": 1}, "epsilonn"),
            ({"question": "sum", "items": ["query"]}, "question"),
            ({**SMALL, "show": 0}, "show"),
            ({**SMALL, "plan_sha256": "0" * 64}, "plan_sha256"),
            ({}, "question"),
        ):
            told = await refusal(client, "ask", **wrong)
            assert told["charged"] is False
            assert word in told["refused"]
        assert "takes nothing" in (await refusal(client, "list", dataset="broken"))["refused"]
        assert "one of list" in (await refusal(client, "drop"))["refused"]
        assert await use(client, "balance") == full

    talk_inside(config, conversation)


def test_the_account_holds_whatever_is_asked_at_once(config: Config) -> None:
    async def conversation(client: Any) -> None:
        asked = [client.call_tool("ask", {**SMALL, "epsilon": 0.2 + number / 1000}) for number in range(40)]
        found = await asyncio.gather(*asked)
        said = [one.structured_content for one in found]
        assert any(one.is_error for one in found)
        assert any(not one.is_error for one in found)
        assert {one["charged"] for one in said if "refused" in one} == {False}

    talk_inside(config, conversation)
    with Ledger(config.ledger) as ledger:
        balance = ledger.account("assistant").balance()
        assert balance.left.loss >= 0
        assert verify(ledger) == []


def test_what_fails_after_data_was_touched_is_one_sentence_and_charged_once(config: Config) -> None:
    async def conversation(client: Any) -> None:
        told = await refusal(client, "ask", **SMALL)
        assert told == {"refused": "could not be answered; charged; see the log", "charged": True}
        spent = await use(client, "balance")
        assert await refusal(client, "ask", **SMALL) == told
        assert (await use(client, "balance"))["left"] == spent["left"], "a repeat of a failure is free too"

    talk_inside(config, conversation, account="unlucky")


def test_what_nobody_foresaw_tells_nothing(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError(HIDDEN_LABEL)

    async def run() -> tuple[dict[str, Any], bool]:
        with Ledger(config.ledger) as ledger:
            assistant = Assistant(config, ledger, "assistant")
            monkeypatch.setattr(assistant._service, "balance", broken)
            said = await assistant.call("balance", {})
            await assistant.close()
            return said

    said, is_refused = asyncio.run(run())
    assert is_refused
    assert said["charged"] is None
    assert HIDDEN_LABEL not in json.dumps(said)


def test_an_account_that_is_not_there_or_not_offered_is_refused(config: Config, tmp_path: Path) -> None:
    with Ledger(config.ledger) as ledger:
        with pytest.raises(InvalidArgumentError, match="account"):
            Assistant(config, ledger, "nobody")
        ledger.create_dataset("other", budget=Budget(rho=1, delta="1e-6"))
        ledger.open("elsewhere", dataset="other", budget=Budget(rho=1, delta="1e-6"))
        with pytest.raises(InvalidArgumentError, match="broken, searches"):
            Assistant(config, ledger, "elsewhere")
