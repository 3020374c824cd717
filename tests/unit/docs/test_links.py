"""Links between pages and files hold where the sources are read; README stays short."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
LINK = re.compile(r"\]\((?P<target>[^)\s#]+)")


def linked(page: Path) -> list[str]:
    """Targets of a page that are files of ours, those in code left out."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = [link["target"] for link in LINK.finditer(text)]
    return [one for one in targets if not re.match(r"[a-z]+:", one)]


def test_every_link_leads_to_a_file() -> None:
    found = [(page, target) for page in PAGES for target in linked(page)]
    assert len(found) > 200
    broken = [(str(page), one) for page, one in found if not (page.parent / one).exists()]
    assert broken == []


def test_readme_is_short_and_begins_with_a_picture() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 120
    picture = next(at for at, line in enumerate(lines) if line.startswith("!["))
    assert picture < next(at for at, line in enumerate(lines) if line.startswith("## "))


def test_pictures_load_nothing_from_a_network() -> None:
    drawn = [path.read_text(encoding="utf-8") for path in ROOT.glob("docs/**/*.svg")]
    assert drawn
    for text in drawn:
        assert set(re.findall(r"https?://[^\"'\s)]+", text)) <= {"http://www.w3.org/2000/svg"}
