"""Google's published definitions of REST services, to hold requests and answers against."""

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs

from tests.sources.openapi._recorder import Seen

__all__ = ["check_answer", "check_request"]

SERVICES = ("integrations.v1", "integrations.v2", "connectors.v1")


def check_request(seen: Seen) -> None:
    """Fail unless a published method takes this request: verb, path, query and body."""
    document, method = _method(seen)
    unknown = parse_qs(seen.query).keys() - method["parameters"].keys()
    assert not unknown, f"{seen.path} has no parameters {unknown}"
    if seen.body and "$ref" in method.get("request", {}):
        _check_fields(document, method["request"]["$ref"], json.loads(seen.body))


def check_answer(seen: Seen, answer: dict[str, Any]) -> None:
    """Fail unless the published method could answer like this."""
    document, method = _method(seen)
    if method["response"]["$ref"] != "GoogleApiHttpBody":
        _check_fields(document, method["response"]["$ref"], answer)


def _method(seen: Seen) -> tuple[dict[str, Any], dict[str, Any]]:
    for name in SERVICES:
        path = files("googleapiclient") / "discovery_cache" / "documents" / f"{name}.json"
        document = json.loads(path.read_text())
        for method in _methods(document):
            wanted = re.sub(r"\\\{\w+\\\}", "[^/:]+", re.escape(method["flatPath"]))
            if method["httpMethod"] == seen.method and re.fullmatch(f"/{wanted}", seen.path):
                return document, method
    raise AssertionError(f"no published method takes {seen.method} {seen.path}")


def _methods(resource: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from resource.get("methods", {}).values()
    for inner in resource.get("resources", {}).values():
        yield from _methods(inner)


def _check_fields(document: dict[str, Any], schema: str, value: Any) -> None:
    """Every field, at any depth, is one that the schema has."""
    known = document["schemas"][schema].get("properties", {})
    unknown = value.keys() - known.keys()
    assert not unknown, f"{schema} has no fields {unknown}"
    for name, inner in value.items():
        field = known[name]
        items = inner if isinstance(inner, list) else [inner]
        ref = field.get("$ref") or field.get("items", {}).get("$ref")
        for item in items if ref else []:
            _check_fields(document, ref, item)
