"""The guided tour: its model is a recording, its tools really run."""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import anyio
import httpx2
import pytest
from examples.tour.__main__ import _free_or_any, make_app, open_shell
from examples.tour._home import open_home
from examples.tour._models import RECORDING, offered_models, recording
from examples.tour._project import write_project
from examples.tour._story import COLOURS, FIX, NOTICE, RELEASE, SIGN, SUPPLIER, chapters
from playwright.sync_api import expect
from tests._browser import browser
from tests._loaded import LoadedProgram
from tests.serve._serving import listening, new_session, say, serving, until

from toolwright.errors import ModelError, UsageError
from toolwright.messages import (
    History,
    ModelMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    ToolResult,
    user_message,
)
from toolwright.models import ModelRequest
from toolwright.serve import ModelChoice, ModelOffer, ServeSettings

pytestmark = pytest.mark.anyio
CALLS = (("c1", "write_todos"), ("c2", "bash"))
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")


@contextmanager
def toured(scratch: Path, *, shell: bool = True) -> Iterator[str]:
    """The address of a tour whose recording does not pause."""
    write_project(scratch / "till")
    with ThreadPoolExecutor(1) as outside:
        executor = outside.submit(open_shell, scratch / "till").result() if shell else None
    assert bool(executor) == shell, "no sandbox works on this machine"
    models = ModelChoice(
        ModelOffer(
            title=RECORDING,
            make=lambda: recording(scratch / "till", shell=shell, pause=0),
            notice=NOTICE,
        )
    )
    settings = ServeSettings(requests_per_second=0, work=True)
    with serving(make_app(scratch, models, executor, settings)) as address:
        yield address


@asynccontextmanager
async def tour(scratch: Path, *, shell: bool = True) -> AsyncIterator[httpx2.AsyncClient]:
    with toured(scratch, shell=shell) as address:
        async with httpx2.AsyncClient(base_url=address, timeout=30) as http:
            yield http


async def play(http: httpx2.AsyncClient, chapter: str, answer: dict | None = None) -> list[dict]:
    """The chapter's events; `answer` is given to the call that waits."""
    session = await new_session(http)
    await say(http, session, chapter)
    async with listening(http, f"/api/sessions/{session}/stream") as frames:
        seen = await until(frames, "run_ended")
        if answer is not None:
            [waiting] = (await http.get("/api/pending")).json()
            body = {"call_id": waiting["pending"]["call_id"], "answer": answer}
            reply = await http.post(f"/api/sessions/{session}/answers", json=body)
            assert reply.status_code == 200, reply.text
            seen += await until(frames, "run_ended", status="done")
    return [frame["data"] for frame in seen if frame["data"].get("seq")]


async def over(http: httpx2.AsyncClient, session: str) -> None:
    """Wait until the server takes a message again; the run's last event comes a moment before."""
    with anyio.fail_after(10):
        while (await http.get(f"/api/sessions/{session}")).json()["status"] == "running":
            await anyio.lowlevel.checkpoint()


def results(events: list[dict], name: str) -> list[str]:
    ended = [e["result"] for e in events if e["type"] == "tool_ended"]
    return [r["content"][0].get("text", "") for r in ended if r["name"] == name]


async def test_the_bug_is_found_by_running_the_tests_and_really_fixed_as_often_as_it_is_chosen(
    tmp_path: Path,
) -> None:
    async with tour(tmp_path) as http:
        for _ in range(2):
            events = await play(http, FIX)
            before, after = results(events, "bash")
            assert "FAILED" in before
            assert "FAILED" not in after
            assert events[-1]["text"].startswith("Fixed.")
            assert "(100 - discount_percent)" in (tmp_path / "till" / "till.py").read_text()


async def test_chapters_without_a_shell_can_be_chosen_again(tmp_path: Path) -> None:
    async with tour(tmp_path, shell=False) as http:
        for price in ("12 EUR", "13 EUR"):
            assert (await play(http, FIX))[-1]["text"].startswith("Fixed.")
            noted = await play(http, SUPPLIER, {"kind": "value", "value": price})
            assert noted[-1]["text"] == "Noted in `prices.txt`."
            assert price in (tmp_path / "till" / "prices.txt").read_text()


