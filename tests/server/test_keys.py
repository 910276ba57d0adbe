"""Keys: shown once, kept hashed, granted, withdrawn, revoked; and how wrong ones are slowed down."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

import unlisted as ul
from unlisted.errors import AccessError, InvalidArgumentError
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.schema import keys as key_table
from unlisted.ledger.store import Store
from unlisted.server.auth import KeyRing, key_id
from unlisted.server.config import Config
from unlisted.server.limits import LONGEST_WAIT, PATIENCE_WITH_A_KEY, PATIENCE_WITH_AN_ADDRESS, Lockout, RateLimit
from unlisted.server.query_service import QueryService
from unlisted.server.shared_state import make_tables


@pytest.fixture(params=["sqlite", "postgresql"])
def ring(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KeyRing]:
    url = str(tmp_path / "budget.db") if request.param == "sqlite" else request.getfixturevalue("ledger_url")
    with Ledger(url) as ledger:
        for name in ("ads", "maps"):
            ledger.open(f"{name}-team", dataset=f"{name}-data", budget=ul.Budget(rho=1, delta="1e-6"))
        yield KeyRing(ledger)


def test_a_key_is_found_by_its_text_alone_and_not_kept(ring: KeyRing):
    text = ring.create("Ana", "analyst", {"ads-data": "ads-team"})
    caller = ring.find(text)
    assert caller is not None
    assert (caller.name, caller.role, dict(caller.grants)) == ("Ana", "analyst", {"ads-data": "ads-team"})
    secret = text.rsplit("_", 1)[1] if text.count("_") == 2 else text.split("_", 2)[2]
    with ring._ledger.store.reading() as connection:
        stored = str(connection.execute(sa.select(key_table)).all())
    assert secret not in stored
    assert key_id(text) in stored


def test_no_two_keys_are_alike(ring: KeyRing):
    made = {ring.create("Ana") for _ in range(5)}
    assert len(made) == len({key_id(one) for one in made}) == 5


def test_a_changed_key_is_nobodys(ring: KeyRing):
    text = ring.create("Ana")
    last = "A" if text[-1] != "A" else "B"
    for wrong in (text[:-1] + last, text[:-1], text + "A", "", "ul__", text.replace("_", "-"), f"{text}\n"):
        assert ring.find(wrong) is None


def test_a_revoked_key_is_nobodys_for_ever(ring: KeyRing):
    text = ring.create("Ana")
    ring.revoke(key_id(text))
    assert ring.find(text) is None
    with pytest.raises(InvalidArgumentError, match="revoked before"):
        ring.revoke(key_id(text))
    assert next(one for one in ring.all() if one.caller.key == key_id(text)).revoked is not None


def test_grants_are_given_replaced_and_withdrawn(ring: KeyRing):
    text = ring.create("Ana")
    ring.grant(key_id(text), "ads-data", "ads-team")
    ring.grant(key_id(text), "maps-data", "maps-team")
    ring.grant(key_id(text), "ads-data", "ads-team")
    caller = ring.find(text)
    assert caller is not None
    assert sorted(caller.grants) == ["ads-data", "maps-data"]
    ring.withdraw(key_id(text), "ads-data")
    with pytest.raises(InvalidArgumentError, match="has a grant for"):
        ring.withdraw(key_id(text), "ads-data")
    caller = ring.find(text)
    assert caller is not None
    assert dict(caller.grants) == {"maps-data": "maps-team"}


def test_a_grant_needs_an_account_of_that_data_set(ring: KeyRing):
    before = len(ring.all())
    for account in ("maps-team", "nobody"):
        with pytest.raises(InvalidArgumentError, match="an account on the data set"):
            ring.create("Ana", "analyst", {"ads-data": account})
    assert len(ring.all()) == before, "a key whose grant was refused is not made"


@pytest.mark.parametrize(("name", "role"), [("", "analyst"), ("a\nb", "analyst"), ("Ana", "owner")])
def test_names_and_roles_are_checked(ring: KeyRing, name, role):
    with pytest.raises(InvalidArgumentError):
        ring.create(name, role)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    found = Store(tmp_path / "shared.db")
    make_tables(found)
    yield found
    found.close()


class Clock:
    """A clock that is turned by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def wait_of(lockout: Lockout, address: str, key: str) -> int:
    """Return how long an address has to wait before it may try a key."""
    try:
        lockout.check(address, key)
    except AccessError as refusal:
        return refusal.retry_after or 0
    return 0


