from typing import Annotated

from pydantic import Field

from toolwright import UsageError, tool


@tool(
    examples=[
        {"title": "Login fails with a 500", "labels": ["bug"], "due": "2026-03-01"},
        {"title": "A darker theme"},
    ]
)
def create_ticket(
    title: str,
    labels: list[str] | None = None,
    due: Annotated[str | None, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")] = None,
) -> str:
    """Open a ticket in the tracker."""
    return f"Opened {title!r}."


def misspelt() -> str:
    try:
        tool(examples=[{"titel": "A darker theme"}])(create_ticket.func)
    except UsageError as error:
        return str(error)
    return "never here"


if __name__ == "__main__":
    print(misspelt())
