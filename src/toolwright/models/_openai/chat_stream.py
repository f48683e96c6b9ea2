"""Put a Chat Completions stream together into the completion it stands for, handing on its pieces."""

from typing import Any

from toolwright.models._model import Delta, OnDelta

__all__ = ["StreamedCompletion"]


class StreamedCompletion:
    """The completion so far. `ended` says whether it came to its end."""

    def __init__(self, listen: OnDelta) -> None:
        self._listen = listen
        self._texts: dict[str, list[str]] = {}
        """Pieces of content, refusal and reasoning, by field."""
        self._details: list[Any] = []
        self._calls: dict[int, dict[str, Any]] = {}
        self._arguments: dict[int, list[str]] = {}
        self._completion: dict[str, Any] = {}
        self._finish_reason: str | None = None

    @property
    def ended(self) -> bool:
        """Whether the server said why the reply ends."""
        return self._finish_reason is not None

    def hear(self, chunk: dict[str, Any]) -> None:
        """Take in one chunk."""
        self._completion |= {key: chunk[key] for key in ("id", "usage") if chunk.get(key)}
        for choice in chunk.get("choices") or ():
            delta = choice.get("delta") or {}
            self._hear_text(delta)
            for call in delta.get("tool_calls") or ():
                self._hear_call(call)
            self._details += delta.get("reasoning_details") or ()
            self._finish_reason = choice.get("finish_reason") or self._finish_reason

    def completion(self) -> dict[str, Any]:
        """The whole completion, as the server would have sent it without streaming."""
        message: dict[str, Any] = {key: "".join(texts) for key, texts in self._texts.items()}
        if self._details:
            message["reasoning_details"] = self._details
        for index, call in self._calls.items():
            call["function"]["arguments"] = "".join(self._arguments[index])
        message["tool_calls"] = [self._calls[index] for index in sorted(self._calls)]
        choice = {"message": message, "finish_reason": self._finish_reason}
        return {**self._completion, "choices": [choice]}

    def _hear_text(self, delta: dict[str, Any]) -> None:
        for field in ("reasoning_content", "reasoning", "content", "refusal"):
            if text := delta.get(field):
                self._texts.setdefault(field, []).append(text)
                kind = "reasoning" if field.startswith("reasoning") else "text"
                self._listen(Delta(kind=kind, text=text))

    def _hear_call(self, piece: dict[str, Any]) -> None:
        index = self._position(piece)
        function = piece.get("function") or {}
        if index not in self._calls:
            name = function.get("name") or ""
            self._calls[index] = {"id": piece.get("id"), "function": {"name": name}}
            self._arguments[index] = []
            self._listen(Delta(kind="call", index=index, name=name))
        if text := function.get("arguments"):
            self._arguments[index].append(text)
            self._listen(Delta(kind="call", index=index, text=text))

    def _position(self, piece: dict[str, Any]) -> int:
        """Which call a piece belongs to; some servers leave the index out and send whole calls."""
        index = piece.get("index")
        if index is not None:
            return index
        return len(self._calls) if piece.get("id") else max(0, len(self._calls) - 1)
