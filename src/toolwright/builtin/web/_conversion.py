"""Convert HTML to Markdown; as a program of its own too, which can be ended when a page takes too long.

The converter works in one go, holding the interpreter: nothing else would run until it is done, and
there are pages of a megabyte that keep it busy for minutes. So do regular expressions, which is why
everything that reads a page is here. Imports nothing of this library.
"""

import html as entities
import re
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

__all__ = ["LIBRARY", "MOST_LETTERS", "page_title", "readable"]

LIBRARY = str(Path(html_to_markdown.__file__).parents[1])
"""Where the converter is installed."""
MOST_LETTERS = 32_000_000
"""Of the result: what is nested is indented, each line by all its levels."""
_MEMORY = 2 * 1024 * 1024 * 1024
_AROUND = ["nav", "footer", "svg", "template", "dialog", "[role=navigation]", "[aria-hidden=true]"]
"""What is around a page's content rather than in it."""
_ENOUGH = 200
"""Characters that make a page's main part worth showing without the rest."""
# Each of these reads a page once, however it is broken: none can look past the next tag.
_MAIN_BEGINS = re.compile(r"<main\b", re.IGNORECASE)
_MAIN_ENDS = re.compile(r"</main\b", re.IGNORECASE)
_TITLE = re.compile(r"<title\b[^<>]*>([^<]*)</title", re.IGNORECASE)
_IMAGE = re.compile(r"<img\b[^<>]*>", re.IGNORECASE)
_ALT = re.compile(r"""\balt\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))""", re.IGNORECASE)
_CODE_OR_LINK = re.compile(r"<(/?)(pre|a)\b[^<>]*>", re.IGNORECASE)
_NESTING = re.compile(
    r"<(/?)(?:div|span|section|article|blockquote|center|font|b|i|em|strong)\b[^<>]*>",
    re.IGNORECASE,
)
_DEEPEST = 500
"""Nested so deep, nothing has a meaning any more; the converter drops what is much deeper."""
_HEADING = re.compile(r"^#+ .*", re.MULTILINE)
_ANCHOR = re.compile(r"\s?\[[§#¶]\]\([^()\s]{0,500}+\)")
"""None can begin within another one's address, so that each letter is read once."""


def page_title(html: str) -> str:
    """What the page calls itself, on one line, or ''."""
    found = _TITLE.search(html)
    return " ".join(entities.unescape(found.group(1)).split()) if found else ""


def readable(html: str, url: str) -> str:
    """The page's content as Markdown: its main part alone, where it marks one."""
    main = _main_part(html)
    text = _converted(main, url) if main else ""
    return text if len(text) >= _ENOUGH else _converted(html, url)


def _main_part(html: str) -> str:
    begin = _MAIN_BEGINS.search(html)
    ends = [end.start() for end in _MAIN_ENDS.finditer(html)]
    return html[begin.start() : ends[-1]] if begin and ends else ""


def _converted(html: str, url: str) -> str:
    """All of it, its links made absolute."""
    options = ConversionOptions(
        base_url=url,
        extract_metadata=False,
        autolinks=False,
        exclude_selectors=_AROUND,
        preprocessing=PreprocessingOptions(preset="aggressive"),
    )
    text = html_to_markdown.convert(_prepared(html), options).content or ""
    return _tidied(text[:MOST_LETTERS])


def _prepared(html: str) -> str:
    return _IMAGE.sub(_described, _without_links_in_code(_flattened(html)))


def _tidied(text: str) -> str:
    """Without the links to themselves that headings have."""
    return _HEADING.sub(lambda heading: _ANCHOR.sub("", heading.group(), 1), text).strip()


def _flattened(html: str) -> str:
    """The page without the tags that are nested deeper than anybody means."""
    depth = 0

    def keep(tag: re.Match[str]) -> str:
        nonlocal depth
        depth = max(0, depth - 1) if tag.group(1) else depth + 1
        return tag.group() if depth + bool(tag.group(1)) <= _DEEPEST else " "

    return _NESTING.sub(keep, html)


def _without_links_in_code(html: str) -> str:
    """A link in the middle of code would be read as code."""
    depth = 0

    def keep(tag: re.Match[str]) -> str:
        nonlocal depth
        if tag.group(2).lower() == "a":
            return "" if depth else tag.group()
        depth = max(0, depth - 1) if tag.group(1) else depth + 1
        return tag.group()

    return _CODE_OR_LINK.sub(keep, html)


def _described(tag: re.Match[str]) -> str:
    alt = _ALT.search(tag.group())
    words = " ".join((next(filter(None, alt.groups()), "") if alt else "").split())
    return f"[Image: {words}]" if words else ""


def _limit(seconds: int) -> None:
    """Whoever has started this may be gone before it is done."""
    with suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 - not on every system

        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))


if __name__ == "__main__":
    _limit(int(sys.argv[2]))
    address, _, page = sys.stdin.buffer.read().decode("utf-8", "replace").partition("\n")
    sys.stdout.buffer.write(
        f"{page_title(page)}\n{readable(page, address)}".encode("utf-8", "replace")
    )
