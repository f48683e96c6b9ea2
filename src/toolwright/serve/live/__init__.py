"""Runs that go on without a browser, and everyone who watches them."""

from toolwright.serve.live._feed import BOOT, Feed, Shown
from toolwright.serve.live._notices import Notice, Notices
from toolwright.serve.live._runs import LiveRuns, is_cancelled
from toolwright.serve.live._sse import EventStream, Streams
from toolwright.serve.live._watch import watch

__all__ = [
    "BOOT",
    "EventStream",
    "Feed",
    "LiveRuns",
    "Notice",
    "Notices",
    "Shown",
    "Streams",
    "is_cancelled",
    "watch",
]
