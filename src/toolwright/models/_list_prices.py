"""List prices for when no maintained ones are at hand.

A dated or preview name costs what the name without its suffix does. A test compares these rows with
`genai-prices`.
"""

from dataclasses import replace

from toolwright.models._price import Price

__all__ = ["LIST_PRICES"]


def _price(
    input: float,  # noqa: A002 - the name of the field
    output: float,
    cached: float | None = None,
    cache_write: float | None = None,
) -> Price:
    return Price(input=input, output=output, cached=cached, cache_write=cache_write)


def _claude(input: float, output: float, cached: float) -> Price:  # noqa: A002
    """Writing to Anthropic's cache costs a quarter more than reading afresh; for an hour, twice."""
    return Price(
        input=input,
        output=output,
        cached=cached,
        cache_write=1.25 * input,
        cache_write_1h=2 * input,
    )


def _above(tokens: int, price: Price, more: Price) -> Price:
    return replace(price, above={tokens: more})


LIST_PRICES: dict[str, Price] = {
    "openai:gpt-4.1": _price(2, 8, 0.5),
    "openai:gpt-4.1-mini": _price(0.4, 1.6, 0.1),
    "openai:gpt-4.1-nano": _price(0.1, 0.4, 0.025),
    "openai:gpt-4o": _price(2.5, 10, 1.25),
    "openai:gpt-4o-mini": _price(0.15, 0.6, 0.075),
    "openai:gpt-5": _price(1.25, 10, 0.125),
    "openai:gpt-5-mini": _price(0.25, 2, 0.025),
    "openai:gpt-5-nano": _price(0.05, 0.4, 0.005),
    "openai:gpt-5-pro": _price(15, 120),
    "openai:gpt-5.2": _price(1.75, 14, 0.175),
    "openai:gpt-5.3": _price(1.75, 14, 0.175),
    "openai:gpt-5.4": _above(272_000, _price(2.5, 15, 0.25), _price(5, 22.5, 0.5)),
    "openai:gpt-5.4-mini": _price(0.75, 4.5, 0.075),
    "openai:gpt-5.4-nano": _price(0.2, 1.25, 0.02),
    "openai:gpt-5.5": _above(272_000, _price(5, 30, 0.5), _price(10, 45, 1)),
    "openai:gpt-5.6-luna": _above(
        272_000, _price(0.2, 1.2, 0.02, 0.25), _price(0.4, 1.8, 0.04, 0.5)
    ),
    "openai:gpt-5.6-sol": _above(272_000, _price(4, 20, 0.4, 5), _price(8, 30, 0.8, 10)),
    "openai:gpt-5.6-terra": _above(272_000, _price(2, 12, 0.2, 2.5), _price(4, 18, 0.4, 5)),
    "openai:gpt-6-astra": _above(272_000, _price(10, 50, 1, 12.5), _price(20, 75, 2, 25)),
    "openai:gpt-6-luna": _above(
        272_000, _price(0.1, 0.5, 0.01, 0.125), _price(0.2, 0.75, 0.02, 0.25)
    ),
    "openai:gpt-6-sol": _above(272_000, _price(2, 10, 0.2, 2.5), _price(4, 15, 0.4, 5)),
    "openai:gpt-6.1-sol": _above(272_000, _price(2, 10, 0.1, 2.5), _price(4, 15, 0.2, 5)),
    "openai:gpt-6.1-terra": _above(272_000, _price(1, 5, 0.05, 1.25), _price(2, 7.5, 0.1, 2.5)),
    "openai:o3": _price(2, 8, 0.5),
    "openai:o3-mini": _price(1.1, 4.4, 0.55),
    "openai:o3-pro": _price(20, 80),
    "openai:o4-mini": _price(1.1, 4.4, 0.275),
    "anthropic:claude-3-5-haiku": _claude(0.8, 4, 0.08),
    "anthropic:claude-3-7-sonnet": _claude(3, 15, 0.3),
    "anthropic:claude-fable-5": _claude(10, 50, 1),
    "anthropic:claude-fable-5-1": _claude(10, 50, 0.25),
    "anthropic:claude-haiku-4-5": _claude(1, 5, 0.1),
    "anthropic:claude-haiku-5-5": _above(100_000, _claude(0.1, 0.5, 0.01), _claude(0.5, 2.5, 0.05)),
    "anthropic:claude-opus-4": _claude(15, 75, 1.5),
    "anthropic:claude-opus-4-0": _claude(15, 75, 1.5),
    "anthropic:claude-opus-4-1": _claude(15, 75, 1.5),
    "anthropic:claude-opus-4-5": _claude(5, 25, 0.5),
    "anthropic:claude-opus-4-6": _claude(5, 25, 0.5),
    "anthropic:claude-opus-4-7": _claude(5, 25, 0.5),
    "anthropic:claude-opus-4-8": _claude(5, 25, 0.5),
    "anthropic:claude-opus-5": _claude(5, 25, 0.5),
    "anthropic:claude-opus-5-5": _claude(4, 20, 0.2),
    "anthropic:claude-sonnet-4": _claude(3, 15, 0.3),
    "anthropic:claude-sonnet-4-0": _claude(3, 15, 0.3),
    "anthropic:claude-sonnet-4-5": _above(200_000, _claude(3, 15, 0.3), _claude(6, 22.5, 0.6)),
    "anthropic:claude-sonnet-4-6": _claude(3, 15, 0.3),
    "anthropic:claude-sonnet-5": _claude(2, 10, 0.2),
    "anthropic:claude-sonnet-5-5": _claude(2, 10, 0.1),
    "google:gemini-2.0-flash": _price(0.1, 0.4, 0.025),
    "google:gemini-2.5-flash": _price(0.3, 2.5, 0.03),
    "google:gemini-2.5-flash-lite": _price(0.1, 0.4, 0.01),
    "google:gemini-2.5-pro": _above(200_000, _price(1.25, 10, 0.125), _price(2.5, 15, 0.25)),
    "google:gemini-3-flash": _price(0.5, 3, 0.05),
    "google:gemini-3-pro": _above(200_000, _price(2, 12, 0.2), _price(4, 18, 0.4)),
    "google:gemini-3.1-flash-lite": _price(0.25, 1.5, 0.025),
    "google:gemini-3.1-pro": _above(200_000, _price(2, 12, 0.2), _price(4, 18, 0.4)),
    "google:gemini-3.5-flash": _price(1.5, 9, 0.15),
    "google:gemini-3.5-flash-lite": _price(0.3, 2.5, 0.03),
    "google:gemini-3.6-flash": _price(0.75, 3.75, 0.075),
    "google:gemini-3.7-flash": _price(0.75, 3.75, 0.075),
    "google:gemini-3.8-flash": _price(0.75, 3.75, 0.075),
    "google:gemini-4-argon": _price(2, 10, 0.1),
}
