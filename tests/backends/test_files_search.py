"""Searches agree with the ripgrep program, and with each other, on a large real tree."""

import os
import subprocess
import sys
import sysconfig
from contextlib import suppress
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolwright.backends.files import (
    FilesystemBackend,
    Glob,
    Query,
    Wanted,
    _grep_process,
    find,
    find_in,
    grep,
)
from toolwright.backends.files._ripgrep import ripgrep_program
from toolwright.backends.files._ripgrep_output import parse_lines
from toolwright.errors import ToolError

pytestmark = pytest.mark.anyio

_TREE = Path(sysconfig.get_path("purelib"))
_SMALL = _TREE / "sqlalchemy"


def _rg(*arguments: str, cwd: Path = _TREE) -> set[str]:
    """The lines that ripgrep itself prints for this directory, as our paths."""
    program = ripgrep_program(str(cwd))
    assert program, "the ripgrep wheel is a dependency of the tests"
    same = ["--no-config", "--hidden", "--no-require-git", "--no-ignore-parent", "-g!.git/"]
    ran = subprocess.run([program, *same, *arguments, "./"], cwd=cwd, capture_output=True)
    return {line.removeprefix(".") for line in ran.stdout.decode("utf-8", "replace").splitlines()}


@pytest.mark.parametrize("pattern", ["**/*.py", "**/*.{json,pyi}", "**/test_*", "*/__init__.py"])
async def test_globs_agree_with_ripgrep_on_a_large_tree(pattern: str) -> None:
    found = set((await find(FilesystemBackend(_TREE), pattern, gitignore=True)).paths)
    anchored = pattern if pattern.startswith("**") else f"/{pattern}"
    expected = {path for path in _rg("--files", "-g", anchored) if path in _rg_all()}
    assert found == expected
    assert found


def _rg_all(known: dict[str, set[str]] = {}) -> set[str]:  # noqa: B006
    # A glob option of ripgrep overrides ignore files; ours does not.
    if "all" not in known:
        known["all"] = _rg("--files")
    return known["all"]


@pytest.mark.row("002-30", "002-31")
@pytest.mark.parametrize(
    ("pattern", "options"),
    [
        (r"class \w+Error\(", []),
        (r"^\s*raise NotImplementedError$", []),
        (r"TODO|FIXME", ["-i"]),
        (r"naïve|\bcafé\b", []),
    ],
)
async def test_grep_agrees_with_ripgrep_on_a_large_tree(pattern: str, options: list[str]) -> None:
    query = Query(pattern=pattern, ignore_case="-i" in options, mode="files", gitignore=True)
    found = {item.path for item in (await grep(FilesystemBackend(_TREE), query)).files}
    assert found == _rg("-l", "--crlf", *options, "-e", pattern)
    assert found


async def test_lines_and_counts_agree_with_ripgrep() -> None:
    files = FilesystemBackend(_SMALL)
    lines = await grep(files, Query(pattern="def _[a-z]+_type"))
    printed = {f"{f.path}:{line.number}:{line.text}" for f in lines.files for line in f.lines}
    assert printed == _rg("-n", "-e", "def _[a-z]+_type", cwd=_SMALL)
    counts = await grep(files, Query(pattern="import", mode="counts"))
    expected = _rg("-c", "-e", "import", cwd=_SMALL)
    assert {f"{item.path}:{item.count}" for item in counts.files} == expected


@pytest.mark.row("000-53")
@pytest.mark.parametrize("mode", ["lines", "files", "counts"])
async def test_searching_without_ripgrep_gives_the_same_answers(
    mode: Literal["lines", "files", "counts"],
) -> None:
    fast, slow = FilesystemBackend(_SMALL), FilesystemBackend(_SMALL, ripgrep=False)
    for query in (
        Query(pattern="isinstance(", literal=True, glob=Glob("*.py", anywhere=True), context=2),
        Query(pattern=r"async def \w+", start="/ext/asyncio"),
        Query(pattern="SELECT", ignore_case=True, start="/sql/base.py"),
    ):
        asked = replace(query, mode=mode)
        assert (await grep(fast, asked)).files == (await grep(slow, asked)).files


async def test_finding_without_ripgrep_gives_the_same_answers() -> None:
    fast, slow = FilesystemBackend(_SMALL), FilesystemBackend(_SMALL, ripgrep=False)
    for pattern, start in (("**/*.py", "/"), ("*", "/orm"), ("**/{base,util}.py", "/")):
        assert await find(fast, pattern, start) == await find(slow, pattern, start)


