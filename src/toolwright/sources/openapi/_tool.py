"""One operation of an API as a tool; what it needs to know is worked out when it is first looked at."""

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from typing import Any

import httpx2

from toolwright.errors import ToolError, UsageError
from toolwright.messages import ToolSpec
from toolwright.sources._secret_names import hide_secrets
from toolwright.sources.openapi._answers import to_answer
from toolwright.sources.openapi._client import Api
from toolwright.sources.openapi._digests import Digests
from toolwright.sources.openapi._operations import Operation
from toolwright.sources.openapi._plan import Plan, plan_call
from toolwright.sources.openapi._requests import build_request
from toolwright.sources.openapi._security import Granted, Security, apply_credential, renewed
from toolwright.sources.openapi._servers import Servers
from toolwright.tools import (
    Args,
    Output,
    ReadonlyContext,
    Tool,
    ToolContext,
    ask_to_sign_in,
    checked_parser,
)

__all__ = ["Connection", "HeaderProvider", "RestApiTool"]

_log = logging.getLogger("toolwright.sources")
HeaderProvider = Callable[[ReadonlyContext], Mapping[str, str] | Awaitable[Mapping[str, str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """What all operations of a document share: where it is, who asks, and how requests are sent."""

    api: Api
    servers: Servers
    security: Security
    header_provider: HeaderProvider | None = None
    preserve_property_names: bool = False
    name: str = ""
    """Which API it is, by what the developer has given."""
    digests: Digests = field(default_factory=Digests)


class RestApiTool(Tool):
    """A tool that calls one operation; `operation` has its method, path and tags."""

    operation: Operation
    _call: "_Call"

    def __init__(
        self, operation: Operation, connection: Connection, name: str | None = None
    ) -> None:
        call = _Call(operation, connection, name or operation.name)
        super().__init__(
            spec=_LazySpec(
                name=call.name,
                description=operation.description,
                parameters=lambda: call.plan.schema,
                tags=operation.tags,
            ),
            parse=call.parse,
            run=call.run,
            effects=operation.effects,
            idempotent=operation.repeatable,
            is_enabled=lambda ctx: call.plan.usable,
            source=f"openapi:{connection.name}@{connection.servers.host_for(operation)}",
            behind=call.behind,
        )
        object.__setattr__(self, "operation", operation)
        object.__setattr__(self, "_call", call)

    @property
    def name_there(self) -> str:
        """Its name in the document, without the prefix of the toolset."""
        return self.operation.name

    @cached_property
    def mark(self) -> str:
        """A digest of all that the definition is made of, without working out the schema."""
        digests, home = self._call.connection.digests, self.operation.home
        told = [*self.operation.told, self._call.reached(), self.effects, self.source]
        return digests.of(told, home)[:32]

    @property
    def problems(self) -> tuple[str, ...]:
        """What in the document could not be understood and was left out of the schema."""
        return self._call.plan.problems


class _Call:
    """What happens between the model's arguments and the output."""

    def __init__(self, operation: Operation, connection: Connection, name: str) -> None:
        self.operation = operation
        self.connection = connection
        self.name = name
        self._parser: Callable[[str], Args]

    def behind(self) -> dict[str, Any]:
        """Where requests go, how they sign in, and what in them is made of each argument."""
        return {**self.reached(), "body": self.plan.body_sent, "sent": self.plan.sent}

    def reached(self) -> dict[str, Any]:
        """Where requests go, and how they sign in."""
        operation, connection = self.operation, self.connection
        return {
            "request": f"{operation.method} {connection.servers.address(operation)}{operation.path}",
            "sign_in": connection.security.described(operation),
        }

    @cached_property
    def plan(self) -> Plan:
        keep_names = self.connection.preserve_property_names
        try:
            taken = self.connection.security.places(self.operation)
            plan = plan_call(self.operation, preserve_property_names=keep_names, taken=taken)
            self._parser = checked_parser(self.name, plan.schema)
        except Exception as error:  # noqa: BLE001 - whatever one is like, the others are of use
            told = isinstance(error, UsageError)
            why = f"{error if told else f'{type(error).__name__}: {error}'!s:.1000}"
            _log.error(
                "Operation %r of %s is left out: %s",
                self.name,
                self.connection.name or "an API",
                why,
            )
            return Plan.unusable(why)
        return plan

    def parse(self, raw: str) -> Args:
        if not self.plan.usable:
            raise ToolError(f"{self.name!r} cannot be used: {self.plan.problems[0]}")
        return self._parser(raw)

    async def run(self, args: Args, ctx: ToolContext) -> Output:
        headers = await self._own_headers(ctx)
        granted = await self.connection.security.grant(self.operation, ctx, headers)
        if granted.missing is None:
            response = await self._send(args, ctx, headers, granted)
            again = (
                await renewed(granted, ctx)
                if response.status_code == HTTPStatus.UNAUTHORIZED
                else None
            )
            if again is None:
                return await to_answer(self.name, response, ctx)
            granted = again
        if granted.missing is not None:
            return ask_to_sign_in(ctx, granted.missing)
        return await to_answer(self.name, await self._send(args, ctx, headers, granted), ctx)

    async def _send(
        self, args: Args, ctx: ToolContext, headers: Mapping[str, str], granted: Granted
    ) -> httpx2.Response:
        server = self.connection.servers.url_for(self.operation)
        request = await build_request(self.operation, self.plan, server, args, ctx)
        request.headers.update(headers)
        secrets = {name.lower() for name in headers}
        for config, credential in granted.credentials:
            secrets |= apply_credential(request, config.auth_scheme, credential)
        return await self.connection.api.send(request, secrets)

    async def _own_headers(self, ctx: ToolContext) -> Mapping[str, str]:
        provider = self.connection.header_provider
        if provider is None:
            return {}
        given = provider(ctx)
        headers = await given if inspect.isawaitable(given) else given
        hide_secrets(ctx, headers)
        return headers


class _LazySpec(ToolSpec):
    """A spec whose parameters are worked out when they are first read.

    Copies made with `dataclasses.replace` are given them as they are.
    """

    _parameters: Any

    def __init__(
        self,
        *,
        name: str,
        description: str,
        parameters: dict[str, Any] | Callable[[], dict[str, Any]],
        returns: dict[str, Any] | None = None,
        tags: tuple[str, ...] = (),
        examples: tuple[dict[str, Any], ...] = (),
    ) -> None:
        values: dict[str, Any] = {
            "name": name,
            "description": description,
            "returns": returns,
            "tags": tags,
        }
        values |= {"examples": examples, "_parameters": parameters}
        for field_name, value in values.items():
            object.__setattr__(self, field_name, value)

    @property
    def parameters(self) -> dict[str, Any]:  # type: ignore[override]
        """JSON Schema of the arguments."""
        return self._parameters() if callable(self._parameters) else self._parameters
