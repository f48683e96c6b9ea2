"""Keep the beginning and the end of a stream of any length."""

import codecs
from collections import deque
from pathlib import Path
from typing import IO

__all__ = ["Capture"]

_SPILL_LIMIT = 256 * 1024 * 1024
"""Bytes of a spill file: a command that writes for ever must not fill the disk."""


class Capture:
    """Takes bytes as they come; gives text with the middle left out when there were too many."""

    def __init__(self, limit: int, spill: Path | None = None) -> None:
        self._head_room = limit - limit // 2
        self._tail_room = limit // 2
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._spill_path = spill
        self._spill: IO[bytes] | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.size = 0
        self.spilled: Path | None = None

    @property
    def truncated(self) -> bool:
        """Whether something was left out."""
        return self.size > len(self._head) + self._tail_size

    def feed(self, data: bytes) -> str:
        """Take more bytes; returns them as text, a character split between two calls kept whole."""
        self.size += len(data)
        self._write_spill(data)
        room = self._head_room - len(self._head)
        self._head += data[:room] if room > 0 else b""
        self._append_tail(data[max(room, 0) :])
        return self._decoder.decode(data)

    def content(self) -> bytes:
        """All that was kept, without a mark where something is missing."""
        return bytes(self._head) + b"".join(self._tail)

    def text(self) -> str:
        """What was kept, with a mark in place of what was left out."""
        if not self.truncated:
            return self.content().decode("utf-8", "replace")
        left_out = self.size - len(self._head) - self._tail_size
        # A cut may fall inside a character; its pieces are dropped with the middle.
        head = self._head.decode("utf-8", "ignore")
        tail = b"".join(self._tail).decode("utf-8", "ignore")
        return f"{head}\n[… {left_out} bytes left out …]\n{tail}"

    def close(self) -> None:
        """Finish the spill file."""
        if self._spill is not None:
            self._spill.close()

    def _append_tail(self, data: bytes) -> None:
        if not data:
            return
        self._tail.append(data[-self._tail_room :] if self._tail_room else b"")
        self._tail_size += len(self._tail[-1])
        while self._tail_size > self._tail_room:
            excess = self._tail_size - self._tail_room
            first = self._tail.popleft()
            kept = first[excess:]
            if kept:
                self._tail.appendleft(kept)
            self._tail_size -= len(first) - len(kept)

    def _write_spill(self, data: bytes) -> None:
        """Write the whole stream from the moment it no longer fits."""
        if self._spill_path is None or self.size <= self._head_room + self._tail_room:
            return
        if self._spill is None:
            self._spill_path.parent.mkdir(parents=True, exist_ok=True)
            self._spill = self._spill_path.open("wb")
            self._spill.write(self.content())
            self.spilled = self._spill_path
        if self.size <= _SPILL_LIMIT:
            self._spill.write(data)