def turns() -> Iterator[Any]:
    """Every turn of every chapter that follows a call."""
    for shell in (True, False):
        for prompt, chapter in chapters(shell=shell).items():
            for number in range(1, len(chapter)):
                yield pytest.param(shell, prompt, number, id=f"{prompt[:12]} {number} {shell}")
    late = "[Update on call c of 'ask_supplier']\n49.90"
    yield pytest.param(True, late, 1, id="late answer")


@pytest.mark.parametrize("status", ["error", "denied", "failed"])
@pytest.mark.parametrize(("shell", "prompt", "number"), list(turns()))
async def test_a_call_that_went_wrong_is_never_called_a_success(
    tmp_path: Path, shell: bool, prompt: str, number: int, status: str
) -> None:
    """As when the server is killed in the middle of a call, or a file is not as it should be."""
    history = History()
    history.append(user_message(prompt))
    result = ToolResult(
        call_id="c",
        name="draw_sign",
        status="ok" if status == "failed" else status,  # type: ignore[arg-type]
        failed=True if status == "failed" else None,
        content=(TextPart("interrupted"),),
    )
    for _ in range(number):
        history.append(ModelMessage(parts=(ToolCall(call_id="c", name="draw_sign"),)))
        history.append(ToolMessage((result,)))
    reply = await recording(tmp_path, shell=shell, pause=0).respond(
        ModelRequest(history=history.view())
    )
    assert reply.calls == ()
    for said in ("Fixed", "Here it is", "Noted", "Done", "tests pass", "Released"):
        assert said not in reply.text
    assert re.search("did not work|no answer|No colour|leave it as it is", reply.text)


@pytest.mark.parametrize(
    ("prompt", "number", "says"),
    [
        (FIX, 2, "One line is wrong"),
        (FIX, 4, "tests still **fail**"),
        (RELEASE, 1, "The tests **fail**"),
    ],
)
async def test_tests_that_fail_are_not_tests_that_could_not_run(
    tmp_path: Path, prompt: str, number: int, says: str
) -> None:
    history = History()
    history.append(user_message(prompt))
    ran = TextPart("FAILED (failures=2)")
    result = ToolResult(call_id="c", name="bash", status="ok", failed=True, content=(ran,))
    for _ in range(number):
        history.append(ModelMessage(parts=(ToolCall(call_id="c", name="bash"),)))
        history.append(ToolMessage((result,)))
    reply = await recording(tmp_path, pause=0).respond(ModelRequest(history=history.view()))
    assert says in reply.text


async def test_one_of_several_calls_that_went_wrong_is_told(tmp_path: Path) -> None:
    history = History()
    history.append(user_message(FIX))
    for _ in range(2):
        calls = tuple(ToolCall(call_id=key, name=name) for key, name in CALLS)
        history.append(ModelMessage(parts=calls))
        history.append(
            ToolMessage(
                tuple(
                    ToolResult(
                        call_id=key,
                        name=name,
                        status="error" if name == "write_todos" else "ok",
                        failed=True if name == "bash" else None,
                        content=(TextPart("FAILED (failures=2)"),),
                    )
                    for key, name in CALLS
                )
            )
        )
    reply = await recording(tmp_path, pause=0).respond(ModelRequest(history=history.view()))
    assert reply.text.startswith("`write_todos` did not work")


async def test_commands_run_in_a_sandbox(tmp_path: Path) -> None:
    async with tour(tmp_path) as http:
        body = {"arguments": {"command": f"ls {tmp_path}; cat till.py"}}
        done = (await http.post("/api/tools/bash/call", json=body)).json()
    text = done["result"]["content"][0]["text"]
    assert "cash till" in text
    assert "No such file" in text
    assert "sessions.db" not in text


async def test_without_a_sandbox_there_is_no_shell_and_the_chapters_do_without(
    tmp_path: Path,
) -> None:
    async with tour(tmp_path, shell=False) as http:
        assert "bash" not in [tool["name"] for tool in (await http.get("/api/tools")).json()]
        fixed = await play(http, FIX)
        assert "no shell here" in fixed[-1]["text"]
        assert {r["status"] for e in fixed if (r := e.get("result"))} == {"ok"}
        released = await play(http, RELEASE, {"kind": "approve"})
        assert "Released 1.1.0" in released[-1]["text"]


