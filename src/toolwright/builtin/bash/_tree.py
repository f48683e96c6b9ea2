"""The syntax tree of a command line, as long as the parser is sure of every character of it."""

import re
from collections.abc import Iterator
from functools import cache

from toolwright.builtin.bash._words import Refused

try:
    import tree_sitter_bash
    from tree_sitter import Language, Node, Parser
except ImportError as error:
    raise ImportError("Bash policies need an extra: pip install 'toolwright[sandbox]'") from error

__all__ = ["Node", "parsed", "refuse_unreadable", "text_of"]

_LONGEST = 16 * 1024
"""The parser takes the square of a length where it finds errors, and nobody can stop it: a second."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_BETWEEN = re.compile(r"([ \t\n]|\\\n)*")
_SEPARATE = frozenset({";", "&", "&&", "|", "||"})
"""Tokens that no word joins, wherever a line is continued behind them."""
_PUNCTUATION = _SEPARATE | {";;", "|&", "(", ")", "<", ">", ">>", "<<<", ">&", ">&-", "&>", "&>>", ">|", "\n",
                            "`", "$(", "<(", ">("}  # fmt: skip
"""Tokens that a word may touch."""
_WORDS = frozenset({"word", "number", "string", "raw_string", "ansi_c_string", "translated_string",
                    "concatenation", "simple_expansion", "expansion", "command_substitution",
                    "process_substitution", "arithmetic_expansion", "variable_assignment"})  # fmt: skip
_JOINED = _WORDS - {"command_substitution", "process_substitution"}
"""Kinds of words whose parts touch each other."""
_OVER_LINES = _JOINED | {"program", "list", "pipeline", "compound_statement", "subshell",
                         "command_substitution"}  # fmt: skip
"""What may go on behind the end of a line, though not with an operator."""


def refuse_unreadable(source: str) -> None:
    """Raise `Refused` for text that no command line has."""
    if len(source) > _LONGEST:
        raise Refused(
            f"it is longer than {_LONGEST} characters; write what is long to a file first"
        )
    if found := _CONTROL.search(source):
        raise Refused(f"it holds the control character {found[0]!r}")


def parsed(source: str) -> Node:
    """The root of the tree; raises `Refused` for text that is not wholly understood."""
    data = source.encode("utf-8", "surrogatepass")
    root = _parser().parse(data).root_node
    if root.has_error:
        raise Refused(_why_broken(root))
    _refuse_gaps(root, data)
    _refuse_misread_words(root, data)
    return root


def text_of(node: Node) -> str:
    """The piece of the command line that a node stands for."""
    return (node.text or b"").decode("utf-8", "surrogatepass")


def _why_broken(root: Node) -> str:
    """The parser takes the bracket of a pattern for the end of a condition."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type == "test_command" and "[" in text_of(node)[1:]:
            return (
                f"the brackets in {text_of(node)[:60]!r} could be a pattern's or the condition's; write "
                "'test …' without them, or quote the pattern with ''"
            )
        waiting += node.children
    return "it is not well-formed shell, or not as far as the parser can tell"


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def _refuse_gaps(root: Node, data: bytes) -> None:
    """Every character must belong to something: the parser drops some constructs in silence.

    To the shell, a line that is continued goes on in the middle of a word; to the parser, the word
    has ended.
    """
    position, before = 0, ""
    for leaf in _leaves(root):
        gap = data[position : leaf.start_byte].decode("utf-8", "replace")
        if not _BETWEEN.fullmatch(gap):
            raise Refused(f"{gap.strip() or gap!r} is not understood")
        if gap and not gap.replace("\\\n", "") and before not in _SEPARATE:
            raise Refused(f"{text_of(leaf)[:60]!r} could be the end of the word on the line before; "
                          "write it on one line, or a space before the '\\'")  # fmt: skip
        if leaf.type == "comment" and "\n" in text_of(leaf):
            raise Refused(f"the comment {text_of(leaf)[:60]!r} is not understood; leave it out")
        position, before = max(position, leaf.end_byte), leaf.type
    rest = data[position:].decode("utf-8", "replace")
    if not _BETWEEN.fullmatch(rest):
        raise Refused(f"{rest.strip() or rest!r} at the end is not understood")


def _refuse_misread_words(node: Node, data: bytes) -> None:
    """What stands together is one word to the shell, and a line's end is the end of a command.

    The parser tears some words apart at a backslash, and passes over lines' ends before one.
    """
    before = None
    for child in node.children:
        if before is not None:
            gap = data[before.end_byte : child.start_byte].replace(b"\\\n", b"")
            touch = before.end_byte == child.start_byte and node.type not in _JOINED
            torn = touch and _ends_in_word(before, -1) and _ends_in_word(child, 0)
            goes_on = node.type in _OVER_LINES and child.type not in _SEPARATE | {"|&"}
            if torn or (b"\n" in gap and not goes_on):
                read = data[before.start_byte : child.end_byte].decode("utf-8", "replace")
                raise Refused(
                    f"{read[:60]!r} is not understood; quote each word as a whole with ''"
                )
        _refuse_misread_words(child, data)
        before = child


def _ends_in_word(node: Node, end: int) -> bool:
    """Whether what a node begins (0) or ends (-1) with is a word, or a part of one."""
    if node.type in _WORDS:
        return True
    if node.children:
        return _ends_in_word(node.children[end], end)
    return node.type not in _PUNCTUATION


def _leaves(node: Node) -> Iterator[Node]:
    # A string's text may lie between its children.
    if node.child_count == 0 or node.type == "string":
        yield node
        return
    for child in node.children:
        yield from _leaves(child)