def test_each_wrong_key_after_the_first_few_doubles_the_wait(store: Store):
    clock = Clock()
    lockout, key = Lockout(store, clock), "ul_0123456789ab_" + "A" * 43
    waits = []
    for _ in range(PATIENCE_WITH_A_KEY + 14):
        lockout.failed("here", key)
        waits.append(wait_of(lockout, "here", key))
        clock.now += waits[-1]
        assert wait_of(lockout, "here", key) == 0
    assert waits[: PATIENCE_WITH_A_KEY - 1] == [0] * (PATIENCE_WITH_A_KEY - 1)
    assert waits[PATIENCE_WITH_A_KEY - 1 :][:4] == [2, 3, 5, 9]
    assert waits[-1] == LONGEST_WAIT + 1
    clock.now += 2 * LONGEST_WAIT + 1
    lockout.failed("here", key)
    assert wait_of(lockout, "here", key) == 0, "whoever kept still starts anew"


def test_another_key_and_another_address_are_not_held_up(store: Store):
    lockout = Lockout(store, Clock())
    for _ in range(PATIENCE_WITH_A_KEY):
        lockout.failed("here", "ul_0123456789ab_" + "A" * 43)
    assert wait_of(lockout, "here", "ul_0123456789ab_" + "B" * 43) > 0
    assert wait_of(lockout, "here", "ul_ba9876543210_" + "A" * 43) == 0
    assert wait_of(lockout, "there", "ul_0123456789ab_" + "A" * 43) == 0


def test_trying_many_names_of_keys_does_not_help(store: Store):
    lockout = Lockout(store, Clock())
    for number in range(PATIENCE_WITH_AN_ADDRESS):
        lockout.failed("here", f"ul_{number:012x}_" + "A" * 43)
    assert wait_of(lockout, "here", "ul_ba9876543210_" + "A" * 43) > 0


def test_a_right_key_does_not_wait_for_the_wrong_ones_of_its_address(store: Store, tmp_path: Path):
    with Ledger(tmp_path / "budget.db") as ledger:
        service, right = (
            QueryService(Config(str(tmp_path / "budget.db"), {}), ledger),
            KeyRing(ledger).create("Ana"),
        )
        service._lockout = Lockout(store, Clock())
        wrong = f"ul_{key_id(right)}_" + "A" * 43
        statuses = []
        for number in range(PATIENCE_WITH_AN_ADDRESS):
            with pytest.raises(AccessError) as refused:
                service.enter(wrong if number < 9 else f"ul_{number:012x}_" + "A" * 43, "here")
            statuses.append(refused.value.status)
        assert statuses[:PATIENCE_WITH_A_KEY] == [401] * PATIENCE_WITH_A_KEY
        assert statuses[PATIENCE_WITH_A_KEY] == 429
        assert service.enter(right, "here").name == "Ana"


def test_a_right_key_forgives_its_own_failures(store: Store):
    lockout, key = Lockout(store, Clock()), "ul_0123456789ab_" + "A" * 43
    for _ in range(PATIENCE_WITH_A_KEY - 1):
        lockout.failed("here", key)
    lockout.passed("here", key)
    lockout.failed("here", key)
    assert wait_of(lockout, "here", key) == 0


def take(rates: RateLimit, key: str) -> None:
    """Count a request as a route does."""
    if not rates.take(key):
        rates.wait_for(key)


def test_a_rate_is_kept_and_comes_back_with_time(store: Store):
    clock = Clock()
    rates = RateLimit(60, store, clock)
    for _ in range(10):
        take(rates, "a")
    with pytest.raises(AccessError, match="Wait 1 s") as refused:
        take(rates, "a")
    assert (refused.value.status, refused.value.retry_after) == (429, 1)
    take(rates, "b")
    clock.now += 1.5
    take(rates, "a")


def test_two_servers_share_the_rate_of_a_key(store: Store):
    """Together they let through what one would, and no more; neither asks the store for each request."""
    clock = Clock()
    here, there = RateLimit(600, store, clock), RateLimit(600, store, clock)
    passed, asked = 0, 0

    def pass_many() -> None:
        nonlocal passed, asked
        for number in range(1000):
            rates = here if number % 2 else there
            if not rates.take("a"):
                asked += 1
                rates.wait_for("a")
            passed += 1

    with pytest.raises(AccessError, match="Too many requests"):
        pass_many()
    assert 100 - 10 <= passed <= 100, "a server may still hold tokens that it did not need"
    assert asked <= passed / 10 + 2


def test_two_servers_share_lockouts(store: Store):
    clock, key = Clock(), "ul_0123456789ab_" + "A" * 43
    here, there = Lockout(store, clock), Lockout(store, clock)
    for number in range(PATIENCE_WITH_A_KEY):
        (here if number % 2 else there).failed("here", key)
    assert wait_of(here, "here", key) == wait_of(there, "here", key) == 2
    there.passed("here", key)
    assert wait_of(here, "here", key) == 0
