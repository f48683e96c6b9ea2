"""Instructions with values from the state, or made by a function."""

from toolwright import Agent, ReadonlyContext
from toolwright.testing import ScriptedModel


def in_their_language(ctx: ReadonlyContext) -> str:
    """Asked before each turn; may be async."""
    return f"Answer in {ctx.state.get('user:language', 'English')}."


plain_model, made_model = ScriptedModel("Hoi."), ScriptedModel("Hoi.")
plain = Agent(name="a", model=plain_model, instructions="The user is {user:name}. {hint?}")
made = Agent(name="b", model=made_model, instructions=in_their_language)
plain.run_sync("Hello", state={"user:name": "Ada"})
made.run_sync("Hello", state={"user:language": "Dutch"})
