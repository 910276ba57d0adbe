"""The service against its own description: what that allows, and much that it does not, is answered as it says."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode, checks
from tests.server.running import Running

CHECKED = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
    checks.unsupported_method,
]
"""Not among them: that what fits is accepted, for a question may fit and still make no sense; and that a wrong key
is always met with 401, for after a few it is met with 429."""

OPERATIONS = (
    ("GET", "/v1/datasets"),
    ("GET", "/v1/datasets/{name}"),
    ("POST", "/v1/datasets/{name}/preview"),
    ("POST", "/v1/datasets/{name}/releases"),
    ("GET", "/v1/datasets/{name}/releases"),
    ("GET", "/v1/datasets/{name}/releases/{entry}"),
    ("GET", "/v1/datasets/{name}/releases/{entry}/receipt"),
    ("GET", "/v1/datasets/{name}/balance"),
    ("GET", "/v1/datasets/{name}/history"),
    ("GET", "/v1/streams"),
    ("GET", "/v1/streams/{name}"),
    ("GET", "/v1/streams/{name}/chart"),
)

ADMIN = (
    ("GET", "/v1/admin/datasets"),
    ("PUT", "/v1/admin/datasets/{name}/policy"),
    ("DELETE", "/v1/admin/datasets/{name}/policy"),
    ("PUT", "/v1/admin/datasets/{name}/failures"),
    ("POST", "/v1/admin/datasets/{name}/thaw"),
    ("GET", "/v1/admin/accounts"),
    ("POST", "/v1/admin/accounts"),
    ("DELETE", "/v1/admin/accounts/{account}"),
    ("PUT", "/v1/admin/accounts/{account}/failures"),
    ("POST", "/v1/admin/accounts/{account}/thaw"),
    ("GET", "/v1/admin/keys"),
    ("POST", "/v1/admin/keys"),
    ("POST", "/v1/admin/keys/{key}/rotate"),
    ("DELETE", "/v1/admin/keys/{key}"),
    ("PUT", "/v1/admin/keys/{key}/grants/{name}"),
    ("DELETE", "/v1/admin/keys/{key}/grants/{name}"),
)
"""These change what the other tests need; `test_admin_api.py` asks them on a ledger of its own."""


@pytest.fixture(scope="module")
def described(service: Running):
    schema = schemathesis.openapi.from_dict(service.ask("/v1/openapi.json", who=None).json())
    schema.config.update(base_url=service.url)
    return schema


def test_every_route_is_described(described):
    assert {(found.ok().method.upper(), found.ok().path) for found in described.get_all_operations()} == {
        *OPERATIONS,
        *ADMIN,
    }


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_requests_that_nobody_wrote(described, service: Running, method: str, path: str, mode: GenerationMode):
    operation = described[path][method]
    headers = {"Authorization": f"Bearer {service.keys['analyst']}"}

    @settings(
        max_examples=12,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
        derandomize=True,
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case) -> None:
        if mode is GenerationMode.POSITIVE and "name" in (case.path_parameters or {}):
            # A name that nobody gave would never get beyond the first question.
            case.path_parameters["name"] = "searches"
        case.call_and_validate(headers=headers, checks=CHECKED)

    ask()