_NAMES = st.sampled_from(["a", "b", "build", "x.log", "keep.log", ".h", "src"])
_PATHS = st.lists(_NAMES, min_size=1, max_size=4).map("/".join)
_RULES = st.sampled_from(
    ["*.log", "!keep.log", "build/", "/build", "src/*.log", "**/b", "a/**", "!a/b", "/a/b", "*",
     "!src/", "# no", "src/**/x.log", "!*.log", "a/*", "[ab]", "x.*", "b ", " b", "/*", "**", "/"]
)  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sets(_PATHS, min_size=2, max_size=10),
    st.dictionaries(_PATHS | st.just("."), st.lists(_RULES, min_size=1, max_size=4), max_size=4),
    _PATHS | st.just("."),
)
async def test_ignore_rules_mean_the_same_with_and_without_ripgrep(
    paths: set[str], rules: dict[str, list[str]], start: str
) -> None:
    with TemporaryDirectory() as directory:
        root = Path(directory)
        ignoring = {f"{where}/.gitignore": "\n".join(lines) for where, lines in rules.items()}
        for path, text in {**dict.fromkeys(sorted(paths), ""), **ignoring}.items():
            with suppress(OSError):
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
        begin = f"/{start}" if (root / start).is_dir() and start != "." else "/"
        for gitignore in (True, False):
            wanted = Wanted(glob=Glob("**"), start=begin, directories=True, gitignore=gitignore)
            fast = await find_in(FilesystemBackend(root), wanted)
            slow = await find_in(FilesystemBackend(root, ripgrep=False), wanted)
            assert fast == slow


_CONTENT = st.lists(
    st.sampled_from(["plain", "caf\u00e9", "\u00dcber", "x\u00b5", "", "na\u00efve\r"]), max_size=4
).map("\n".join)
_CODECS = st.sampled_from(["utf-8", "latin-1", "utf-16", "utf-8-sig"])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(_CONTENT, _CODECS), min_size=1, max_size=4),
    st.sampled_from(["caf.$", "\u00dc", "\u00fc", "[^a-z]", r"\w\w", "plain", "caf", ".", "^$"]),
    st.booleans(),
    st.booleans(),
)
async def test_texts_in_any_encoding_are_found_with_and_without_ripgrep(
    contents: list[tuple[str, str]], pattern: str, literal: bool, ignore_case: bool
) -> None:
    with TemporaryDirectory() as directory:
        root = Path(directory)
        for number, (content, codec) in enumerate(contents):
            (root / f"{number}.txt").write_bytes(content.encode(codec))
        fast, slow = FilesystemBackend(directory), FilesystemBackend(directory, ripgrep=False)
        for start in ("/", "/0.txt"):
            query = Query(pattern=pattern, literal=literal, ignore_case=ignore_case, start=start)
            for mode in ("lines", "files", "counts"):
                asked = replace(query, mode=mode)
                assert await grep(fast, asked) == await grep(slow, asked)


