"""Check that the documentation site loads nothing from a network: every page opens from a disk.

Links that a reader may follow are allowed; scripts, styles, fonts and pictures from there are not.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

SITE = Path(__file__).resolve().parents[1] / "site"
ELSEWHERE = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)
STYLE = re.compile(r"(?:url\(\s*|@import\s+)[\"']?\s*((?:https?:)?//[^\"')\s]+)", re.IGNORECASE)
# What a browser fetches by itself; `rel` of a link that only names another page.
LOADS = {"src", "srcset", "poster", "data"}
NAMES_ONLY = {"canonical", "next", "prev", "alternate", "license", "author"}


class Loads(HTMLParser):
    """Collects the addresses elsewhere that a page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at what an element loads."""
        given = {name: value or "" for name, value in attrs}
        loaded = [given[name] for name in LOADS & given.keys()]
        if tag == "link" and not set(given.get("rel", "").split()) & NAMES_ONLY:
            loaded.append(given.get("href", ""))
        self.found += [address for address in loaded if ELSEWHERE.match(address)]
        self.found += STYLE.findall(given.get("style", ""))
        self._style = tag == "style"

    def handle_data(self, data: str) -> None:
        """Look at a style sheet within the page."""
        if self._style:
            self.found += STYLE.findall(data)


def loaded_from_elsewhere(path: Path) -> list[str]:
    """List the addresses elsewhere that a page or style sheet of the site loads.

    Parameters
    ----------
    path : Path
        An HTML or CSS file.

    Returns
    -------
    list of str
        Addresses, in the order of the file.
    """
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".css":
        return STYLE.findall(text)
    page = Loads()
    page.feed(text)
    return page.found


def main() -> int:
    """Check the site that `make docs` has built."""
    pages = sorted([*SITE.rglob("*.html"), *SITE.rglob("*.css")])
    if not pages:
        print(f"{SITE.name}/ has no pages; make docs builds it", file=sys.stderr)
        return 1
    found = [(page, address) for page in pages for address in loaded_from_elsewhere(page)]
    for page, address in found:
        print(f"{page.relative_to(SITE.parent)} loads {address}", file=sys.stderr)
    print(
        f"{SITE.name}/index.html: {len(pages)} pages and styles, {len(found)} loads from a network"
    )
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
