"""What goes over the wire, and what the model reads of the answer."""

import base64
import json
from collections.abc import AsyncIterator
from typing import Any, cast

import anyio
import pytest
from dirty_equals import IsPartialDict, IsStr
from inline_snapshot import snapshot
from starlette.responses import (
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from tests.sources.openapi._calling import act, answers, document
from tests.sources.openapi._recorder import Recorder

from toolwright.agent import Agent, Runner
from toolwright.backends import open_artifacts
from toolwright.messages import BlobPart, ToolCall, ToolMessage
from toolwright.models import ModelRequest
from toolwright.sources import CallLimits, OpenAPIToolset
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio

PNG = b"\x89PNG\r\n\x1a\n\0\0"


def toolset_at(
    server: Recorder, operation: dict[str, Any] | None = None, *, path: str = "/things", method: str = "get",
    **settings: Any,
) -> OpenAPIToolset:  # fmt: skip
    spec = document(
        operation or {}, path=path, method=method, servers=[{"url": f"{server.url}/v1"}]
    )
    return OpenAPIToolset(spec_dict=spec, **settings)


def query(name: str, kind: str = "string", **more: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": {"type": kind}, **more}


def body(media_type: str, schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {media_type: {"schema": schema, **more}}}}


async def test_arguments_go_to_path_query_header_cookie_and_body(server: Recorder) -> None:
    operation = {
        "parameters": [
            {"name": "thingId", "in": "path", "required": True, "schema": {"type": "integer"}},
            query("pageSize", "integer"),
            {"name": "X-Trace", "in": "header", "schema": {"type": "string"}},
            {"name": "theme", "in": "cookie", "schema": {"type": "string"}},
        ],
        **body(
            "application/json", {"type": "object", "properties": {"fullName": {"type": "string"}}}
        ),
    }
    toolset = toolset_at(server, operation, path="/things/{thingId}", method="put")
    result = await act(
        toolset, thing_id=7, page_size=2, x_trace="abc", theme="dark; a=b", full_name="Ada"
    )
    seen = server.last
    assert (seen.method, seen.path, seen.query) == ("PUT", "/v1/things/7", "pageSize=2")
    assert json.loads(seen.body) == {"fullName": "Ada"}
    assert seen.headers == IsPartialDict(
        {"x-trace": "abc", "cookie": "theme=dark%3B%20a%3Db", "content-type": "application/json"}
    )
    assert (result.status, result.text) == ("ok", '{"ok":true}')


async def test_optional_arguments_that_are_not_given_are_not_sent(server: Recorder) -> None:
    content = {"application/json": {"schema": {"type": "object", "properties": {"c": {}}}}}
    operation = {"parameters": [query("a"), query("b")], "requestBody": {"content": content}}
    await act(toolset_at(server, operation, method="post"), a="1")
    assert (server.last.query, server.last.body) == ("a=1", b"")
    assert "content-type" not in server.last.headers


@pytest.mark.parametrize("value", ["..", "../admin", "a/../../b", "..\\x", ".", ""])
async def test_a_value_cannot_lead_out_of_its_place_in_the_path(
    server: Recorder, value: str
) -> None:
    result = await act(toolset_at(server, path="/things/{id}"), id=value)
    assert result.status == "error"
    assert server.seen == []


@pytest.mark.parametrize(
    "value", ["a/b", "a?x=1", "a#b", "//evil.example", "@evil.example", "é %2F"]
)
async def test_anything_else_in_the_path_stays_one_segment(server: Recorder, value: str) -> None:
    result = await act(toolset_at(server, path="/things/{id}/end"), id=value)
    assert result.status == "ok", result.text
    assert server.last.path.count("/") == 4
    assert (server.last.query, server.last.path.endswith("/end")) == ("", True)


async def test_a_header_argument_cannot_add_another_header(server: Recorder) -> None:
    operation = {"parameters": [{"name": "X-A", "in": "header", "schema": {"type": "string"}}]}
    result = await act(toolset_at(server, operation), x_a="1\r\nX-Evil: 2")
    assert "cannot hold control characters" in result.text
    assert server.seen == []


async def test_arguments_that_do_not_fit_are_told_and_nothing_is_sent(server: Recorder) -> None:
    result = await act(toolset_at(server, {"parameters": [query("n", "integer")]}), n="many", x=1)
    assert result.status == "error"
    assert "'n'" in result.text
    assert "this tool takes: n" in result.text
    assert server.seen == []


async def test_forms_are_written_with_their_encodings(server: Recorder) -> None:
    schema = {"type": "object", "properties": {
        "name": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}},
        "meta": {"type": "object"}, "address": {"type": "object"}}}  # fmt: skip
    operation = body(
        "application/x-www-form-urlencoded",
        schema,
        encoding={"address": {"style": "deepObject"}, "tags": {"style": "form", "explode": False}},
    )
    await act(toolset_at(server, operation, method="post"),
              name="A & B", tags=["x", "y,z"], meta={"k": 1}, address={"city": "Oslo"})  # fmt: skip
    assert server.last.headers["content-type"] == "application/x-www-form-urlencoded"
    assert server.last.body.decode() == snapshot(
        "name=A%20%26%20B&tags=x,y%2Cz&meta=%7B%22k%22%3A%201%7D&address[city]=Oslo"
    )


