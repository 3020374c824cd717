"""Hooks of the documentation site: files outside ``docs/`` that pages link to become part of it.

Pages name them by their path in the project (``../../schema/experiment.schema.json``), so that the
links hold where the sources are read; in the site they lie below ``project/``.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md")
LINK = re.compile(r"(?P<before>\]\(|(?:src|href)=\")(?P<path>[^)\s\"#:]+)(?P<rest>[)\s\"#])")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages of the project's root, and the files that any page links to."""
    wanted = {ROOT / page for page in PAGES}
    for source in [*DOCS.rglob("*.md"), *wanted]:
        wanted.update(target for target in _linked(source) if not target.is_relative_to(DOCS))
    for path in sorted(wanted):
        files.append(File.generated(config, _address(path), abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn links between sources into links between pages."""
    source = Path(page.file.abs_src_path or page.file.generated_by)
    here = Path(page.file.src_uri).parent

    def moved(link: re.Match[str]) -> str:
        target = _target(source, link["path"])
        if target is None:
            return link[0]
        return f"{link['before']}{os.path.relpath(_address(target), here)}{link['rest']}"

    return LINK.sub(moved, markdown)


def _linked(source: Path) -> set[Path]:
    links = LINK.finditer(source.read_text(encoding="utf-8"))
    return {target for link in links if (target := _target(source, link["path"]))}


def _target(source: Path, path: str) -> Path | None:
    target = Path(os.path.normpath(source.parent / path))
    return target if target.is_file() and target.is_relative_to(ROOT) else None


def _address(path: Path) -> str:
    """Where a file of the project lies in the site."""
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS).as_posix()
    return f"project/{path.relative_to(ROOT).as_posix()}"
