"""An append-only list of messages, each converted to a provider's format once."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, overload

from toolwright.messages._messages import Message

__all__ = ["History", "HistoryView"]

T = TypeVar("T")


class History(Sequence[Message]):
    """The conversation so far. It only grows; compaction makes another one."""

    __slots__ = ("_converted", "_messages")

    def __init__(self, messages: Sequence[Message] = ()) -> None:
        self._messages: list[Message] = list(messages)
        self._converted: dict[Any, list[Any]] = {}

    def append(self, message: Message) -> None:
        """Add one message at the end."""
        self._messages.append(message)

    def view(self) -> "HistoryView":
        """The history as it is now, unchanged by later appends, without a copy."""
        return HistoryView(self, len(self._messages))

    def converted(self, convert: Callable[[Message], T], upto: int) -> list[T]:
        """`convert` of the first `upto` messages; each message is converted once per `convert`.

        The caller owns the list it gets, not its items.
        """
        done = self._converted.setdefault(convert, [])
        for message in self._messages[len(done) : upto]:
            done.append(convert(message))
        return done[:upto]

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(self._messages)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        return self._messages[index]

    def __repr__(self) -> str:
        return f"History({len(self)} messages)"


class HistoryView(Sequence[Message]):
    """The first `length` messages of a history."""

    __slots__ = ("_history", "_length")

    def __init__(self, history: History, length: int) -> None:
        self._history = history
        self._length = length

    def converted(self, convert: Callable[[Message], T]) -> list[T]:
        """`convert` of every message; the work is done once per message and `convert`."""
        return self._history.converted(convert, self._length)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        if isinstance(index, slice):
            return self._history[: self._length][index]
        return self._history[range(self._length)[index]]

    def __repr__(self) -> str:
        return f"HistoryView({self._length} messages)"
