"""Ask a person: to choose, to answer, or to fill in a form."""

from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from toolwright.tools import LongRunningFunctionTool, Output, Tool, plain_schema, tool

__all__ = ["ask_user", "ask_user_for", "get_user_choice"]


class _ChoiceTool(LongRunningFunctionTool[..., Output]):
    """A long-running tool whose call waits: there is no pending status that the model would read."""

    _note = ""
    _promises = False


def _get_user_choice(
    options: Annotated[list[str], Field(min_length=1)], question: str = ""
) -> Output:
    """Let the user choose one of several options; answers with the option they chose.

    Args:
        options: What the user can choose from.
        question: What they are choosing, when the conversation does not say it already.
    """
    return Output.pending(
        kind="choice",
        hint=question or "Please choose one.",
        payload={"options": options},
        schema={"type": "string", "enum": options},
    )


get_user_choice = _ChoiceTool(_get_user_choice, name="get_user_choice", effects="read")


@tool(effects="read")
def ask_user(question: str) -> Output:
    """Ask the user a question; answers with what they wrote.

    Args:
        question: What you need to know.
    """
    return Output.pending(kind="input", hint=question, schema={"type": "string"}, own_words=True)


def ask_user_for(form: Any, *, name: str, description: str) -> Tool:
    """A tool that lets the user fill in `form`: a pydantic model, another type, or a JSON Schema.

    What they send is checked against it before it is accepted, and the model reads it as JSON.
    """
    schema = form if isinstance(form, dict) else plain_schema(TypeAdapter(form))

    @tool(name=name, description=description, effects="read")
    def fill_in(question: str = "") -> Output:
        return Output.pending(
            kind="input", hint=question or description, schema=schema, own_words=True
        )

    return fill_in
