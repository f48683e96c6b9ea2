"""Runs that go on without a browser, and everyone who watches them."""

from toolwright.serve.live._feed import Feed
from toolwright.serve.live._notices import Notice, Notices
from toolwright.serve.live._runs import LiveRuns, is_cancelled
from toolwright.serve.live._shown import Replayed, Shown
from toolwright.serve.live._sse import EventStream, Streams
from toolwright.serve.live._watch import watch

__all__ = [
    "EventStream",
    "Feed",
    "LiveRuns",
    "Notice",
    "Notices",
    "Replayed",
    "Shown",
    "Streams",
    "is_cancelled",
    "watch",
]
