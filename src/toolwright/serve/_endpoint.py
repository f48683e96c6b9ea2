"""One HTTP operation, declared once: its route and its entry in the OpenAPI document."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter
from starlette.middleware import Middleware
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolwright.messages import RepeatedKeys, each_once, to_wire
from toolwright.serve._problems import ProblemError

__all__ = ["Ask", "Endpoint", "Fields", "Nothing", "Routes", "route"]


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
    """The body is bytes that `run` reads itself."""
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

    def route(self, max_upload: int, locks: Sequence[Middleware] = ()) -> Route:
        """The Starlette route, behind `locks`; a raw body may be as big as an upload."""

        async def handle(request: Request) -> Response:
            ask = Ask(request, request.path_params, await self._body(request), self._query(request))
            answer = await self.run(ask)
            return answer if isinstance(answer, Response) else self._response(answer)

        limit = Middleware(RequestBodyLimitMiddleware, max_body_size=max_upload)
        middleware = [*(() if self.is_open else locks), *([limit] if self.raw_body else ())]
        return Route(self.path, handle, methods=[self.method], middleware=middleware)

    async def _body(self, request: Request) -> B:
        if not self.has_body:
            return self.body()
        kind = request.headers.get("content-type", "").partition(";")[0].strip()
        # Also what keeps other sites from posting a form here.
        if kind != "application/json":
            raise ProblemError(415, f"Content-Type is {kind!r}; send application/json.")
        content = await request.body()
        _refuse_twice(content)
        return self.body.model_validate_json(content)

    def _query(self, request: Request) -> Q:
        pairs = request.query_params.multi_items()
        twice = {key for key, _ in pairs if sum(key == other for other, _ in pairs) > 1}
        if twice:
            raise ProblemError(422, f"Query fields given more than once: {sorted(twice)}.")
        return self.query.model_validate(dict(pairs))

    def _response(self, answer: Any) -> Response:
        if self.returns is None:
            return Response(status_code=204)
        return Response(to_wire(self.answer, answer), self.status, media_type=self.media_type)


def _refuse_twice(content: bytes) -> None:
    """Refuse a JSON object that has a field twice: readers differ in which of the two they take."""
    try:
        json.loads(content, object_pairs_hook=each_once)
    except RepeatedKeys as error:
        said = f"Fields given more than once in one object: {error.names}."
        raise ProblemError(422, said) from error
    except (ValueError, RecursionError):
        return  # It is refused where it is read.


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
