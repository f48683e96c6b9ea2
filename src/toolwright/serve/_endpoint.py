"""One HTTP operation, declared once: its route and its entry in the OpenAPI document."""

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolwright.messages import RepeatedKeys, each_once, to_wire
from toolwright.serve._problems import ProblemError
from toolwright.serve._settings import ServeSettings

__all__ = ["Ask", "Endpoint", "Fields", "Nothing", "Routes", "route"]


_OPEN_BODY = 4096
"""Bytes of a body that are read of somebody who has not shown the token."""


_UNKNOWN = 50
"""Unknown fields that are told one by one."""


class Fields(BaseModel):
    """A request's body or query: unknown fields are refused, so that a slip is noticed."""

    model_config = ConfigDict(extra="forbid")


class Nothing(Fields):
    """No body, or no query."""


B = TypeVar("B", bound=BaseModel)
Q = TypeVar("Q", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Ask(Generic[B, Q]):
    """One request, validated."""

    request: Request
    path: Mapping[str, str]
    body: B
    query: Q
    content: bytes = b""
    """The body as it came, where it may be anything."""


@dataclass(frozen=True, kw_only=True)
class Endpoint(Generic[B, Q]):
    """What can be asked under one method and path, and how it is answered."""

    method: str
    path: str
    run: Callable[[Ask[B, Q]], Awaitable[Any]]
    summary: str
    tag: str
    body: type[B] = Nothing  # type: ignore[assignment]
    query: type[Q] = Nothing  # type: ignore[assignment]
    returns: Any = None
    """The type of the answer; None when `run` makes its own response."""
    status: int = 200
    media_type: str = "application/json"
    errors: tuple[int, ...] = ()
    """Refusals besides those that any request can meet."""
    raw_body: bool = False
    """The body may be anything, and as long as an upload; `run` finds it in `Ask.content`."""
    is_open: bool = False
    """Answered without the token."""

    @property
    def has_body(self) -> bool:
        """Whether a JSON body is read."""
        return self.body is not Nothing

    @cached_property
    def answer(self) -> TypeAdapter[Any]:
        """Turns what `run` returns into JSON."""
        return TypeAdapter(self.returns)

    def route(self, settings: ServeSettings, locks: Sequence[Middleware] = ()) -> Route:
        """The Starlette route, behind `locks`."""
        limit = settings.max_upload if self.raw_body else settings.max_body
        limit = min(limit, _OPEN_BODY) if self.is_open else limit

        async def handle(request: Request) -> Response:
            query = self._query(request)
            body = await self._body(request, limit) if self.has_body else self.body()
            content = await _read(request, limit) if self.raw_body else b""
            answer = await self.run(Ask(request, request.path_params, body, query, content))
            return answer if isinstance(answer, Response) else self._response(answer)

        middleware = () if self.is_open else locks
        return Route(self.path, handle, methods=[self.method], middleware=middleware)

    async def _body(self, request: Request, limit: int) -> B:
        kind = request.headers.get("content-type", "").partition(";")[0].strip()
        # Also what keeps other sites from posting a form here.
        if kind != "application/json":
            raise ProblemError(415, f"Content-Type is {kind!r}; send application/json.")
        content = await _read(request, limit)
        _refuse_many(_refuse_twice(content), self.body)
        return self.body.model_validate_json(content)

    def _query(self, request: Request) -> Q:
        pairs = request.query_params.multi_items()
        counted = Counter(key for key, _ in pairs)
        if len(counted) < len(pairs):
            twice = sorted(key for key, count in counted.items() if count > 1)
            raise ProblemError(422, f"Query fields given more than once: {twice}.")
        _refuse_many(counted, self.query)
        return self.query.model_validate(dict(pairs))

    def _response(self, answer: Any) -> Response:
        if self.returns is None:
            return Response(status_code=204)
        return Response(to_wire(self.answer, answer), self.status, media_type=self.media_type)


async def _read(request: Request, limit: int) -> bytes:
    """The body; one that says it is too long is not read at all."""
    length = request.headers.get("content-length", "")
    # More digits than any length has: not read as a number, which could take long.
    if length.isascii() and length.isdigit() and (len(length) > 18 or int(length) > limit):
        raise _too_long(limit)
    pieces, size = [], 0
    async for piece in request.stream():
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            raise _too_long(limit)
    return b"".join(pieces)


def _too_long(limit: int) -> ProblemError:
    return ProblemError(413, f"The body of this request is longer than {limit} bytes.")


def _refuse_many(found: Any, model: type[BaseModel]) -> None:
    """Refuse very many unknown fields at once: to tell of each would hold up the others."""
    if isinstance(found, dict) and issubclass(model, Fields):
        unknown = found.keys() - model.model_fields.keys()
        if len(unknown) > _UNKNOWN:
            raise ProblemError(422, f"There are {len(unknown)} unknown fields.")


def _refuse_twice(content: bytes) -> Any:
    """What the content says; refused is a JSON object that has a field twice, since readers differ in
    which of the two they take."""
    try:
        return json.loads(content, object_pairs_hook=each_once)
    except RepeatedKeys as error:
        said = f"Fields given more than once in one object: {error.names}."
        raise ProblemError(422, said) from error
    except (ValueError, RecursionError):
        return None  # It is refused where it is read.


F = TypeVar("F", bound=Callable[..., Awaitable[Any]])


def route(method: str, path: str, **facts: Any) -> Callable[[F], F]:
    """Mark a method of a `Routes` class; `facts` are `Endpoint`'s, the docstring its summary."""

    def mark(function: F) -> F:
        vars(function)["route"] = {"method": method, "path": path, **facts}
        return function

    return mark


class Routes:
    """A group of operations: methods marked with `route`."""

    tag: str

    def endpoints(self) -> list[Endpoint[Any, Any]]:
        """The operations, in the order they are written."""
        return [
            Endpoint(run=getattr(self, name), summary=summary(member), tag=self.tag, **member.route)
            for name, member in vars(type(self)).items()
            if hasattr(member, "route")
        ]


def summary(function: Callable[..., Any]) -> str:
    """The first line of a docstring, without its full stop."""
    return (function.__doc__ or "").strip().partition("\n")[0].removesuffix(".")
