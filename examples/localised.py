"""Instructions that are made anew before each turn, from what is known of the user."""

from toolwright import Agent, ReadonlyContext
from toolwright.testing import ScriptedModel


async def in_their_language(ctx: ReadonlyContext) -> str:
    """May read the state, but not change it."""
    language = ctx.state.get("user:preferred_language", "en")
    return f"Always respond in the language with the code {language!r}."


def instructions_for(state: dict[str, str]) -> str:
    """What the model is told."""
    model = ScriptedModel("Goedendag!")
    Agent(name="localised", model=model, instructions=in_their_language).run_sync("Hi", state=state)
    return model.requests[0].instructions


def main() -> list[str]:
    """For a Dutch speaker, and for somebody who has not said."""
    told = [instructions_for({"user:preferred_language": "nl"}), instructions_for({})]
    print(told)
    return told


if __name__ == "__main__":
    main()
