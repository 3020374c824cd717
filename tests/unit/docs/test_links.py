"""Links between pages and files hold where the sources are read; README stays short."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
LINK = re.compile(r"\]\((?P<target>[^)\s#]*)(?:#(?P<anchor>[^)\s]+))?")


def linked(page: Path) -> list[tuple[Path, str | None]]:
    """Files of ours that a page links to, with the anchor in them; links in code left out."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = [link for link in LINK.finditer(text) if not re.match(r"[a-z]+:", link["target"])]
    return [
        ((page.parent / link["target"] if link["target"] else page).resolve(), link["anchor"])
        for link in links
    ]


def slug(heading: str) -> str:
    """The anchor that python-markdown, and so the documentation site, makes of a heading."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
    text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", text).strip().lower())


def anchors(page: Path) -> set[str]:
    """Anchors of a page: its headings, numbered where one repeats, and elements with an id."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    found = set(re.findall(r'\bid="([^"]+)"', text))
    for heading in re.findall(r"^#{1,6} (.+)$", text, flags=re.MULTILINE):
        name, number = slug(heading), 0
        while name in found:
            number += 1
            name = f"{slug(heading)}_{number}"
        found.add(name)
    return found


def test_every_link_leads_to_a_file() -> None:
    found = [(page, target) for page in PAGES for target, _ in linked(page)]
    assert len(found) > 200
    broken = [(str(page), str(target)) for page, target in found if not target.exists()]
    assert broken == []


def test_every_anchor_is_one_of_its_page() -> None:
    links = [(page, *link) for page in PAGES for link in linked(page)]
    found = [link for link in links if link[1].suffix == ".md" and link[2]]
    assert len(found) > 100
    there = {target: anchors(target) for target in {link[1] for link in found}}
    broken = [
        (str(page), f"{target}#{anchor}")
        for page, target, anchor in found
        if anchor not in there[target]
    ]
    assert broken == []


def test_an_anchor_is_what_the_site_makes_of_a_heading() -> None:
    assert slug("pyrometer run NAME | -- COMMAND…") == "pyrometer-run-name-command"
    assert slug("What it says: `--annotate` ([how](x.md))") == "what-it-says-annotate-how"


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