async def test_multipart_bodies_carry_files_fields_and_json(server: Recorder) -> None:
    schema = {"type": "object", "required": ["photo"], "properties": {
        "photo": {"type": "string", "format": "binary"}, "note": {"type": "string"},
        "meta": {"type": "object"},
        "more": {"type": "array", "items": {"type": "string", "format": "binary"}}}}  # fmt: skip
    toolset = toolset_at(server, body("multipart/form-data", schema), method="post")
    photo = {
        "base64": base64.b64encode(PNG).decode(),
        "filename": "a.png",
        "media_type": "image/png",
    }
    result = await act(toolset, photo=photo, note="hi", meta={"k": 1}, more=[{"text": "t"}])
    assert result.status == "ok", result.text
    sent = server.last.body
    assert b'name="photo"; filename="a.png"\r\nContent-Type: image/png\r\n\r\n' + PNG in sent
    assert b'name="note"\r\nContent-Type: text/plain\r\n\r\nhi' in sent
    assert b'name="meta"\r\nContent-Type: application/json\r\n\r\n{"k": 1}' in sent
    assert b'name="more"; filename="more"\r\nContent-Type: text/plain\r\n\r\nt' in sent


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ({}, "exactly one of text, base64, artifact"),
        ({"text": "a", "base64": "YQ=="}, "exactly one of"),
        ({"base64": "%%%"}, "'body' is not base64"),
        ({"text": "a", "path": "/etc/passwd"}, "path"),
    ],
)
async def test_files_are_handed_over_in_one_of_three_ways_and_never_by_path(
    server: Recorder, file: dict[str, str], told: str
) -> None:
    toolset = toolset_at(server, body("application/octet-stream", {}), method="post")
    result = await act(toolset, body=file)
    assert result.status == "error"
    assert told in result.text
    assert server.seen == []


@pytest.mark.parametrize(
    ("media_type", "value", "sent"),
    [
        ("text/plain", "hello", b"hello"),
        ("application/xml", "<a/>", b"<a/>"),
        ("application/vnd.api+json", [1], b"[1]"),
        ("application/octet-stream", {"base64": "AAE="}, b"\0\1"),
    ],
)
async def test_text_and_binary_bodies(
    server: Recorder, media_type: str, value: Any, sent: bytes
) -> None:
    await act(toolset_at(server, body(media_type, {}), method="post"), body=value)
    assert (server.last.headers["content-type"], server.last.body) == (media_type, sent)


async def test_json_is_preferred_where_several_bodies_are_accepted(server: Recorder) -> None:
    media = {"text/plain": {}, "multipart/form-data": {}, "application/json": {}}
    operation = {"requestBody": {"required": True, "content": media}}
    await act(toolset_at(server, operation, method="post"), body={"a": 1})
    assert server.last.headers["content-type"] == "application/json"


