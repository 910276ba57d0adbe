"""What the configuration may say about single sign-on; everything else is refused before anybody signs in."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.sign_on.door import write_config

from unlisted.errors import InvalidArgumentError
from unlisted.server.config import Config, read_config
from unlisted.server.run import check

ISSUER = "https://login.example.org"


def read(folder: Path, issuer: str = ISSUER, more: str = "", old: str = "", new: str = "") -> Config:
    path = write_config(folder, issuer, more=more)
    path.write_text(path.read_text().replace(old, new) if old else path.read_text())
    return read_config(path)


def test_groups_become_roles_and_grants(tmp_path: Path) -> None:
    settings = read(tmp_path).sso
    assert settings is not None
    both = settings.caller("sso:ana", "Ana", ["platform", "strays", "analysts", "others"])
    assert both is not None
    assert both.is_admin
    assert both.grants == {"searches": "team"}, "the group that stands first in the file pays"
    assert settings.caller("sso:ana", "Ana", ["others"]) is None


def test_the_secret_of_the_client_is_shown_nowhere(tmp_path: Path) -> None:
    config = read(tmp_path)
    assert config.sso is not None
    assert config.sso.client_secret not in repr(config)


def test_a_check_says_where_people_sign_in_and_which_accounts_are_missing(tmp_path: Path) -> None:
    said = check(read(tmp_path))
    assert f"People sign in at {ISSUER}, back to http://127.0.0.1:8080/console/sign-in/callback" in said
    assert "sso: the data set searches has no account team yet" in said


@pytest.mark.parametrize(
    ("named", "changed"),
    [
        ("sso.issuer", {"issuer": "http://login.example.org"}),
        ("sso.issuer", {"issuer": "https://login.example.org?realm=staff"}),
        ("sso.issuer", {"issuer": "login.example.org"}),
        ("sso.address", {"old": "http://127.0.0.1:8080", "new": "http://counts.example.org"}),
        ("sso.session", {"more": 'session = "721min"'}),
        ("sso.scopes", {"more": 'scopes = ["profile"]'}),
        ("sso.isuer", {"more": 'isuer = "x"'}),
        ("sso.client_secret", {"old": '{ file = "client-secret" }', "new": '"in the clear"'}),
        ("sso.groups.analysts.grants", {"old": '{ searches = "team" }', "new": '{ payroll = "team" }'}),
        ("sso.groups.analysts.grants", {"old": '{ searches = "team" }', "new": '["searches"]'}),
        ("sso.groups.platform.role", {"old": '"admin"', "new": '"owner"'}),
    ],
)
def test_what_is_not_understood_or_not_safe_is_refused_by_name(
    tmp_path: Path, named: str, changed: dict[str, str]
) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        read(tmp_path, **changed)
    assert refused.value.argument == named
    assert "in the clear" not in str(refused.value)


def test_somebody_must_be_able_to_sign_in(tmp_path: Path) -> None:
    path = write_config(tmp_path, ISSUER)
    path.write_text(path.read_text().partition("[sso.groups")[0])
    with pytest.raises(InvalidArgumentError, match="nobody could sign in"):
        read_config(path)
