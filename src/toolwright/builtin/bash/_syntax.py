"""Read a command line into the simple commands it would run, or refuse it.

Only kinds of syntax listed here are understood; everything else is refused. What is understood can
be written out again, every word quoted, so that the shell runs what was judged and not what a
different reading of the original might have been.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace

from toolwright.builtin.bash._here_documents import put_back, taken_out
from toolwright.builtin.bash._script import INPUT, OUTPUT, Operator, Redirect, Script, SimpleCommand
from toolwright.builtin.bash._tokens import Token, one_word, refuse_unread
from toolwright.builtin.bash._tree import Node, parsed, refuse_unreadable, text_of
from toolwright.builtin.bash._variables import refusal_of
from toolwright.builtin.bash._words import Refused, Word, bare_word, unescape_double

__all__ = ["read_script"]

_WORDS = frozenset({"word", "number", "string", "raw_string", "concatenation",
                    "command_substitution", "process_substitution", "simple_expansion"})  # fmt: skip
_SEPARATORS = {";": " ; ", "&": " & ", "\n": " ; "}
_ONE_THING = re.compile(r"\{((?!\.\.)[\w.:/-])*\}")
_BROKEN = re.compile(r"[\d<>|&$](\\\n)+[<>|&(]|<(\\\n)+-")
"""An operator that is continued on the next line: the shell reads it as one, this reader would not."""
_JOINS = {"&&": " && ", "||": " || ", "|": " | ", "|&": " 2>&1 | "}
_RESERVED = frozenset({"{", "}", "!"})
"""Words that the shell takes for operators where a command begins."""
_BOTH = {"&>": " >", "&>>": " >>", ">&": " >"}
"""Both streams into one file, as every shell reads it: to some, `a &> f` is `a &` and `> f`."""


def read_script(source: str) -> Script:
    """The commands in `source`; raises `Refused` for what is not understood."""
    refuse_unreadable(source)
    plain, texts = taken_out(source)
    if broken := _BROKEN.search(plain):
        raise Refused(f"{broken[0]!r} could be one operator over two lines; write it on one")
    script = Script()
    _statements(parsed(plain).children, script)
    refuse_unread(plain, script.tokens())
    put_back(script, texts)
    if not any(isinstance(piece, SimpleCommand) for piece in script.pieces):
        raise Refused("there is no command in it")
    return script


def _statements(nodes: list[Node], script: Script) -> None:
    """Statements one after another, each ended by a separator or a new line."""
    open_statement = False
    for node in nodes:
        if node.type == "comment":
            continue
        if node.type in _SEPARATORS:
            _operator(node.type, _SEPARATORS[node.type], script)
            open_statement = False
            continue
        if open_statement:
            _operator("\n", " ; ", script)
        _statement(node, script)
        open_statement = True


def _operator(name: str, rendered: str, script: Script) -> None:
    script.operators.add(name)
    script.pieces.append(_between(name, rendered))


def _between(name: str, rendered: str) -> Operator:
    return Operator((("a word" if name in _RESERVED else "an operator", name),), rendered)


def _statement(node: Node, script: Script) -> None:
    match node.type:
        case "command":
            _command(node, script)
        case "test_command":
            script.pieces.append(SimpleCommand(tuple(_test_words(node))))
        case "list" | "pipeline":
            _joined(node, script)
        case "redirected_statement":
            _redirected(node, script)
        case "negated_command":
            _operator("!", "! ", script)
            _statement(node.children[-1], script)
        case "subshell":
            _enclosed(node, "( ", " )", script)
        case "compound_statement" if text_of(node).startswith("{"):
            _enclosed(node, "{ ", " ; }", script)
        case _:
            raise Refused(f"{node.type.replace('_', ' ')} {text_of(node)[:60]!r} is not judged; "
                          "use plain commands, pipes, lists and redirections")  # fmt: skip


def _joined(node: Node, script: Script) -> None:
    for child in node.children:
        if child.type in _JOINS:
            _operator(child.type, _JOINS[child.type], script)
        else:
            _statement(child, script)


def _enclosed(node: Node, opening: str, closing: str, script: Script) -> None:
    _operator(opening.strip(), opening, script)
    inner = [child for child in node.children[1:-1] if child.type != "comment"]
    # The closing brace brings its own separator.
    while inner and inner[-1].type == ";":
        inner = inner[:-1]
    _statements(inner, script)
    ended = bool(inner) and inner[-1].type == "&"
    script.pieces.append(
        _between(closing.strip(" ;"), closing.replace(" ;", "") if ended else closing)
    )


def _command(node: Node, script: Script) -> None:
    words: list[Word] = []
    variables: list[tuple[str, Word]] = []
    here: list[Redirect] = []
    for child in node.children:
        if child.type == "command_name":
            words.append(_word(child.children[0]))
        elif child.type in _WORDS:
            words.append(_word(child))
        elif child.type == "herestring_redirect" and words and child == node.children[-1]:
            script.operators.add("<<<")
            here.append(_here(child))
        elif child.type in ("file_redirect", "herestring_redirect") and not words:
            raise Refused("a redirection stands before its command; write it behind")
        elif child.type in ("file_redirect", "herestring_redirect"):
            raise Refused("a redirection stands between arguments; write it behind them")
        elif child.type == "variable_assignment":
            variables.append(_assignment(child))
        else:
            raise Refused(f"{child.type.replace('_', ' ')} {text_of(child)[:60]!r} is not judged; "
                          "write the value itself, or quote it with ''")  # fmt: skip
    if not words or words[0].text is None:
        raise Refused(f"the program in {text_of(node)[:60]!r} is not named plainly")
    script.pieces += [SimpleCommand(tuple(words), tuple(variables)), *here]


def _assignment(node: Node) -> tuple[str, Word]:
    name, equals, *value = node.children
    word = _word(value[0]) if value else Word.literal("")
    if name.type != "variable_name" or equals.type != "=" or word.text is None:
        raise Refused(refusal_of(text_of(node)))
    return text_of(name), word


def _test_words(node: Node) -> Iterator[Word]:
    """The words of `[ … ]`; its operators are ordinary words to the program."""
    if node.children[0].type != "[":
        raise Refused(f"{text_of(node)[:60]!r} is not judged; use [ … ] instead")
    for leaf in _test_leaves(node):
        yield _word(leaf) if leaf.type in _WORDS else Word.literal(text_of(leaf))


def _test_leaves(node: Node) -> Iterator[Node]:
    for child in node.children:
        if child.type in _WORDS or child.child_count == 0:
            yield child
        elif child.type.endswith("_expression"):
            yield from _test_leaves(child)
        else:
            raise Refused(f"{text_of(child)[:60]!r} is not judged; write the value itself")


def _redirected(node: Node, script: Script) -> None:
    body, *redirects = node.children
    _statement(body, script)
    for redirect in redirects:
        match redirect.type:
            case "file_redirect":
                script.pieces.append(_file_redirect(redirect, script))
            case "herestring_redirect":
                script.operators.add("<<<")
                script.pieces.append(_here(redirect))
            case _:
                raise Refused(f"{redirect.type.replace('_', ' ')} is not judged")


def _file_redirect(node: Node, script: Script) -> Redirect:
    number = text_of(node.children[0]) if node.children[0].type == "file_descriptor" else ""
    if node.children[-1].type == ">&-":
        return _closed(number, script)
    kinds = [child for child in node.children if child.type in OUTPUT | INPUT]
    if len(kinds) != 1:
        raise Refused(f"the redirection {text_of(node)!r} is not judged")
    # To the parser, words behind the file belong to it.
    if node.children[-2] != kinds[0]:
        raise Refused("a redirection stands between arguments; write it behind them")
    operator, target = kinds[0].type, node.children[-1]
    tokens = (*_redirection(number, operator), one_word(text_of(target)))
    script.operators.add(f"{number}{operator}")
    if operator == ">&" and re.fullmatch("[0-9]", text_of(target)):
        script.operators.add(f"{number}>&{text_of(target)}")
        return Redirect(operator, f" {number}>&{text_of(target)}", tokens=tokens)
    word = _word(target)
    if operator == ">&" and (number or re.match("[0-9-]", word.text or "")):
        raise Refused(
            f"{text_of(node)!r} could be a file or a descriptor; write '2>&1', or '> file'"
        )
    if not word.text:
        raise Refused(f"the target of {text_of(node)!r} is not named plainly")
    before, after = f" {number}{operator}", ""
    if operator in _BOTH and not number:
        before, after = _BOTH[operator], " 2>&1"
    rendered = f"{before} {shlex.quote(word.text)}{after}"
    return Redirect(operator, rendered, target=word.text, before=before, after=after, tokens=tokens)


def _closed(number: str, script: Script) -> Redirect:
    tokens = _redirection(number, ">&-")
    script.operators.add(f"{number}>&-")
    return Redirect(">&-", f" {number}>&-", tokens=tokens)


def _redirection(number: str, operator: str) -> tuple[Token, ...]:
    """What leads where; raises `Refused` for what not every shell takes for a descriptor."""
    if len(number) > 1 or not re.fullmatch("[0-9]*", number):
        raise Refused(f"{number!r} before {operator!r} is not the digit of a descriptor")
    return (*((("a descriptor", number),) if number else ()), ("an operator", operator))


def _here(node: Node) -> Redirect:
    if node.children[0].type == "file_descriptor":
        raise Refused(f"{text_of(node)[:60]!r} is not judged; only the standard input is")
    word = _word(node.children[-1])
    if word.text is None:
        raise Refused(f"{word.source[:60]!r} is not judged as input; write it out in ''")
    tokens = (*_redirection("", "<<<"), one_word(word.source))
    return Redirect("<<<", f" <<< {shlex.quote(word.text)}", tokens=tokens)


def _word(node: Node) -> Word:
    return replace(_read_word(node), source=text_of(node))


def _read_word(node: Node) -> Word:
    source = text_of(node)
    match node.type:
        case "word" | "number":
            return bare_word(source)
        case "raw_string":
            return Word.literal(source[1:-1])
        case "string":
            return _string(node)
        case "concatenation":
            return _concatenation(node)
        case "command_substitution":
            return _substitution(node)
        case "simple_expansion" if source == "$?":
            return Word(source, ('"$?"',), dashless=True)  # A number.
        case _:
            raise Refused(f"{node.type.replace('_', ' ')} {source[:60]!r} is not judged; "
                          "write the value itself, or quote it with ''")  # fmt: skip


def _concatenation(node: Node) -> Word:
    source = text_of(node)
    # A pair of braces expands to nothing but itself when there is one thing in it, as in HEAD@{1}.
    itself = not re.search(r"[{}]", _ONE_THING.sub("", source))
    parts: list[Word] = []
    bare = ""
    for child in node.children:
        text = text_of(child)
        if child.type in ("word", "number") and not (itself and text in ("{", "}")):
            bare += text  # To the parser, brackets and what is in them are words of their own.
            continue
        parts += [bare_word(bare, first=not parts)] if bare else []
        bare = ""
        parts.append(Word.literal(text) if itself and text in ("{", "}") else _word(child))
    parts += [bare_word(bare, first=not parts)] if bare else []
    return Word.join(parts, source)


def _string(node: Node) -> Word:
    source = text_of(node)
    inner = [child for child in node.children if child.type not in ('"', "string_content")]
    if not inner:
        return Word.literal(unescape_double(source[1:-1]))
    if any(child.type != "command_substitution" and text_of(child) != "$?" for child in inner):
        raise Refused(f"{source[:60]!r} holds an expansion; write the value itself")
    parts: list[Word] = []
    position = 1
    data = source.encode("utf-8", "surrogatepass")
    for child in inner:
        start, end = child.start_byte - node.start_byte, child.end_byte - node.start_byte
        parts += [_quoted_piece(data[position:start]), _word(child)]
        position = end
    return Word.join([*parts, _quoted_piece(data[position:-1])], source)


def _quoted_piece(data: bytes) -> Word:
    return Word.literal(unescape_double(data.decode("utf-8", "surrogatepass")))


def _substitution(node: Node) -> Word:
    """`$(…)` or its old form; its own commands are judged like all others."""
    source = text_of(node)
    opening = node.children[0].type
    if opening not in ("$(", "`"):
        raise Refused(f"{source[:60]!r} is not judged")
    if opening == "`" and "\\" in source:
        raise Refused(f"{source[:60]!r} holds backslashes; write $(…) instead")
    script = Script(operators={opening})
    _statements(node.children[1:-1], script)
    if not script.pieces:
        raise Refused(f"{source[:60]!r} is empty")
    refuse_unread(source[len(opening) : -1], script.tokens())
    # Quoted, so that what comes out stays one argument wherever it stood.
    return Word(source, ('"', script, '"'))
