"""Long text cut in its middle, so that its beginning and its end are both in sight."""

__all__ = ["shorten"]

_GAP = 40
"""More than what says how much is left out."""


def shorten(text: str, limit: int) -> str:
    """The text, or its beginning and end with the number of characters that are left out."""
    if len(text) <= limit + _GAP:
        return text
    head, tail = limit - limit // 2, limit // 2
    # In JSON the quotes end the text before the gap: a text cannot contain such a gap itself.
    quote = '"' if '"' in text[:head] else ""
    start = text[:head].rstrip("\\")
    left_out = len(text) - len(start) - tail
    return f"{start}{quote} … {left_out:,} characters … {quote}{text[-tail:]}"
