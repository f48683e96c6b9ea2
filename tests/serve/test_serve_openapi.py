"""The server keeps to its own OpenAPI document, whatever it is sent."""

import contextlib
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)
from tests.serve._agents import chatting
from tests.serve._serving import serving

from toolwright import Runner
from toolwright.backends import MemoryArtifacts
from toolwright.backends.files import FilesystemBackend
from toolwright.serve import ServeSettings, create_app

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
ENDLESS = ["/api/stream", "/api/sessions/{session_id}/stream"]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("files")
    (folder / "a.txt").write_text("hello")
    runner = Runner(chatting().agent, app_name="test", artifacts=MemoryArtifacts())
    settings = ServeSettings(requests_per_second=0)
    app = create_app(runner, settings=settings, files=FilesystemBackend(folder))
    with serving(app) as url:
        # A known id, so that not every request ends in a 404.
        httpx2.post(f"{url}/api/sessions", json={"session_id": "0"})
        yield url


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_every_operation_answers_as_documented(address: str, mode: GenerationMode) -> None:
    schema = schemathesis.openapi.from_url(f"{address}/api/openapi.json").exclude(path=ENDLESS)
    checked = 0
    for found in schema.get_all_operations():
        operation: Any = found.ok()  # type: ignore[union-attr]

        @settings(
            max_examples=8,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def check(case: schemathesis.Case) -> None:
            case.call_and_validate(checks=CHECKS)

        # An operation without parameters or body cannot be asked wrongly.
        with contextlib.suppress(Unsatisfiable):
            check()
            checked += 1
    assert checked >= 10


def test_the_document_names_every_operation_once_and_describes_the_events(address: str) -> None:
    document = httpx2.get(f"{address}/api/openapi.json").json()
    names = [
        operation["operationId"]
        for path in document["paths"].values()
        for operation in path.values()
    ]
    assert len(names) == len(set(names)) > 20
    assert "Event" in document["components"]["schemas"]
