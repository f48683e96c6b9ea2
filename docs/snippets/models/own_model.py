from toolwright import Agent, TextPart
from toolwright.messages import ModelMessage
from toolwright.models import Delta, ModelRequest, OnDelta


class EchoModel:
    """Says what it was told."""

    name = "echo:1"

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        last = request.history[-1]
        text = f"You said: {last.text}" if last.kind == "user" else "Thanks."
        if on_delta is not None:
            on_delta(Delta(kind="text", text=text))
        return ModelMessage(parts=(TextPart(text),), model=self.name)


def main() -> str:
    return Agent(name="echo", model=EchoModel()).run_sync("Hello").text


if __name__ == "__main__":
    print(main())