@pytest.mark.parametrize(
    "filler", ["abcdefghij ", '"},"line_number":7,\\', "\u00e9\t\u20ac\x01", "\U0001f600"]
)
@pytest.mark.parametrize("codec", ["utf-8", "latin-1"])
async def test_very_long_lines_are_found_with_and_without_ripgrep(
    tmp_path: Path, filler: str, codec: str
) -> None:
    long = filler * (200_000 // len(filler))
    text = f"hay\n{long} needle {long}\n{long}\nneedle\n" + ("" if codec == "utf-8" else "\u00e9")
    (tmp_path / "min.js").write_bytes(text.encode(codec, "replace"))
    fast, slow = FilesystemBackend(tmp_path), FilesystemBackend(tmp_path, ripgrep=False)
    for query in (
        Query(pattern="needle", context=1),
        Query(pattern="needle", literal=True, limit=1),
        Query(pattern=".", start="/min.js"),
    ):
        found = await grep(fast, query)
        assert found == await grep(slow, query)
        assert 2 in [line.number for line in found.files[0].lines]


@pytest.mark.parametrize("mode", ["lines", "files", "counts"])
async def test_a_last_line_that_ends_with_a_carriage_return_is_not_empty(
    tmp_path: Path, mode: Literal["lines", "files", "counts"]
) -> None:
    (tmp_path / "a.txt").write_bytes(b"word\r")
    for start in ("/", "/a.txt"):
        query = Query(pattern="^$", mode=mode, start=start)
        assert (await grep(FilesystemBackend(tmp_path), query)).files == []


async def test_a_match_in_a_line_of_many_megabytes_is_not_lost(tmp_path: Path) -> None:
    (tmp_path / "min.js").write_bytes(b"abcdefghij " * 1_600_000 + b" needle")
    found = await grep(FilesystemBackend(tmp_path), Query(pattern="needle"))
    assert [(item.count, item.lines[0].text[:10]) for item in found.files] == [(1, "abcdefghij")]


def test_reading_stops_when_there_are_more_matches_than_are_wanted() -> None:
    begin = b'{"type":"begin","data":{"path":{"text":"./a"}}}\n'
    match = b'{"type":"match","data":{"lines":{"text":"x"},"line_number":1}}\n'
    output = BytesIO(begin + match * 10)
    found = parse_lines(output, Query(pattern="x", limit=3))
    assert (found.complete, output.tell()) == (False, len(begin + match * 4))


@pytest.mark.parametrize("ripgrep", [True, False])
async def test_more_matches_than_are_wanted_are_counted_to_the_last(
    tmp_path: Path, ripgrep: bool
) -> None:
    for name in ("b.txt", "a/x.txt", "a-b/y.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("needle\nhay\n" * 30)
    files = FilesystemBackend(tmp_path, ripgrep=ripgrep)
    found = await grep(files, Query(pattern="needle", limit=40))
    shown = [(item.path, item.count, len(item.lines)) for item in found.files]
    assert shown == [("/a/x.txt", 30, 30), ("/a-b/y.txt", 30, 10), ("/b.txt", 30, 0)]
    one = await grep(files, Query(pattern="needle", limit=5, start="/b.txt"))
    assert (one.total, len(one.files[0].lines)) == (30, 5)


@pytest.mark.parametrize("ripgrep", [True, False])
async def test_very_deep_trees_are_survived(tmp_path: Path, ripgrep: bool) -> None:
    depth = 150
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("deep", dir_fd=here)
        below = os.open("deep", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    descriptor = os.open("needle.txt", os.O_CREAT | os.O_WRONLY, dir_fd=here)
    os.close(descriptor)
    os.close(here)
    found = await find(FilesystemBackend(tmp_path, ripgrep=ripgrep), "**/needle.txt")
    assert found.paths == ["/" + "deep/" * depth + "needle.txt"]


async def test_a_search_uses_no_settings_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rc").write_text(f"--pre={sys.executable}\n")
    (tmp_path / "a.txt").write_text("needle")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "rc"))
    found = await grep(FilesystemBackend(tmp_path), Query(pattern="needle", start="/a.txt"))
    assert [item.count for item in found.files] == [1]


async def test_an_expression_that_runs_away_is_ended_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_grep_process, "_SECONDS", 0.3)
    (tmp_path / "long.txt").write_bytes(b"\xe9 " + b"a" * 30 + b"!\n")
    query = Query(pattern="(a+)+$")
    with pytest.raises(ToolError, match=r"took over 0\.3 seconds"):
        await grep(FilesystemBackend(tmp_path, ripgrep=False), query)
    assert (await grep(FilesystemBackend(tmp_path), query)).files == []


@pytest.mark.parametrize("mode", ["lines", "files", "counts"])
async def test_what_a_process_finds_is_what_is_found_here(
    mode: Literal["lines", "files", "counts"], tmp_path: Path
) -> None:
    text = "one\r\ntwo\n\nthree\rtwo\r\ncafé two\nlast two\r"
    (tmp_path / "utf.txt").write_bytes(text.encode())
    (tmp_path / "latin.txt").write_bytes(text.encode("latin-1"))
    (tmp_path / "wide.txt").write_bytes(text.encode("utf-16"))
    query = Query(pattern="two", mode=mode, context=1, limit=50)
    plain = FilesystemBackend(tmp_path, ripgrep=False)
    here = await grep(plain, query)
    assert await grep(plain, replace(query, pattern="(two)")) == here
    assert await grep(FilesystemBackend(tmp_path), query) == here
    (tmp_path / "zero.txt").write_bytes(b"two\n" * 20_000 + b"two\0two\n")
    assert await grep(plain, replace(query, pattern="(two)")) == await grep(plain, query)


@pytest.mark.parametrize(
    "pattern", ["[[:digit:]]", r"\<two", "é [[:digit:]]+", r"caf\p{L}", r"t(?<n>w)o"]
)
async def test_latin_lines_are_found_by_what_ripgrep_means(pattern: str, tmp_path: Path) -> None:
    for encoding in ("latin-1", "utf-8"):
        (tmp_path / encoding).write_bytes("café 42 two\n".encode(encoding))
    found = await grep(FilesystemBackend(tmp_path), Query(pattern=pattern))
    assert [item.path for item in found.files] == ["/latin-1", "/utf-8"]
    assert {item.lines[0].text for item in found.files} == {"café 42 two"}


@pytest.mark.parametrize("mode", ["lines", "files", "counts"])
async def test_names_with_newlines_are_found_with_and_without_ripgrep(
    mode: Literal["lines", "files", "counts"], tmp_path: Path
) -> None:
    for name in ("a\nb.txt", "plain.txt", "\n", "7\n8"):
        (tmp_path / name).write_text("two\ntwo\n")
    query = Query(pattern="two", mode=mode, limit=3)
    found = await grep(FilesystemBackend(tmp_path), query)
    assert [item.path for item in found.files] == ["/\n", "/7\n8", "/a\nb.txt", "/plain.txt"]
    assert found == await grep(FilesystemBackend(tmp_path, ripgrep=False), query)
