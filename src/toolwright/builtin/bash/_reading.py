"""Read the words of a command as its program would, by what the table says of it."""

import re
from collections.abc import Sequence

from toolwright.builtin.bash._grammar import Option, Program, Reading, Use
from toolwright.builtin.bash._words import NotCovered, Word

__all__ = ["read_words"]

_NUMBER = re.compile(r"-\d+")


def read_words(program: Program, words: Sequence[Word], start: int = 1) -> Reading:
    """What the words from `start` on do; raises `NotCovered` for one that cannot be placed."""
    reading = Reading(purpose=program.base, base=program.base, start=start)
    if program.response_files:
        _refuse_response_files(program, words[start:])
    if program.raw:
        assert program.reader is not None, program.name
        program.reader(program, words, reading)
        return reading
    position = start
    while position < len(words):
        word = words[position]
        if program.command is not None and len(reading.arguments) > program.command:
            break
        if reading.arguments and not program.permutes:
            reading.arguments += range(position, len(words))
            break
        if word.text == "--":
            reading.dashes = position
            reading.arguments += range(position + 1, len(words))
            break
        if not word.could_be_option:
            reading.arguments.append(position)
            position += 1
        elif word.text is None:
            _refuse_unless_tame(program, word)
            reading.arguments.append(position)
            position += 1
        elif word.text.startswith("--"):
            position = _long(program, words, position, reading)
        else:
            position = _short(program, words, position, reading)
    _place_arguments(program, words, reading)
    if program.reader is not None:
        program.reader(program, words, reading)
    return reading


def _refuse_unless_tame(program: Program, word: Word) -> None:
    if not program.is_tame:
        raise NotCovered(f"{word.source!r} could become an option of {program.name!r}; "
                         "write the value itself")  # fmt: skip


def _refuse_response_files(program: Program, words: Sequence[Word]) -> None:
    """The file is read before any word is looked at, so a value may name one as well."""
    for word in words:
        first = (word.start if word.text is None else word.text)[:1]
        if first == "@" or (word.text is None and first == ""):
            raise NotCovered(f"{word.source!r} could be a file of further options of "
                             f"{program.name!r}; write './' before it")  # fmt: skip


def _long(program: Program, words: Sequence[Word], position: int, reading: Reading) -> int:
    text = words[position].text or ""
    name, attached, value = text.partition("=")
    option = program.options.get(name) or _negated(program, name, reading)
    if option is None or (attached and (option.value == "none" or not program.attaches)):
        raise _unknown(program, text, name)
    if attached:
        _note(option, Word.literal(value), position, reading, program)
        return position + 1
    if option.value == "attached":
        raise NotCovered(f"the value of {name!r} must be attached: {name}=…")
    if not _takes_next(option, words, position):
        _note(option, None, position, reading, program)
        return position + 1
    return _with_next(program, option, words, position, reading)


def _short(program: Program, words: Sequence[Word], position: int, reading: Reading) -> int:
    text = words[position].text or ""
    if program.numbers and _NUMBER.fullmatch(text.rstrip(program.behind_numbers)):
        return position + 1
    if text in program.options:
        return _single(program, program.options[text], words, position, reading)
    for index, letter in enumerate(text[1:], start=1):
        option = program.options.get(f"-{letter}")
        rest = text[index + 1 :]
        alone = not program.bundles if option and option.value == "none" else not program.glues
        if option is None or (rest and alone):
            raise _unknown(program, text, f"-{letter}")
        if option.value == "none":
            _note(option, None, position, reading, program)
        elif rest:
            _note(option, Word.literal(rest), position, reading, program)
            return position + 1
        else:
            return _single(program, option, words, position, reading)
    return position + 1


def _single(
    program: Program, option: Option, words: Sequence[Word], position: int, reading: Reading
) -> int:
    if option.value == "attached":
        raise NotCovered(f"the value of {option.names[-1]!r} must be attached")
    if _takes_next(option, words, position):
        return _with_next(program, option, words, position, reading)
    _note(option, None, position, reading, program)
    return position + 1


def _takes_next(option: Option, words: Sequence[Word], position: int) -> bool:
    last = position + 1 == len(words)
    return option.value == "required" or (option.value == "unless_last" and not last)


def _with_next(
    program: Program, option: Option, words: Sequence[Word], position: int, reading: Reading
) -> int:
    """The next word is the value, whatever it looks like, unless the program reads it again."""
    if position + 1 >= len(words):
        raise NotCovered(f"{option.names[-1]!r} of {program.name!r} has no value")
    value = words[position + 1]
    if value.several:
        raise NotCovered(f"{value.source!r} could be several words; quote it with ''")
    if program.rereads and value.could_be_option:
        raise NotCovered(f"{value.source!r} could be an option of {program.name!r}, not the value of "
                         f"{option.names[-1]!r}; attach it to that")  # fmt: skip
    _note(option, value, position, reading, program)
    return position + 2


def _note(
    option: Option, value: Word | None, position: int, reading: Reading, program: Program
) -> None:
    left_out = value is None and option.value == "optional"
    if option.choices and not left_out and (value is None or value.text not in option.choices):
        known = ", ".join(sorted(option.choices))
        raise NotCovered(f"of {option.names[-1]!r} only these values are known: {known}")
    reading.options.append((option, value))
    if option.effect != "read":
        what = f"{option.names[-1]!r} of {program.name!r}"
        reading.uses.append(Use(effect=option.effect, at=position, what=what))


def _negated(program: Program, name: str, reading: Reading) -> Option | None:
    """`--no-x` takes back an earlier `--x`, unless only some of its values are understood."""
    positive = f"--{name.removeprefix('--no-')}"
    known = program.options.get(positive)
    if not program.negates or not name.startswith("--no-") or known is None or known.choices:
        return None
    reading.cancel(positive)
    return Option(names=(name,))


def _unknown(program: Program, text: str, name: str) -> NotCovered:
    longer = sorted(o for o in program.options if name.startswith("--") and o.startswith(name))
    hint = f"; write {longer[0]!r} out" if longer else ""
    return NotCovered(f"the option {text!r} of {program.name!r} is not known here{hint}")


def _place_arguments(program: Program, words: Sequence[Word], reading: Reading) -> None:
    if program.command is not None:
        _place_command(program.command, words, reading)
        return
    many = any(words[position].several for position in reading.arguments)
    count = len(reading.arguments)
    if program.arguments is not None and count > program.arguments:
        raise NotCovered(f"{program.name!r} takes at most {program.arguments} arguments")
    if program.output is not None and (count > program.output or (many and count)):
        reading.uses.append(
            Use(effect="write", at=reading.arguments[-1], what=f"{program.name!r} with an output")
        )


def _place_command(before: int, words: Sequence[Word], reading: Reading) -> None:
    several = [
        words[position] for position in reading.arguments[:before] if words[position].several
    ]
    if several:
        raise NotCovered(f"{several[0].source!r} could be several words before the command; "
                         "write the value itself")  # fmt: skip
    position = reading.arguments[before:][:1]
    reading.command = position[0] if position else None
