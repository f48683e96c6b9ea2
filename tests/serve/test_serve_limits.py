"""A server under more load than its machine takes: it says so, and not too often."""

import asyncio
import errno
import logging
import resource

import pytest

from toolwright.serve import _open_files
from toolwright.serve._log_limit import FewLines
from toolwright.serve._open_files import raise_file_limit
from toolwright.serve._serve import _on_loop_error

FULL = {
    "message": "socket.accept() out of system resource",
    "exception": OSError(errno.EMFILE, "Too many open files"),
}


@pytest.mark.parametrize(
    ("limits", "raised", "connections"),
    [
        ((1024, 4096), (4096, 4096), 4096 - 256),
        ((1024, resource.RLIM_INFINITY), (65_536, resource.RLIM_INFINITY), 65_536 - 256),
        ((1024, 1024), None, 1024 - 256),
        ((100, 100), None, 50),
        ((1_000_000, 1_000_000), None, 1_000_000 - 256),
    ],
    ids=["to the hard limit", "to enough", "as it is", "few", "many"],
)
def test_the_limit_of_files_is_raised_and_connections_stay_below_it(
    monkeypatch: pytest.MonkeyPatch,
    limits: tuple[int, int],
    raised: tuple[int, int] | None,
    connections: int,
) -> None:
    said: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda kind: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda kind, new: said.append(new))
    assert raise_file_limit() == connections
    assert said == ([] if raised is None else [raised])


def test_a_limit_that_cannot_be_raised_is_kept_to(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(kind: int, limits: tuple[int, int]) -> None:
        raise ValueError("not allowed")

    monkeypatch.setattr(resource, "getrlimit", lambda kind: (1024, 4096))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert raise_file_limit() == 1024 - _open_files._OTHERS


def test_a_lack_of_files_is_told_once_in_a_second(caplog: pytest.LogCaptureFixture) -> None:
    loop = asyncio.new_event_loop()
    try:
        for _ in range(2000):
            _on_loop_error(loop, FULL)
        _on_loop_error(loop, {"message": "something else"})
    finally:
        loop.close()
    own = [r for r in caplog.records if r.name == "toolwright.serve._serve"]
    assert 1 <= len(own) <= 2
    assert "Too many open files. Those that are open are answered" in own[0].getMessage()
    assert "something else" in [r.getMessage() for r in caplog.records if r.name == "asyncio"]


def test_of_many_lines_of_a_kind_few_pass_and_the_rest_is_counted() -> None:
    now = [0.0]
    few = FewLines(most=3, clock=lambda: now[0])

    def passes(text: str, *args: object) -> str | None:
        record = logging.LogRecord("log", logging.WARNING, "", 0, text, args, None)
        return record.getMessage() if few.filter(record) else None

    assert [passes("%s failed", n) for n in range(5)] == [
        *(f"{n} failed" for n in range(3)), None, None,
    ]  # fmt: skip
    assert passes("another") == "another"
    now[0] = 1.5
    assert passes("%s failed", "100%") == "100% failed (2 more like it)"
    assert passes("%s failed", 7) == "7 failed"
