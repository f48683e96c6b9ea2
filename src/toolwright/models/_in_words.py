"""Ask for structured output in words, where a model cannot be held to a schema."""

import json
from typing import Any

__all__ = ["with_output_wish"]


def with_output_wish(instructions: str, schema: dict[str, Any]) -> str:
    """`instructions` and, after them, the form that the final answer must have."""
    wish = "When you are done, answer only with JSON that fits this JSON Schema:\n"
    return f"{instructions}\n\n{wish}{json.dumps(schema)}".strip()
