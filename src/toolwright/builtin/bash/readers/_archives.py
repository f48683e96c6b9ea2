"""Read what archivers do: list, create or extract, here or on another machine."""

from collections.abc import Sequence

from toolwright.builtin.bash._grammar import Program, Reader, Reading, Use
from toolwright.builtin.bash._reading import read_words
from toolwright.builtin.bash._words import NotCovered, Word

__all__ = ["read_rsync", "read_tar", "read_unzip", "reads_in_mode"]


def read_tar(program: Program, words: Sequence[Word], reading: Reading) -> None:
    """The first word may be a bundle without a dash, whose values follow it in order."""
    plain = [*words[:1], *_dashed(program, words[1:])]
    options = Program(name="tar", base="write", options=program.options)
    inner = read_words(options, plain)
    reading.uses, reading.options = inner.uses, inner.options
    for value in reading.values("-f", "--file"):
        if value.text is None or ":" in value.text:
            what = f"the archive {value.source!r} on another machine"
            reading.uses.append(Use(effect="execute", at=len(words), what=what))
    lists = reading.given("-t", "--list") or reading.given("-O", "--to-stdout")
    changes = ("-c", "-r", "-u", "-A", "-d", "--create", "--append", "--update", "--delete",
               "--concatenate", "--remove-files")  # fmt: skip
    reading.base = "read" if lists and not reading.given(*changes) else "write"


def _dashed(program: Program, words: Sequence[Word]) -> list[Word]:
    """The same words with the options of an old-style bundle apart."""
    if not words:
        return []
    first = words[0].text
    if first is None:
        raise NotCovered(f"{words[0].source!r} could be a bundle of options of 'tar'; "
                         "write the options first")  # fmt: skip
    if first.startswith("-"):
        return list(words)
    rest = list(words[1:])
    result: list[Word] = []
    for letter in first:
        result.append(Word.literal(f"-{letter}"))
        option = program.options.get(f"-{letter}")
        if option is not None and option.value == "required":
            if not rest:
                raise NotCovered(f"{letter!r} of 'tar' has no value")
            result.append(rest.pop(0))
    return [*result, *rest]


def read_unzip(program: Program, words: Sequence[Word], reading: Reading) -> None:
    """A second dash takes back what follows it, an earlier option too."""
    if any((word.text or "").startswith("--") for word in words[1:]):
        raise NotCovered("'--' of 'unzip' takes back options; write './' before a name like one")
    reads_in_mode("-l", "-t", "-p")(program, words, reading)


def reads_in_mode(*prints: str, tests: Sequence[str] = (), packs: Sequence[str] = ()) -> Reader:
    """A reader of a program that writes nothing when one of the options `prints` is given.

    Nor does one of `tests`, unless a mode that `packs` is given as well: which of the two holds is not plain.
    """

    def read(program: Program, words: Sequence[Word], reading: Reading) -> None:
        only_tests = reading.given(*tests) and not reading.given(*packs)
        if not reading.uses and (reading.given(*prints) or only_tests):
            reading.base = "read"

    return read


def read_rsync(program: Program, words: Sequence[Word], reading: Reading) -> None:
    """A name before a colon is another machine, reached by a program that rsync starts."""
    for position in reading.arguments:
        word = words[position]
        first, slash, _ = (word.start if word.text is None else word.text).partition("/")
        uncertain = word.text is None and not slash
        if ":" in first or uncertain:
            what = f"{word.source!r}, which can be on another machine,"
            reading.uses.append(Use(effect="execute", at=position, what=what))