async def test_an_http_error_is_told_with_status_and_body(server: Recorder) -> None:
    server.replies.append(JSONResponse({"message": "no such thing"}, status_code=404))
    result = await act(toolset_at(server))
    assert (result.status, result.text) == (
        "error",
        'HTTP 404 Not Found\n{"message":"no such thing"}',
    )
    assert result.data == {"status": 404, "body": {"message": "no such thing"}}


async def test_empty_answers_say_so(server: Recorder) -> None:
    server.replies.append(Response(status_code=204))
    assert (await act(toolset_at(server))).text == "HTTP 204 No Content"


async def test_pictures_are_shown_to_the_model(server: Recorder) -> None:
    server.replies.append(Response(PNG, media_type="image/png"))
    result = await act(toolset_at(server))
    assert result.content[1] == BlobPart(media_type="image/png", data=PNG)


async def test_other_binary_answers_go_to_a_file(server: Recorder) -> None:
    server.replies.append(Response(b"PK\0\1", media_type="application/zip"))
    result = await act(toolset_at(server))
    told = json.loads(result.text)
    assert told == {"file": IsStr(regex=r".*\.zip"), "media_type": "application/zip", "bytes": 4}
    assert await anyio.Path(told["file"]).read_bytes() == b"PK\0\1"


async def test_files_come_from_and_go_to_artifacts_where_there_are_some(server: Recorder) -> None:
    toolset = toolset_at(server, body("application/octet-stream", {}), method="post")
    server.replies.append(Response(b"PK\0\1", media_type="application/zip"))

    def send_it_back(request: ModelRequest) -> ToolCall:
        told = json.loads(cast(ToolMessage, request.history[-1]).results[0].text)
        return call("act", body={"artifact": told["artifact"]})

    model = ScriptedModel(
        call("act", body={"text": "zip it"}),
        send_it_back,
        call("act", body={"artifact": "nowhere.txt"}),
        "done",
    )
    runner = Runner(
        Agent(name="a", model=model, tools=[toolset]), artifacts=open_artifacts("memory://")
    )
    result = await runner.run("go")
    assert server.last.body == b"PK\0\1"
    last = [m for m in result.history if isinstance(m, ToolMessage)][-1].results[0]
    assert "There is no artifact 'nowhere.txt' to send; there are: act-" in last.text


async def _endless() -> AsyncIterator[bytes]:
    yield b"a"
    await anyio.sleep_forever()


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        (CallLimits(timeout=0.1), "did not answer within 0.1 s"),
        (CallLimits(deadline=0.1), "was not done within 0.1 s"),
    ],
)
async def test_a_server_that_does_not_finish_is_given_up(
    server: Recorder, limits: CallLimits, told: str
) -> None:
    server.replies.append(StreamingResponse(_endless()))
    toolset = toolset_at(server, limits=limits)
    assert told in (await act(toolset)).text
    await toolset.close()


async def test_an_answer_that_is_too_large_is_not_read_to_its_end(server: Recorder) -> None:
    server.replies.append(PlainTextResponse("x" * 5000))
    result = await act(toolset_at(server, limits=CallLimits(max_response_bytes=1000)))
    assert "larger than 1,000 bytes" in result.text


async def test_busy_servers_are_asked_again_when_they_said_to(server: Recorder) -> None:
    busy = {"status_code": 429, "headers": {"Retry-After": "0"}}
    server.replies += [Response(**busy), Response(status_code=503, headers={"Retry-After": "0"})]
    result = await act(toolset_at(server, method="post"))
    assert (result.status, len(server.seen)) == ("ok", 3)


async def test_a_wait_that_is_too_long_is_left_to_the_model(server: Recorder) -> None:
    server.replies.append(Response(status_code=429, headers={"Retry-After": "3600"}))
    result = await act(toolset_at(server))
    assert result.text == "HTTP 429 Too Many Requests\nRetry-After: 3600"
    assert len(server.seen) == 1


async def test_a_post_without_advice_to_retry_is_sent_once(server: Recorder) -> None:
    server.replies.append(Response(status_code=503))
    assert (await act(toolset_at(server, method="post"))).status == "error"
    assert len(server.seen) == 1


