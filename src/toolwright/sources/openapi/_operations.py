"""The operations of a document, listed without looking into their schemas."""

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from toolwright.messages import Effects
from toolwright.sources.openapi._document import BrokenRef, Document
from toolwright.sources.openapi._names import Names, snake_case
from toolwright.sources.openapi._values import as_mapping, as_texts

__all__ = ["METHODS", "Operation", "list_operations", "path_items"]

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
_REPEATABLE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "QUERY", "PUT", "DELETE"})
_READING = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "QUERY"})
_MAX_DESCRIPTION = 1000
_LONGEST_NAME = 60
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Operation:
    """One method of one path, as the document has it."""

    name: str
    """Unique in the document, snake-cased, at most 60 characters."""
    operation_id: str
    """As the document writes it; empty when it has none."""
    method: str
    path: str
    tags: tuple[str, ...]
    raw: Mapping[str, Any]
    shared: Mapping[str, Any]
    """The path item, whose parameters and servers hold for all of its operations."""
    home: Document
    """The file the operation stands in; its references start there."""

    @property
    def description(self) -> str:
        """Summary and description for the model, cut where a model stops reading."""
        texts = [self.raw.get("summary"), self.raw.get("description")]
        kept = [text.strip() for text in texts if isinstance(text, str) and text.strip()]
        text = "\n\n".join(dict.fromkeys(kept)) or f"{self.method} {self.path}"
        if len(text) <= _MAX_DESCRIPTION:
            return text
        return text[:_MAX_DESCRIPTION].rsplit(None, 1)[0] + " …"

    @property
    def told(self) -> list[Any]:
        """All that its arguments and its description are made of."""
        own = [self.raw.get(part) for part in ("parameters", "requestBody", "consumes")]
        common = [self.shared.get("parameters"), as_mapping(self.home.root).get("consumes")]
        return [self.method, self.path, self.description, *own, *common]

    @property
    def effects(self) -> Effects:
        """What calling it may do to the world, judged by its method."""
        if self.method in _READING:
            return "read"
        return "destructive" if self.method == "DELETE" else "write"

    @property
    def repeatable(self) -> bool:
        """Whether calling it twice does no more than calling it once."""
        return self.method in _REPEATABLE


def list_operations(document: Document) -> dict[str, Operation]:
    """All operations by name, in the document's order."""
    found: dict[str, Operation] = {}
    names = Names(_LONGEST_NAME)
    for path, shared, home in path_items(document, _tell):
        for method in METHODS:
            raw = shared.get(method)
            if isinstance(raw, Mapping):
                operation_id = str(raw.get("operationId") or "")
                name = names.take(_name(operation_id, method, path))
                found[name] = Operation(
                    name=name, operation_id=operation_id, method=method.upper(), path=path,
                    tags=tuple(as_texts(raw.get("tags"))), raw=raw, shared=shared, home=home,
                )  # fmt: skip
    return found


def path_items(
    document: Document, tell: Callable[[str, BrokenRef], None] = lambda _path, _error: None
) -> Iterator[tuple[str, Mapping[str, Any], Document]]:
    """Each path, what stands there and the file that holds it.

    Those whose reference is broken are left out, and told of.
    """
    for path, item in as_mapping(document.root.get("paths")).items():
        try:
            item, home = document.follow(item)
        except BrokenRef as error:
            tell(path, error)
            continue
        if isinstance(item, Mapping) and path.startswith("/"):
            yield path, item, home


def _tell(path: str, error: BrokenRef) -> None:
    _log.warning("The path %r of an OpenAPI document is left out: %s", path, error)


def _name(operation_id: str, method: str, path: str) -> str:
    return snake_case(operation_id) or snake_case(f"{method} {path}")
