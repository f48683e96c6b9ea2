"""An OpenAPI document and the files it refers to: what a `$ref` means, and where it leads."""

import errno
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from toolwright._private import read_plain_file
from toolwright.errors import UsageError
from toolwright.sources._secret_names import shown_address
from toolwright.sources.openapi._load import TextKind, parse_text

__all__ = [
    "BrokenRef",
    "Document",
    "document_at",
    "document_from",
    "document_of_site",
    "is_web",
]

_INDEX = re.compile("[0-9]{1,9}")

_MAX_HOPS = 50
Reader = Callable[[str], bytes]


class BrokenRef(Exception):
    """A `$ref` that leads nowhere, or to where it must not lead."""


class Document:
    """One parsed file. Others that it refers to are read when a reference is followed, or, on the
    web, were fetched with it."""

    def __init__(
        self,
        root: Any,
        *,
        base: str = "",
        read: Reader | None = None,
        files: "dict[str, Document | BrokenRef] | None" = None,
        is_swagger: bool | None = None,
    ) -> None:
        self.root = root
        self.is_swagger: bool = (
            isinstance(root, Mapping) and "swagger" in root if is_swagger is None else is_swagger
        )
        """Whether it is written in Swagger 2.0, as the files it refers to then are too."""
        self.base = base
        """The address or path it came from; empty when it was handed over as a value."""
        self._read = read
        self._files: dict[str, Document | BrokenRef] = {base: self} if files is None else files
        """By address: what was read, or why it could not be."""

    def follow(self, node: Any) -> "tuple[Any, Document]":
        """What `node` stands for when it is a `$ref`, itself otherwise, and the file that holds it."""
        home = self
        for _ in range(_MAX_HOPS):
            if not (isinstance(node, Mapping) and isinstance(node.get("$ref"), str)):
                return node, home
            node, home = home.look_up(node["$ref"])
        raise BrokenRef(f"more than {_MAX_HOPS} references in a row")

    def look_up(self, ref: str) -> "tuple[Any, Document]":
        """The value one `$ref` points at, and the file that holds it."""
        address, _, pointer = ref.partition("#")
        home = self._other(address) if address else self
        value = home.root
        for step in pointer.strip("/").split("/") if pointer.strip("/") else ():
            value = _step(value, unquote(step).replace("~1", "/").replace("~0", "~"), ref)
        return value, home

    def add(self, address: str, content: bytes) -> "Document | None":
        """Take a file that was fetched because a reference leads to it; None if it is unreadable."""
        try:
            root = parse_text(content, origin=shown_address(address))
        except UsageError as error:
            self.leave_out(address, str(error))
            return None
        other = Document(
            root, base=address, read=self._read, files=self._files, is_swagger=self.is_swagger
        )
        self._files[address] = other
        return other

    def leave_out(self, address: str, why: str) -> None:
        """Note why a file cannot be had: references to it are broken."""
        self._files[address] = BrokenRef(why)

    @property
    def left_out(self) -> list[str]:
        """Why files that were asked for are not there."""
        return [str(file) for file in self._files.values() if isinstance(file, BrokenRef)]

    def others(self) -> set[str]:
        """The addresses of other files that something in this one refers to."""
        found: set[str] = set()
        waiting, seen = [self.root], set[int]()
        while waiting:
            node = waiting.pop()
            # Aliases in YAML can make a small file endlessly large.
            if not isinstance(node, Mapping | list) or id(node) in seen:
                continue
            seen.add(id(node))
            if isinstance(node, list):
                waiting += node
                continue
            ref = node.get("$ref")
            if isinstance(ref, str) and (address := ref.partition("#")[0]):
                with suppress(BrokenRef):
                    found.add(self._target(address))
            waiting += node.values()
        return found - {self.base}

    def _target(self, address: str) -> str:
        try:
            return urljoin(self.base, address)
        except ValueError as error:
            raise BrokenRef(f"{address!r:.300} is no address: {error}") from error

    def _other(self, address: str) -> "Document":
        target = self._target(address)
        if target not in self._files:
            if self._read is None:
                raise BrokenRef(f"{address!r:.300} is another file, which is not at hand")
            try:
                self.add(target, self._read(target))
            except (UsageError, ValueError) as error:
                self.leave_out(target, str(error))
        found = self._files[target]
        if isinstance(found, BrokenRef):
            raise BrokenRef(str(found))
        return found


def _step(value: Any, key: str, ref: str) -> Any:
    if isinstance(value, Mapping) and key in value:
        return value[key]
    if isinstance(value, list) and _INDEX.fullmatch(key) and int(key) < len(value):
        return value[int(key)]
    raise BrokenRef(f"{ref!r:.300} leads nowhere: there is no {key!r:.300}")


def document_from(value: Mapping[str, Any] | str, kind: TextKind = "json") -> Document:
    """A document from parsed values or from its text."""
    if isinstance(value, str):
        return _checked(Document(parse_text(value, kind, origin="spec_str")), "spec_str")
    return _checked(Document(value), "spec_dict")


def is_web(address: str) -> bool:
    """Whether it is a web address, and not a path."""
    return urlsplit(address).scheme in ("http", "https")


def document_at(path: str | Path, most: int) -> Document:
    """A document from a file; it may refer to others in the same folder and below.

    Together they have at most so many bytes.
    """
    full = Path(path).expanduser().resolve()
    read = _reader_of_folder(full.parent, most)
    root = parse_text(read(str(full)), origin=str(full))
    return _checked(Document(root, base=str(full), read=read), str(full))


def document_of_site(content: bytes, url: str) -> Document:
    """A document from the web; what it refers to is fetched with it, and added."""
    shown = shown_address(url)
    return _checked(Document(parse_text(content, origin=shown), base=url), shown)


def _reader_of_folder(folder: Path, most: int) -> Reader:
    left = most

    def read(address: str) -> bytes:
        nonlocal left
        path = Path(unquote(address)).resolve()
        if not path.is_relative_to(folder):
            raise BrokenRef(f"{address!r} is outside the document's folder {str(folder)!r}")
        try:
            content = read_plain_file(path, max(left, 0))
        except OSError as error:
            if error.errno == errno.EFBIG:
                left = -1
                raise UsageError(
                    f"The OpenAPI document {str(path)!r} is too large: it and the files that belong "
                    f"to it may have {most:,} bytes; max_document_bytes allows more."
                ) from error
            raise UsageError(
                f"Cannot read the OpenAPI document {str(path)!r}: {error.strerror}."
            ) from error
        left -= len(content)
        return content

    return read


def _checked(document: Document, origin: str) -> Document:
    root = document.root
    if not isinstance(root, Mapping):
        raise UsageError(f"{origin} is not an OpenAPI document: it is a {type(root).__name__}.")
    version = str(root.get("openapi") or root.get("swagger") or "")
    if not version.startswith(("3.", "2.")) and version not in ("3", "2"):
        found = ", ".join(sorted(map(str, root))[:8]) or "nothing"
        raise UsageError(
            f"{origin} is not an OpenAPI document: wanted 'openapi: 3.x' or 'swagger: \"2.0\"', "
            f"found version {version!r} and the keys {found}."
        )
    return document