async def test_a_release_waits_for_a_yes_and_a_no_is_kept_to(tmp_path: Path) -> None:
    async with tour(tmp_path) as http:
        refused = await play(http, RELEASE, {"kind": "reject", "reason": "not yet"})
        assert "nothing was released" in refused[-1]["text"]
        assert not (tmp_path / "till" / "RELEASES.md").exists()
        edited = {"kind": "approve", "arguments": {"version": "2.0.0", "notes": "fixed"}}
        await play(http, RELEASE, edited)
    assert (tmp_path / "till" / "RELEASES.md").read_text() == "- 2.0.0: fixed\n"


async def test_the_supplier_answers_in_the_inbox(tmp_path: Path) -> None:
    async with tour(tmp_path) as http:
        await play(http, SUPPLIER, {"kind": "value", "value": "49.90"})
    assert "49.90" in (tmp_path / "till" / "prices.txt").read_text()


async def test_the_answer_of_a_supplier_that_came_late_is_noted(tmp_path: Path) -> None:
    history = History()
    for text in (SUPPLIER, "hello", "[Update on call c1 of 'ask_supplier']\n49.90"):
        history.append(user_message(text))
    reply = await recording(tmp_path, pause=0).respond(ModelRequest(history=history.view()))
    assert [(c.name, "49.90" in c.arguments) for c in reply.calls] == [("write", True)]


@pytest.mark.parametrize(
    ("answer", "noted"),
    [
        ({"kind": "value", "value": "12 EUR"}, "till drawer: 12 EUR\n"),
        ({"kind": "value", "value": "49.90"}, "till drawer: 49.90\n"),
        ({"kind": "value", "value": {"price": 12}}, 'till drawer: {"price":12}\n'),
        ({"kind": "value", "value": None}, "till drawer: (no output)\n"),
        ({"kind": "value", "value": ""}, "till drawer: \n"),
        ({"kind": "reject", "reason": "not for sale"}, None),
        ({"kind": "reject", "reason": ""}, None),
    ],
)
async def test_nothing_is_lost_when_the_person_writes_while_the_supplier_is_asked(
    tmp_path: Path, answer: dict, noted: str | None
) -> None:
    async with tour(tmp_path, shell=False) as http:
        session = await new_session(http)
        path = f"/api/sessions/{session}"
        await say(http, session, SUPPLIER)
        async with listening(http, f"{path}/stream") as frames:
            await until(frames, "run_ended", status="paused")
            await over(http, session)
            await say(http, session, "By the way: hello!")
            await until(frames, "run_ended")
            [waiting] = (await http.get("/api/pending")).json()
            body = {"call_id": waiting["pending"]["call_id"], "answer": answer}
            assert (await http.post(f"{path}/answers", json=body)).status_code == 200
            ended = await until(frames, "run_ended", status="done")
    if noted is None:
        assert "noted nothing" in ended[-1]["data"]["text"]
        assert not (tmp_path / "till" / "prices.txt").exists()
    else:
        assert (tmp_path / "till" / "prices.txt").read_text() == noted


async def test_a_colour_is_chosen_and_the_sign_is_drawn_and_kept(tmp_path: Path) -> None:
    async with tour(tmp_path) as http:
        events = await play(http, SIGN, {"kind": "value", "value": "seagreen"})
        [sign] = [
            part
            for event in events
            if event["type"] == "tool_ended"
            for part in event["result"]["content"]
            if part["kind"] == "blob"
        ]
        assert sign["name"] == "sign.svg"


@pytest.mark.browser
@pytest.mark.xdist_group("workbench")
def test_a_sign_in_every_colour_is_seen(tmp_path: Path) -> None:
    with toured(tmp_path) as address, browser() as running:
        page = running.new_context().new_page()
        for colour in COLOURS:
            page.goto(address)
            page.get_by_role("button", name="Make a sign").click()
            page.get_by_label(colour).check()
            page.get_by_role("button", name="Choose", exact=True).click()
            sign = page.get_by_alt_text("sign.svg")
            expect(sign).to_be_visible(timeout=20_000)
            page.wait_for_function("i => i.complete", arg=sign.element_handle())
            assert sign.evaluate("i => i.naturalWidth") == 480, colour


