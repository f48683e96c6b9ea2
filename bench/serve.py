"""500 event streams on 200 runs at once: is anything lost, how late is it, what does it cost?

    python -m bench.serve [streams] [runs]

The server is a process of its own on SQLite, so its memory and processor time are its alone. Every
stream must get every stored event of its session exactly once and in order.
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx2

from toolwright import Agent, Runner, tool
from toolwright.backends import sqlite_address
from toolwright.messages import ModelMessage, TextPart, ToolCall, Usage
from toolwright.models import Delta, ModelRequest, OnDelta
from toolwright.serve import ServeSettings, create_app, serve_app

TURNS = 5
WORDS = 30
TICKS = os.sysconf("SC_CLK_TCK")


class Talker:
    """Streams a sentence and asks for two calls, turn after turn."""

    name = "bench:talker"

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        turn = sum(isinstance(message, ModelMessage) for message in request.history)
        for word in range(WORDS):
            if on_delta:
                on_delta(Delta(kind="text", text=f"word {word} "))
            await asyncio.sleep(0.02)
        calls = [
            ToolCall(call_id=f"{turn}-{n}", name="look", arguments='{"at": "the sky"}')
            for n in range(2)
        ]
        parts = (TextPart("A sentence."), *(calls if turn < TURNS - 1 else []))
        return ModelMessage(parts=parts, model=self.name, usage=Usage(requests=1))


@tool
async def look(at: str) -> str:
    """Look at something."""
    return f"{at} is blue. " * 20


def serve(port: str, store: str) -> None:
    runner = Runner(Agent(name="bench", model=Talker(), tools=[look]), store=store)
    # As `toolwright serve` starts it: its socket and its limits are part of what is measured.
    settings = ServeSettings(port=int(port), requests_per_second=0, max_connections=10_000)
    serve_app(lambda final: create_app(runner, settings=final), settings, lambda text: None)


class Listener:
    """One event stream, read from the socket itself so that the client costs little."""

    def __init__(self, port: int, session: str) -> None:
        self.port = port
        self.session = session
        self.numbers: list[int] = []
        self.frames = 0
        self.late: list[float] = []

    async def listen(self, ready: asyncio.Event) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=2**22)
        path = f"/api/sessions/{self.session}/stream"
        writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        ready.set()
        async for line in reader:
            if line.startswith(b"data: ") and self._take(json.loads(line[6:])):
                break
        writer.close()

    def _take(self, event: dict) -> bool:
        self.frames += 1
        self.late.append(time.time() - event["at"])
        if event["seq"]:
            self.numbers.append(event["seq"])
        return event["type"] == "run_ended"


def used(pid: int) -> tuple[float, float]:
    """Megabytes of memory now, and seconds of processor time so far."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return pages * 4096 / 1e6, (int(fields[11]) + int(fields[12])) / TICKS


async def load(port: int, pid: int, streams: int, runs: int) -> None:
    base = f"http://127.0.0.1:{port}"
    async with httpx2.AsyncClient(base_url=base, timeout=120) as http:
        sessions = [(await http.post("/api/sessions", json={})).json()["id"] for _ in range(runs)]
        memory, cpu = used(pid)
        print(f"idle                    {memory:8.1f} MB")
        listeners = [Listener(port, sessions[n % runs]) for n in range(streams)]
        readies = [asyncio.Event() for _ in listeners]
        following = [
            asyncio.create_task(one.listen(ready))
            for one, ready in zip(listeners, readies, strict=True)
        ]
        await asyncio.gather(*(ready.wait() for ready in readies))
        await asyncio.sleep(2)
        print(f"{streams} streams, no runs   {used(pid)[0]:8.1f} MB")
        started, peak = time.time(), 0.0
        for session in sessions:
            await http.post(f"/api/sessions/{session}/runs", json={"message": "go"})
        while not all(task.done() for task in following):
            peak = max(peak, used(pid)[0])
            await asyncio.sleep(0.2)
        took = time.time() - started
        await asyncio.sleep(2)
        after, spent = used(pid)
    report(listeners, took, spent - cpu, peak, after)


def report(listeners: list[Listener], took: float, cpu: float, peak: float, after: float) -> None:
    frames = sum(one.frames for one in listeners)
    late = sorted(second for one in listeners for second in one.late)
    middle, most = late[len(late) // 2], late[len(late) * 95 // 100]
    whole = [one for one in listeners if one.numbers == list(range(1, len(one.numbers) + 1))]
    print(f"peak                    {peak:8.1f} MB")
    print(f"afterwards              {after:8.1f} MB")
    print(f"frames delivered        {frames:8d}  in {took:.1f} s: {frames / took:.0f} per second")
    print(f"server's processor time {cpu:8.1f} s, {cpu / frames * 1e6:.0f} µs per frame")
    print(f"late by, p50 / p95      {middle * 1e3:8.0f} / {most * 1e3:.0f} ms")
    print(f"streams without a gap   {len(whole):8d} of {len(listeners)}")
    assert len(whole) == len(listeners), "events were lost or repeated"


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


def wait_until_up(port: int) -> None:
    transport = httpx2.HTTPTransport(retries=8)
    with httpx2.Client(transport=transport, timeout=30) as http:
        http.get(f"http://127.0.0.1:{port}/api/health")


def main(streams: int = 500, runs: int = 200) -> None:
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        store = sqlite_address(Path(folder) / "bench.db")
        command = [sys.executable, "-m", "bench.serve", "--server", str(port), store]
        server = subprocess.Popen(command)
        try:
            wait_until_up(port)
            asyncio.run(load(port, server.pid, streams, runs))
        finally:
            server.terminate()
            server.wait(20)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--server"]:
        serve(*sys.argv[2:4])
    else:
        main(*map(int, sys.argv[1:]))
