"""A registry finds skills in directories, keeps up with changes and searches."""

from pathlib import Path

import pytest
from tests._npm import npm_package
from tests.skills._make import make_skill

from toolwright.builtin import SkillRegistry
from toolwright.errors import UsageError

_TEXT = "---\nname: {name}\ndescription: %s\n---\nDo it."


def test_skills_are_found_in_all_directories_and_the_first_of_a_name_counts(tmp_path: Path) -> None:
    make_skill(tmp_path / "mine", "pdf", _TEXT % "My own way with PDF")
    make_skill(tmp_path / "theirs" / "office", "pdf", _TEXT % "Their way with PDF")
    make_skill(tmp_path / "theirs" / "office", "tables", _TEXT % "Spreadsheets")
    registry = SkillRegistry(tmp_path / "mine", tmp_path / "theirs")
    assert list(registry.skills()) == ["pdf", "tables"]
    assert registry.skills()["pdf"].description == "My own way with PDF"
    [problem] = registry.problems()
    assert problem.directory == tmp_path / "theirs" / "office" / "pdf"
    assert "has the same name" in problem.reason


def test_a_bad_skill_does_not_spoil_the_others(tmp_path: Path) -> None:
    make_skill(tmp_path, "good")
    make_skill(tmp_path, "bad", "no front matter")
    registry = SkillRegistry(tmp_path)
    assert list(registry.skills()) == ["good"]
    assert [problem.directory.name for problem in registry.problems()] == ["bad"]


def test_changes_on_disk_are_noticed(tmp_path: Path) -> None:
    registry = SkillRegistry(tmp_path)
    assert registry.skills() == {}
    folder = make_skill(tmp_path, "notes", _TEXT % "Takes notes")
    assert registry.search("notes")[0].description == "Takes notes"
    make_skill(tmp_path, "notes", _TEXT % "Takes longer minutes")
    assert registry.search("minutes")[0].name == "notes"
    folder.joinpath("SKILL.md").unlink()
    assert registry.skills() == {}
    assert registry.search("notes") == []


def test_search_finds_other_forms_of_a_word_and_ranks_names_first(tmp_path: Path) -> None:
    make_skill(tmp_path, "invoices", _TEXT % "Writes bills for customers")
    make_skill(tmp_path, "letters", _TEXT % "Writes letters, also about an invoice")
    make_skill(tmp_path, "gardening", _TEXT % "Plants and trees")
    registry = SkillRegistry(tmp_path)
    assert [s.name for s in registry.search("write an invoice")] == ["invoices", "letters"]
    assert registry.search("quantum") == []


def test_what_is_no_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="at least one directory"):
        SkillRegistry()
    with pytest.raises(UsageError, match="is not a directory"):
        SkillRegistry(tmp_path / "none")


@pytest.mark.npm
def test_a_public_collection_loads_or_is_refused_with_the_true_reason() -> None:
    collection = npm_package("@framers/agentos-skills", "0.10.1")
    registry = SkillRegistry(collection)
    assert len(registry.skills()) == 86
    reasons = {problem.directory.name: problem.reason for problem in registry.problems()}
    assert set(reasons) == {"email-intelligence", "social-broadcast"}
    assert "'name' is missing" in reasons["email-intelligence"]
    assert "line 4 is not valid YAML" in reasons["social-broadcast"]
    assert registry.search("post a photo to instagram")[0].name == "instagram-bot"
    assert "diarization" in [skill.name for skill in registry.search("which speaker said what")]