@pytest.mark.parametrize("blank", ["", " ", "\t\n"])
def test_a_key_of_blanks_is_no_key(monkeypatch: pytest.MonkeyPatch, blank: str) -> None:
    for key in KEYS:
        monkeypatch.setenv(key, blank)
    models = offered_models(Path("till"), shell=True, recorded_only=False)
    assert not any(key in offer.title for offer in models.offers for key in KEYS)


def test_a_key_in_the_environment_is_offered_and_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in KEYS:
        monkeypatch.setenv(key, "a-key-that-nobody-may-use")
    models = offered_models(Path("till"), shell=True, recorded_only=False)
    assert models.name == "recorded:tour"
    assert models.chosen.notice == NOTICE
    offered = [offer.title for offer in models.offers]
    assert offered[0] == RECORDING
    assert all(any(key in title for title in offered) for key in KEYS)
    paid = next(offer for offer in models.offers if "OPENAI_API_KEY" in offer.title)
    assert "your OPENAI_API_KEY pays" in paid.notice
    assert len(offered_models(Path("till"), shell=True, recorded_only=True).offers) == 1
    assert "no shell" in offered_models(Path("till"), shell=False, recorded_only=True).chosen.notice


@contextmanager
def trap() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """The address of a server that refuses everything, and the headers that it was sent."""
    seen: list[dict[str, str]] = []

    class Refuses(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append({name.lower(): value for name, value in self.headers.items()})
            self.send_response(400)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Refuses) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", seen
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("variable", KEYS)
async def test_the_key_that_was_chosen_is_the_only_one_that_is_sent(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = ("GOOGLE_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_ADMIN_KEY", "OPENROUTER_API_KEY")
    for name in (*KEYS, *others):
        monkeypatch.setenv(name, f"the-{name}")
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    with trap() as (address, seen):
        for name in ("OPENAI", "ANTHROPIC", "GOOGLE_GEMINI", "GOOGLE_VERTEX"):
            monkeypatch.setenv(f"{name}_BASE_URL", address)
        models = offered_models(Path("till"), shell=True, recorded_only=False)
        models.choose(next(o.title for o in models.offers if o.title.endswith(variable)))
        history = History()
        history.append(user_message("hello"))
        with anyio.fail_after(20), pytest.raises(ModelError):
            await models.respond(ModelRequest(history=history.view()))
    sent = {
        found for headers in seen for v in headers.values() for found in re.findall("the-.*", v)
    }
    assert sent == {f"the-{variable}"}


@pytest.mark.browser
@pytest.mark.xdist_group("workbench")
def test_a_person_chooses_another_model_on_the_page(tmp_path: Path) -> None:
    write_project(tmp_path / "till")
    model = recording(tmp_path / "till", pause=0)
    models = ModelChoice(
        ModelOffer(title=RECORDING, make=lambda: model, notice=NOTICE),
        ModelOffer(title="dear:model", make=lambda: model, notice="It costs money."),
    )
    app = make_app(tmp_path, models, None, ServeSettings(requests_per_second=0))
    with serving(app) as address, browser() as running:
        page = running.new_context().new_page()
        page.goto(address)
        expect(page.get_by_label("Model")).to_have_value(RECORDING)
        page.get_by_label("Model").select_option("dear:model")
        expect(page.get_by_text("It costs money.")).to_be_visible()
        assert models.chosen.title == "dear:model"


async def test_the_page_says_that_the_model_is_a_recording(tmp_path: Path) -> None:
    async with tour(tmp_path) as http:
        info = (await http.get("/api/info")).json()
        assert info["notice"] == NOTICE
        assert len(info["suggestions"]) == 4
        with anyio.fail_after(10):
            said = (await play(http, "Who are you?"))[-1]["text"]
        assert "I am a recording" in said


@pytest.fixture
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@contextmanager
def started(
    scratch: Path, *words: str, program: type[subprocess.Popen[str]] = LoadedProgram
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The tour as a person starts it, and its address."""
    command = [sys.executable, "-m", "examples.tour", "--recorded", "--port", "0", *words]
    (scratch / "tmp").mkdir(exist_ok=True)
    places = {"TMPDIR": str(scratch / "tmp"), "XDG_STATE_HOME": str(scratch / "state")}
    with program(
        command, env={**os.environ, **places}, stderr=subprocess.PIPE, text=True
    ) as running:
        try:
            assert running.stderr is not None
            yield running, running.stderr.readline().strip().rpartition(" ")[2]
        finally:
            running.kill()


def ended(running: subprocess.Popen[str]) -> str:
    """End it with Ctrl-C: what it said since."""
    running.send_signal(signal.SIGINT)
    assert running.stderr is not None
    assert running.wait(20) == 0
    return running.stderr.read()


def client(address: str) -> httpx2.Client:
    return httpx2.Client(base_url=address, transport=httpx2.HTTPTransport(retries=5), timeout=20)


def test_the_tour_prints_one_address_and_stops_cleanly(scratch: Path) -> None:
    with started(scratch, program=subprocess.Popen) as (running, address):
        with client(address) as http:
            assert http.get("/api/health").json()["ok"]
            assert "<title>Toolwright</title>" in http.get("/").text
            body = {"arguments": {"command": "echo $((6 * 7))"}}
            assert "42" in http.post("/api/tools/bash/call", json=body).text
        assert ended(running) == ""
    assert [p.name for p in (scratch / "tmp").glob("toolwright-????????")] == []
    assert (scratch / "state" / "toolwright-tour").stat().st_mode & 0o777 == 0o700


async def test_a_call_still_waits_after_the_server_was_killed_and_started_again(
    scratch: Path,
) -> None:
    with started(scratch) as (running, address):
        async with httpx2.AsyncClient(base_url=address, timeout=30) as http:
            session = await new_session(http)
            await say(http, session, SUPPLIER)
            async with listening(http, f"/api/sessions/{session}/stream") as frames:
                await until(frames, "run_ended", status="paused")
        running.kill()
    with started(scratch) as (running, address):
        async with httpx2.AsyncClient(base_url=address, timeout=30) as http:
            [waiting] = (await http.get("/api/pending")).json()
            body = {
                "call_id": waiting["pending"]["call_id"],
                "answer": {"kind": "value", "value": "12 EUR"},
            }
            async with listening(http, f"/api/sessions/{session}/stream") as frames:
                reply = await http.post(f"/api/sessions/{session}/answers", json=body)
                assert reply.status_code == 200, reply.text
                await until(frames, "run_ended", status="done")
        # That the first one was killed may be told, and nothing else.
        assert [line for line in ended(running).splitlines() if "has died" not in line] == []
    with started(scratch) as (running, address), client(address) as http:
        assert "12 EUR" in http.get("/api/files/content", params={"path": "/prices.txt"}).text
        ended(running)
    with started(scratch, "--afresh") as (running, address), client(address) as http:
        assert http.get("/api/sessions").json() == []
        ended(running)


def test_a_second_tour_is_told_that_one_runs_already(scratch: Path) -> None:
    with started(scratch) as (running, _), started(scratch) as (second, told):
        assert (second.wait(20), told) == (1, "first.")
        ended(running)


async def test_a_start_that_was_interrupted_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "tour" / "kept" / "till.begun" / "old").mkdir(parents=True)
    with open_home(tmp_path / "tour", afresh=False) as home:
        assert sorted(p.name for p in home.iterdir()) == ["till"]
        assert (home / "till" / "till.py").exists()
        with pytest.raises(UsageError, match="already runs"), open_home(home.parent, afresh=True):
            pass
        (home / "till" / "till.py").write_text("changed")
    with open_home(tmp_path / "tour", afresh=False) as home:
        assert (home / "till" / "till.py").read_text() == "changed"
    with open_home(tmp_path / "tour", afresh=True) as home:
        assert (home / "till" / "till.py").read_text() != "changed"


@pytest.mark.parametrize(("words", "option"), [((), ""), (("PORT=9123",), "--port 9123")])
def test_the_demo_takes_another_port(words: tuple[str, ...], option: str) -> None:
    command = ["make", "--no-print-directory", "--dry-run", "--assume-old=setup", "demo", *words]
    root = Path(__file__).parents[2]
    shown = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    assert shown.strip().splitlines()[-1].endswith(f"-m examples.tour {option}".rstrip())


def test_a_taken_port_is_replaced_by_a_free_one_even_if_nobody_answers_there() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        assert _free_or_any(port) == 0
    assert _free_or_any(port) == port
