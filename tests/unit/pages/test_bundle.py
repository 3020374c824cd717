"""The bundler: modules and template become one page whose policy allows just itself."""

import base64
import hashlib
import re
from pathlib import Path

import pytest

from pyrometer.pages.bundle import BundleError, assemble, bundle

WEB = Path(__file__).resolve().parents[3] / "web"


def write(folder: Path, **modules: str) -> Path:
    for name, text in modules.items():
        (folder / f"{name}.js").write_text(text)
    return folder


def test_dependencies_come_first_and_once(tmp_path: Path) -> None:
    write(
        tmp_path,
        main='import { b } from "./b.js";\nimport { a as c } from "./a.js";\nb(c);\n',
        b='import { a } from "./a.js";\nexport function b(x) { return a + x; }\n',
        a="export const a = 1;\n",
    )
    text = bundle(tmp_path, "main.js")
    assert [m[1] for m in re.finditer(r"^// (\w+)\.js$", text, re.MULTILINE)] == ["a", "b", "main"]
    assert "const { a: c } = m0;" in text
    assert "return { b };" in text
    assert not re.search(r"^(import|export)\b", text, re.MULTILINE)


def test_output_depends_on_input_alone() -> None:
    assert assemble(WEB) == assemble(WEB)


@pytest.mark.parametrize(
    "line",
    [
        'import thing from "./a.js";',
        'import * as all from "./a.js";',
        'import "./a.js";',
        "export default 1;",
        "export { a };",
    ],
)
def test_other_syntax_is_refused_with_its_place(tmp_path: Path, line: str) -> None:
    write(tmp_path, main=f"const z = 0;\n{line}\n", a="export const a = 1;\n")
    with pytest.raises(BundleError, match=r"main\.js:2"):
        bundle(tmp_path, "main.js")


def test_margins_go_and_lines_stay(tmp_path: Path) -> None:
    write(tmp_path, main='// about\nconst a = 1; // a\n  // b\n  const b = "  // c";\n')
    assert bundle(tmp_path, "main.js").splitlines()[2:6] == [
        "", "const a = 1; // a", "", 'const b = "  // c";',
    ]  # fmt: skip
    write(tmp_path, main="const a = 1;\nconst b = `x\n  y`;\n")
    with pytest.raises(BundleError, match=r"main\.js:2: text in backquotes"):
        bundle(tmp_path, "main.js")


def test_circles_are_refused_with_their_folders(tmp_path: Path) -> None:
    (tmp_path / "ui").mkdir()
    write(tmp_path, a='import { b } from "./ui/b.js";\n')
    write(tmp_path / "ui", b='import { a } from "../a.js";\n')
    with pytest.raises(BundleError, match=r"a\.js -> ui/b\.js -> a\.js"):
        bundle(tmp_path, "a.js")


def test_text_that_would_end_the_script_is_refused(tmp_path: Path) -> None:
    write(tmp_path, main='const x = "</script>";\n')
    with pytest.raises(BundleError, match="script"):
        bundle(tmp_path, "main.js")


def test_policy_allows_this_script_and_style_only() -> None:
    page = assemble(WEB)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy
    assert policy[1].startswith("default-src 'none'; ")
    assert "unsafe" not in policy[1]
    assert "http" not in policy[1]
    for pattern in (r'<script type="module" async>(.*?)</script>', r"<style>(.*?)</style>"):
        text = re.search(pattern, page, re.DOTALL)
        assert text
        digest = base64.b64encode(hashlib.sha256(text[1].encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy[1]


def test_nothing_in_the_page_points_outside() -> None:
    page = assemble(WEB)
    addresses = set(re.findall(r"\b(?:https?:)?//[\w.-]+\.\w+[^\s\"']*", page))
    assert addresses == {"http://www.w3.org/2000/svg"}
    assert set(re.findall(r"\b(?:src|href)=\S+?>", page)) == {'href="#main">'}
    assert "innerHTML" not in page
    assert "insertAdjacentHTML" not in page
    assert "document.write" not in page
