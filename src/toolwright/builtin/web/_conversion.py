"""Convert HTML to Markdown; as a program of its own too, which can be ended when a page takes too long.

The converter works in one go, holding the interpreter: nothing else would run until it is done, and
there are pages of a megabyte that keep it busy for minutes. Imports nothing of this library.
"""

import sys
from contextlib import suppress
from pathlib import Path

if __name__ == "__main__":
    sys.path.append(sys.argv[1])

try:
    import html_to_markdown
    from html_to_markdown import ConversionOptions, PreprocessingOptions
except ImportError as error:
    raise ImportError("Reading web pages needs an extra: pip install 'toolwright[web]'") from error

__all__ = ["LIBRARY", "MOST_LETTERS", "converted"]

LIBRARY = str(Path(html_to_markdown.__file__).parents[1])
"""Where the converter is installed."""
MOST_LETTERS = 32_000_000
"""Of the result: what is nested is indented, each line by all its levels."""
_MEMORY = 2 * 1024 * 1024 * 1024
_AROUND = ["nav", "footer", "svg", "template", "dialog", "[role=navigation]", "[aria-hidden=true]"]
"""What is around a page's content rather than in it."""


def converted(html: str, url: str) -> str:
    """The page as Markdown, its links made absolute."""
    options = ConversionOptions(
        base_url=url,
        extract_metadata=False,
        autolinks=False,
        exclude_selectors=_AROUND,
        preprocessing=PreprocessingOptions(preset="aggressive"),
    )
    return (html_to_markdown.convert(html, options).content or "")[:MOST_LETTERS]


def _limit(seconds: int) -> None:
    """Whoever has started this may be gone before it is done."""
    with suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 - not on every system

        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))


if __name__ == "__main__":
    _limit(int(sys.argv[2]))
    address, _, page = sys.stdin.buffer.read().decode("utf-8", "replace").partition("\n")
    sys.stdout.buffer.write(converted(page, address).encode("utf-8", "replace"))
