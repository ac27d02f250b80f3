"""The site has every page, once, and so has `llms.txt`."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(file.name for file in (ROOT / "docs").glob("*.md"))


def test_every_page_is_in_the_navigation() -> None:
    """`mkdocs.yml` names each page of docs/ once, in one of four parts."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]

    assert sorted(re.findall(r"\S+\.md", text)) == PAGES
    assert re.findall(r"^  - (.*):$", text, re.MULTILINE) == ["Tutorial", "How to", "Reference", "Explanation"]


def test_every_page_is_in_llms_txt() -> None:
    """`docs/llms.txt` lists each page with its own title."""
    listed = re.findall(r"^- \[(.*)\]\((.*)\)$", (ROOT / "docs" / "llms.txt").read_text(encoding="utf-8"), re.MULTILINE)

    titles = {
        name: (ROOT / "docs" / name).read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") for name in PAGES
    }
    assert {name: title for title, name in listed} == titles
    assert len(listed) == len(PAGES)
