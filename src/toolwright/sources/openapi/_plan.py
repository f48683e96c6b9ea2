"""How one operation is called: its arguments, where each goes, and the schema the model sees."""

import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from toolwright.sources.openapi._bodies import (
    FILE_SCHEMA,
    Body,
    BodyField,
    Media,
    choose_media,
    is_file,
)
from toolwright.sources.openapi._document import BrokenRef, Document
from toolwright.sources.openapi._names import Names, snake_case
from toolwright.sources.openapi._operations import Operation
from toolwright.sources.openapi._schemas import SchemaWriter
from toolwright.sources.openapi._shapes import object_shape
from toolwright.sources.openapi._swagger import body_from_swagger, parameter_from_swagger
from toolwright.sources.openapi._values import as_list, as_mapping, as_texts

__all__ = ["Location", "Parameter", "Plan", "plan_call"]

Location = Literal["path", "query", "header", "cookie"]
_ORDER: tuple[Location, ...] = ("path", "query", "header", "cookie")
_STYLES = {"path": "simple", "header": "simple", "query": "form", "cookie": "form"}
# Set by HTTP itself, by the credentials or by the developer; the specification has the first three
# ignored as parameters, and a model that sets one of the others would speak for someone else.
_RESERVED_HEADERS = frozenset(
    {
        "accept", "content-type", "authorization", "host", "cookie", "content-length", "connection",
        "transfer-encoding", "te", "trailer", "upgrade", "expect", "forwarded", "x-forwarded-for",
        "x-forwarded-host", "x-forwarded-proto", "x-forwarded-port", "x-forwarded-server",
        "x-forwarded-prefix", "x-forwarded-scheme", "x-forwarded-ssl", "x-real-ip", "true-client-ip",
        "x-client-ip", "x-cluster-client-ip", "cf-connecting-ip", "x-original-url", "x-rewrite-url",
        "x-http-method-override", "x-http-method", "x-method-override", "proxy-authorization",
        "proxy-connection", "keep-alive", "accept-encoding", "content-encoding", "via", "set-cookie",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One value in the path, the query, a header or a cookie."""

    argument: str
    """What the model calls it."""
    name: str
    """What the server calls it."""
    location: Location
    style: str
    explode: bool
    allow_reserved: bool = False
    as_json: bool = False
    """Written as JSON instead of in a style."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything a call needs to know about an operation."""

    parameters: tuple[Parameter, ...]
    body: Body | None
    schema: dict[str, Any]
    """JSON Schema of the arguments, complete in itself."""
    problems: tuple[str, ...]
    """What in the document could not be understood and was left out."""
    usable: bool = True
    """Whether it can be called at all."""

    @classmethod
    def unusable(cls, why: str) -> "Plan":
        """Of an operation that cannot be called."""
        nothing = {"type": "object", "properties": {}, "additionalProperties": False}
        return cls(parameters=(), body=None, schema=nothing, problems=(why,), usable=False)

    @property
    def sent(self) -> dict[str, dict[str, Any]]:
        """How each argument is sent, as plain JSON."""
        fields = () if self.body is None else self.body.fields
        found = {f.argument: {"location": "body", **asdict(f)} for f in fields}
        found |= {p.argument: asdict(p) for p in self.parameters}
        if self.body is not None and self.body.argument is not None:
            found[self.body.argument] = {"location": "body"}
        return {name: _without(how, "argument") for name, how in found.items()}

    @property
    def body_sent(self) -> dict[str, Any] | None:
        """How the body is written, as plain JSON; None when there is none."""
        return None if self.body is None else _without(asdict(self.body), "argument", "fields")


def plan_call(
    operation: Operation,
    *,
    preserve_property_names: bool = False,
    taken: Collection[tuple[str, str]] = (),
) -> Plan:
    """Work out how to call `operation`; what is `taken`, by location and name, is for credentials."""
    return _Planner(operation, preserve_property_names, taken).plan()


@dataclass(slots=True)
class _Planner:
    """Collects arguments one by one, so that each gets a name of its own."""

    operation: Operation
    keep_names: bool
    taken: Collection[tuple[str, str]] = ()
    writer: SchemaWriter = field(default_factory=SchemaWriter)
    names: Names = field(default_factory=Names)
    properties: dict[str, dict[str, Any]] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)

    def plan(self) -> Plan:
        raws = self._raw_parameters()
        parameters = [self._parameter(raw, home) for raw, home in _in_order(raws, self.taken)]
        body = self._body(*self._raw_body(raws))
        schema: dict[str, Any] = {"type": "object", "properties": self.properties}
        if self.required:
            schema["required"] = self.required
        schema["additionalProperties"] = False
        if self.writer.definitions:
            schema["$defs"] = self.writer.definitions
        return Plan(
            parameters=tuple(parameters), body=body, schema=schema,
            problems=tuple(self.writer.problems),
        )  # fmt: skip

    # -- parameters -------------------------------------------------------------------------

    def _raw_parameters(self) -> list[tuple[Mapping[str, Any], Document]]:
        """The path's parameters, replaced by the operation's own where both name the same."""
        found: dict[tuple[str, str], tuple[Mapping[str, Any], Document]] = {}
        for level in (self.operation.shared, self.operation.raw):
            for entry in as_list(level.get("parameters")):
                try:
                    raw, home = self.operation.home.follow(entry)
                except BrokenRef as error:
                    self.writer.problems.append(f"parameter: {error}")
                    continue
                if isinstance(raw, Mapping) and isinstance(raw.get("name"), str):
                    found[str(raw.get("in")), raw["name"]] = raw, home
        for name in re.findall(r"\{([^{}]+)\}", self.operation.path):
            # Documents forget to declare these, but the path cannot do without.
            text = {"type": "string"}
            undeclared = {"name": name, "in": "path", "schema": text, **text}
            found.setdefault(("path", name), (undeclared, self.operation.home))
        return list(found.values())

    def _parameter(self, raw: Mapping[str, Any], home: Document) -> Parameter:
        if home.is_swagger:
            raw = parameter_from_swagger(raw)
        name, location = raw["name"], raw["in"]
        content = raw.get("content")
        as_json = isinstance(content, Mapping) and bool(content)
        source = next(iter(content.values())) if as_json and content else raw
        schema = self.writer.write(as_mapping(source).get("schema"), home)
        required = location == "path" or raw.get("required") is True
        argument = self._argument(name, location, _described(schema, raw), required)
        style = raw.get("style") if isinstance(raw.get("style"), str) else _STYLES[location]
        explode = raw.get("explode")
        return Parameter(
            argument=argument, name=name, location=location, style=str(style),
            explode=explode if isinstance(explode, bool) else style == "form",
            allow_reserved=raw.get("allowReserved") is True, as_json=as_json,
        )  # fmt: skip

    def _argument(self, name: str, place: str, schema: dict[str, Any], required: bool) -> str:
        """Give a value its name: its own if that is free, else with the place it goes to."""
        wanted = name if self.keep_names else snake_case(name) or "value"
        argument = self.names.take(f"{wanted}_{place}" if wanted in self.names else wanted)
        self.properties[argument] = schema
        if required:
            self.required.append(argument)
        return argument

    # -- the body ---------------------------------------------------------------------------

    def _raw_body(
        self, raws: list[tuple[Mapping[str, Any], Document]]
    ) -> tuple[Mapping[str, Any] | None, Document]:
        home = self.operation.home
        if home.is_swagger:
            own, common = self.operation.raw.get("consumes"), as_mapping(home.root).get("consumes")
            consumes = as_texts(own) or as_texts(common)
            return body_from_swagger([raw for raw, _ in raws], consumes), home
        try:
            body, home = home.follow(self.operation.raw.get("requestBody"))
        except BrokenRef as error:
            self.writer.problems.append(f"request body: {error}")
            return None, home
        return body if isinstance(body, Mapping) else None, home

    def _body(self, raw: Mapping[str, Any] | None, home: Document) -> Body | None:
        chosen = choose_media(raw)
        if raw is None or chosen is None:
            return None
        required = raw.get("required") is True
        fields = self._fields(chosen, home, required) if chosen.has_fields else None
        whole = None if fields is not None else self._whole(raw, chosen, home)
        return Body(
            media_type=chosen.media_type, kind=chosen.kind, required=required,
            argument=whole, fields=fields or (), encoding=chosen.encoding,
            as_base64=chosen.as_base64,
        )  # fmt: skip

    def _fields(
        self, media: Media, home: Document, body_required: bool
    ) -> tuple[BodyField, ...] | None:
        """The body's properties as arguments of their own, when it is a plain object."""
        shape = object_shape(media.schema, home)
        if shape is None or (shape.required and not body_required and media.kind == "json"):
            return None
        return tuple(
            self._field(name, raw, raw_home, media.kind, body_required and name in shape.required)
            for name, (raw, raw_home) in shape.properties.items()
        )

    def _field(self, name: str, raw: Any, home: Document, kind: str, required: bool) -> BodyField:
        file = is_file(raw, home) if kind == "multipart" else "no"
        if file == "one":
            schema = FILE_SCHEMA
        elif file == "many":
            schema = {"type": "array", "items": FILE_SCHEMA}
        else:
            schema = self.writer.write(raw, home)
        argument = self._argument(name, "body", schema, required)
        return BodyField(argument=argument, name=name, is_file=file != "no")

    def _whole(self, raw: Mapping[str, Any], media: Media, home: Document) -> str:
        """The body as one argument."""
        if media.kind == "binary":
            schema = FILE_SCHEMA
        elif media.kind == "text":
            schema = {"type": "string"}
        else:
            schema = self.writer.write(media.schema, home)
        return self._argument(
            "body", "content", _described(schema, raw), raw.get("required") is True
        )


def _without(told: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: part for name, part in told.items() if name not in names}


def _in_order(
    raws: list[tuple[Mapping[str, Any], Document]], taken: Collection[tuple[str, str]]
) -> list[tuple[Mapping[str, Any], Document]]:
    """Path, query, header, cookie; without what is not the model's to set."""
    usable = [
        (raw, home)
        for raw, home in raws
        if raw.get("in") in _ORDER
        and not (raw["in"] == "header" and raw["name"].strip().lower() in _RESERVED_HEADERS)
        and (raw["in"], raw["name"].strip().lower()) not in taken
    ]
    return sorted(usable, key=lambda entry: _ORDER.index(entry[0]["in"]))


def _described(schema: dict[str, Any], raw: Mapping[str, Any]) -> dict[str, Any]:
    description = raw.get("description")
    if isinstance(description, str) and description.strip():
        return {**schema, "description": description.strip()}
    return schema
