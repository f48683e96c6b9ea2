"""The README's lines run when pasted, and everything it links to is there."""

import re
import runpy
from pathlib import Path

import pytest
from tests.docs._snippets import ROOT, run_snippet

README = (ROOT / "README.md").read_text()


def _pasted() -> str:
    [block] = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    return block


def test_the_block_is_the_snippet() -> None:
    assert _pasted() == (ROOT / "docs/snippets/readme/ten_lines.py").read_text()


def test_it_runs_when_pasted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pasted.py").write_text(_pasted())
    runpy.run_path(str(tmp_path / "pasted.py"))
    assert capsys.readouterr().out == "Done. {'user:unit': 'celsius'}\n"
    assert run_snippet("readme", "ten_lines")["result"].status == "done"


def test_links_and_pictures_exist() -> None:
    targets = re.findall(r"\]\(([^)#:]+)[)#]", README)
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_anchors_exist() -> None:
    for target, anchor in re.findall(r"\]\(([^)#:]+)#([^)]+)\)", README):
        headings = re.findall(r"^#+ (.+)$", (ROOT / target).read_text(), re.MULTILINE)
        slugs = [re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in headings]
        assert anchor in slugs


def test_as_many_ways_out_of_a_sandbox_are_tried_as_it_says() -> None:
    page = (ROOT / "docs" / "security.md").read_text()
    table = page.partition("<!-- sandboxes: begin -->")[2].partition("<!-- sandboxes: end -->")[0]
    attempts = re.findall(r"^\| (?!attempt )", table, re.MULTILINE)
    assert "More than ninety ways out" in README
    assert 90 < len(attempts) < 110