async def test_redirects_stay_within_the_origin(server: Recorder) -> None:
    server.replies.append(RedirectResponse(f"{server.url}/elsewhere"))
    assert (await act(toolset_at(server))).status == "ok"
    assert server.last.path == "/elsewhere"

    server.replies.append(RedirectResponse("http://localhost:1/secret"))
    result = await act(toolset_at(server))
    assert result.status == "error"
    assert "another origin and was not followed" in result.text


async def test_redirects_elsewhere_that_are_allowed_carry_no_secrets(server: Recorder) -> None:
    elsewhere = server.url.replace("127.0.0.1", "localhost")
    server.replies.append(RedirectResponse(f"{elsewhere}/there"))
    toolset = toolset_at(
        server,
        header_provider=lambda ctx: {"X-Key": "secret"},
        limits=CallLimits(redirects="any"),
        allow_private=["localhost"],
    )
    assert (await act(toolset)).status == "ok"
    assert ["x-key" in seen.headers for seen in server.seen] == [True, False]


async def test_a_redirect_to_a_private_address_is_refused_after_dns(server: Recorder) -> None:
    server.replies.append(RedirectResponse("http://127.0.0.2:1/secret"))
    result = await act(toolset_at(server, limits=CallLimits(redirects="any")))
    assert "not a public address" in result.text


async def test_cookies_of_one_call_are_not_sent_with_the_next(server: Recorder) -> None:
    first = JSONResponse({}, headers={"Set-Cookie": "session=ada; Path=/"})
    server.replies.append(first)
    toolset = toolset_at(server)
    await answers(toolset, call("act"))
    await answers(toolset, call("act"))
    assert [seen.headers.get("cookie") for seen in server.seen] == [None, None]


async def test_a_server_that_is_not_there_is_told(server: Recorder) -> None:
    toolset = OpenAPIToolset(spec_dict=document({}), server_url="http://127.0.0.1:1")
    assert "could not be reached" in (await act(toolset)).text


async def test_a_document_without_a_server_says_what_to_do() -> None:
    result = await act(OpenAPIToolset(spec_dict=document({})))
    assert "OpenAPIToolset(server_url=" in result.text


async def test_server_addresses_are_filled_in_by_the_developer_or_with_defaults(
    server: Recorder,
) -> None:
    port = server.url.rpartition(":")[2]
    template = {
        "url": "http://127.0.0.1:{port}/{stage}",
        "variables": {"port": {"default": port}, "stage": {"default": "live"}},
    }
    spec = document({}, servers=[template])
    await act(OpenAPIToolset(spec_dict=spec))
    await act(OpenAPIToolset(spec_dict=spec, server_variables={"stage": "test"}))
    assert [seen.path for seen in server.seen] == ["/live/things", "/test/things"]


async def test_a_document_from_the_web_cannot_name_a_private_server(server: Recorder) -> None:
    spec = document({}, servers=[{"url": "http://127.0.0.2:1"}])
    server.replies.append(JSONResponse(spec))
    toolset = OpenAPIToolset(f"{server.url}/openapi.json")
    assert "not a public address" in (await act(toolset)).text


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://169.254.169.254/latest", "not a public address"),
        ("http://[fe80::1]/", "not a public address"),
        ("ftp://127.0.0.1/", "names no server that can be called"),
        ("file:///etc", "names no server that can be called"),
        ("http://[::bad", "names no server that can be called"),
    ],
)
async def test_no_document_can_name_a_metadata_service_or_another_protocol(
    url: str, told: str
) -> None:
    toolset = OpenAPIToolset(spec_dict=document({}, servers=[{"url": url}]))
    assert told in (await act(toolset)).text


async def test_a_relative_server_is_meant_relative_to_the_documents_address(
    server: Recorder,
) -> None:
    server.replies.append(JSONResponse(document({}, servers=[{"url": "../v2"}])))
    await act(OpenAPIToolset(f"{server.url}/docs/openapi.json"))
    assert server.last.path == "/v2/things"


async def test_connections_can_be_closed_and_opened_again(server: Recorder) -> None:
    toolset = toolset_at(server)
    await act(toolset)
    await toolset.close()
    assert (await act(toolset)).status == "ok"
    await toolset.close()
