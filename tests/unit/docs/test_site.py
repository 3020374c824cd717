"""The documentation site: every page has its place, and nothing is loaded from a network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from tools.check_site import loaded_from_elsewhere
from tools.generate_cli import PAGE, page

from pyrometer.cli.main import app

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"


def in_navigation(entries: list[Any]) -> list[str]:
    """Pages of the navigation, in order."""
    found: list[str] = []
    for entry in entries:
        target = next(iter(entry.values())) if isinstance(entry, dict) else entry
        found += in_navigation(target) if isinstance(target, list) else [target]
    return found


def configuration() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    return loaded


def test_every_page_is_in_the_navigation_once() -> None:
    named = in_navigation(configuration()["nav"])
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert len(pages) > 50
    assert len(named) == len(set(named))
    assert {name for name in named if not name.startswith("project/")} == pages
    assert all((ROOT / name[8:]).is_file() for name in named if name.startswith("project/"))


def test_the_site_has_four_shelves() -> None:
    shelves = [next(iter(entry)) for entry in configuration()["nav"]]
    assert shelves == ["Home", "Tutorials", "How-to", "Reference", "Explanation"]


def test_broken_links_fail_the_build_and_fonts_are_the_readers() -> None:
    loaded = configuration()
    assert loaded["strict"] is True
    assert loaded["theme"]["font"] is False
    assert {"search", "offline"} <= {one for one in loaded["plugins"] if isinstance(one, str)}
    assert set(loaded["validation"]["links"].values()) == {"warn"}


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        (
            "a.html",
            '<script src="https://cdn.example/a.js"></script>',
            ["https://cdn.example/a.js"],
        ),
        ("a.html", '<img src="//cdn.example/a.png">', ["//cdn.example/a.png"]),
        (
            "a.html",
            '<link rel="preconnect" href="https://fonts.example">',
            ["https://fonts.example"],
        ),
        (
            "a.html",
            "<style>@import 'https://x.example/a.css';</style>",
            ["https://x.example/a.css"],
        ),
        ("a.html", "<p style='background: url(https://x.example/a)'>", ["https://x.example/a"]),
        (
            "a.css",
            "@font-face { src: url('https://x.example/a.woff') }",
            ["https://x.example/a.woff"],
        ),
        ("a.html", '<a href="https://spark.apache.org">Spark</a><img src="a.png">', []),
        ("a.html", '<link rel="canonical" href="https://docs.example/">', []),
        ("a.css", "a { background: url(../images/a.png) }", []),
    ],
)
def test_what_a_page_loads(tmp_path: Path, name: str, text: str, found: list[str]) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert loaded_from_elsewhere(path) == found


def commands_of(command: Any, name: str) -> dict[str, Any]:
    below = getattr(command, "commands", None)
    if not below:
        return {name: command}
    return {k: v for word in below for k, v in commands_of(below[word], f"{name} {word}").items()}


def test_the_command_page_has_every_command_argument_and_option() -> None:
    text = page()
    assert text == PAGE.read_text(), "make docs"
    sections = {part.split("\n")[0]: part for part in text.split("\n## ")[1:]}
    commands = commands_of(typer.main.get_command(app), "pyrometer")
    assert list(sections) == list(commands)
    assert len(commands) > 30
    for name, command in commands.items():
        for one in command.params:
            if one.param_type_name == "argument":
                assert str(one.metavar or one.name.upper()) in sections[name].replace("\\|", "|")
            elif not one.hidden:
                assert f"`{one.opts[0]}`" in sections[name], name
