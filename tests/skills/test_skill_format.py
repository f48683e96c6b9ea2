"""Skills are read strictly, and what is wrong with one is told."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.skills._make import GOOD, make_skill

from toolwright.builtin import Skill, SkillFrontmatter, SkillRegistry, SkillToolset
from toolwright.builtin.skills._markdown import split_skill
from toolwright.errors import ToolError, UsageError
from toolwright.tools import combined


def test_a_skill_is_read_from_its_folder(tmp_path: Path) -> None:
    skill = Skill.from_directory(make_skill(tmp_path, references__fields_DOT_md="# Fields"))
    assert skill.name == "pdf-forms"
    assert skill.frontmatter == SkillFrontmatter(
        name="pdf-forms",
        description="Fills in PDF forms. Use it when a form has to be filled in.",
        license="MIT",
        compatibility="Needs Python 3.",
        allowed_tools=("Bash(git add:*)", "stamp"),
        metadata={"author": "ada"},
    )
    assert skill.instructions == "# PDF forms\n\n1. Read `references/fields.md`."
    assert skill.files() == ["references/fields.md"]
    assert skill.read("references/fields.md") == b"# Fields"


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path: Path) -> None:
    folder = make_skill(tmp_path)
    folder.joinpath("SKILL.md").write_bytes(
        b"\xef\xbb\xbf---\r\nname: pdf-forms\r\ndescription: x\r\n---\r\nDo it.\r\n"
    )
    assert Skill.from_directory(folder).instructions == "Do it."


def test_a_name_may_be_in_any_alphabet_however_the_folder_spells_it(tmp_path: Path) -> None:
    text = "---\nname: re\u0301sume\u0301s-ärzte\ndescription: x\n---\n"
    folder = make_skill(tmp_path, "r\u00e9sum\u00e9s-ärzte", text)
    assert Skill.from_directory(folder).name.endswith("s-ärzte")


def test_fields_of_other_programs_are_kept(tmp_path: Path) -> None:
    text = "---\nname: {name}\ndescription: x\nversion: 1.0\ntags: [a, b]\n---\n"
    frontmatter = Skill.from_directory(make_skill(tmp_path, text=text)).frontmatter
    assert (frontmatter.version, frontmatter.extra) == ("1.0", {"tags": ["a", "b"]})


def test_a_skill_can_be_made_in_the_program() -> None:
    skill = Skill(
        name="python_helper",
        frontmatter=SkillFrontmatter(
            name="python_helper", description="Helps with Python.", version="1.0.0"
        ),
        instructions="# Python",
        resources={"references/style.md": "Short functions."},
    )
    assert skill.files() == ["references/style.md"]
    assert skill.read("./references//style.md") == b"Short functions."
    with pytest.raises(UsageError, match="the two have to be the same"):
        Skill(name="other", frontmatter=skill.frontmatter, instructions="")


_HEAD = "---\nname: {name}\ndescription: x\n"
_WRONG = {
    "no front matter": ("# Title", "does not start with a line '---'"),
    "not closed": (_HEAD, "not closed by a second line"),
    "empty": ("---\n---\n", "no fields between"),
    "a list": ("---\n- a\n---\n", "no fields between"),
    "no name": ("---\ndescription: x\n---\n", "'name' is missing"),
    "no description": ("---\nname: {name}\n---\n", "'description' is missing"),
    "blank description": ("---\nname: {name}\ndescription: ' '\n---\n", "'description' is empty"),
    "number": (
        "---\nname: {name}\ndescription: 7\n---\n",
        "has to be text; got 7. Put it in quotes",
    ),
    "upper case": ("---\nname: PDF\ndescription: x\n---\n", "use lower-case letters"),
    "two hyphens": ("---\nname: a--b\ndescription: x\n---\n", "single hyphens"),
    "long name": (f"---\nname: {'a' * 65}\ndescription: x\n---\n", "65 characters"),
    "colon": (
        "---\nname: {name}\ndescription: Use: now\n---\n",
        "line 3 is not valid YAML.*quotes",
    ),
    "tab": ("---\nname: {name}\n\tdescription: x\n---\n", "line 3 is not valid YAML"),
    "twice": (
        _HEAD + "description: y\n---\n",
        "line 4 .*'description' is there twice, first in line 3",
    ),
    "alias": ("---\nname: &a {name}\ndescription: *a\n---\n", "aliases are not allowed"),
    "misspelled": (_HEAD + "licence: MIT\n---\n", "no field 'licence'; did you mean 'license'"),
    "underscore": (_HEAD + "allowed_tools: x\n---\n", "did you mean 'allowed-tools'"),
    "metadata": (_HEAD + "metadata: x\n---\n", "'metadata' has to be a mapping"),
    "tools": (_HEAD + "allowed-tools: 3\n---\n", "'allowed-tools' has to be tool names"),
    "object": ("---\nname: !!python/object:os.system x\n---\n", "not valid YAML"),
}


@pytest.mark.parametrize(("text", "told"), _WRONG.values(), ids=_WRONG)
def test_what_is_wrong_is_told_with_the_file(text: str, told: str, tmp_path: Path) -> None:
    folder = make_skill(tmp_path, text=text)
    with pytest.raises(UsageError, match=rf"pdf-forms/SKILL\.md: .*{told}"):
        Skill.from_directory(folder)


def test_a_folder_without_a_skill_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"SKILL\.md: there is no such file"):
        Skill.from_directory(tmp_path)
    folder = make_skill(tmp_path)
    folder.joinpath("SKILL.md").write_bytes(b"---\n\xff")
    with pytest.raises(UsageError, match=r"not UTF-8 text \(byte 4\)"):
        Skill.from_directory(folder)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        split_skill(text)
    except UsageError:
        return


@pytest.mark.parametrize(
    "path", ["../secret", "/etc/passwd", "~/x", "references/../../secret", "", ".", "a\0b", "none.md",
             "references", "link", "references\\..\\..\\secret"]
)  # fmt: skip
def test_no_path_leads_out_of_a_skill(path: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    folder = make_skill(tmp_path, text=GOOD, references__fields_DOT_md="x")
    (folder / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(ToolError):
        Skill.from_directory(folder).read(path)


def test_a_skill_file_that_is_a_link_to_outside_is_refused(tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text(GOOD.replace("{name}", "sly"))
    folder = tmp_path / "sly"
    folder.mkdir()
    (folder / "SKILL.md").symlink_to(outside)
    with pytest.raises(UsageError, match="cannot be read"):
        Skill.from_directory(folder)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            f"---\nname: {{name}}\ndescription: {'x' * 1025}\n---\n",
            "'description' has 1025 characters",
        ),
        (_HEAD + f"compatibility: {'x' * 501}\n---\n", "'compatibility' has 501 characters"),
        ("---\nname: other\ndescription: x\n---\n", "'other', but its folder is 'own'; rename one"),
    ],
    ids=["description", "compatibility", "folder"],
)
@pytest.mark.anyio
async def test_what_breaks_a_rule_and_can_be_used_is_loaded_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, told: str
) -> None:
    folder = make_skill(tmp_path, "own", text)

    [warning] = Skill.from_directory(folder).warnings

    assert told in warning
    assert warning in caplog.text
    toolset = SkillToolset(registry=SkillRegistry(tmp_path))
    assert await toolset.warnings() == [f"skill {Skill.from_directory(folder).name!r}: {warning}"]
    assert SkillRegistry(tmp_path).problems() == []


@pytest.mark.anyio
async def test_a_skill_that_was_left_out_is_told_by_its_toolset(tmp_path: Path) -> None:
    make_skill(tmp_path, "own", "---\nname: own\n---\n")

    [told] = await combined(SkillToolset(registry=SkillRegistry(tmp_path))).warnings()

    assert told.startswith("a skill is left out: ")
    assert "'description' is missing" in told
