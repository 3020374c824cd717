"""Ask for known weaknesses of everything that is locked: cargo-deny, pip-audit, npm audit.

Each needs a list of advisories from the network. What could not be asked, a tool or its list, is
said with the remedy and never counted as clean: pip-audit, for one, ends well where no package was
found. Exit code 0: asked, nothing found; 1: something found; 2: nothing at all could be asked.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .parts import ROOT

CARGO_DENY = "0.20.2"
TOOLS = ROOT / ".venv-audit"
SCANNERS = "give dist/pyrometer.cdx.json (make sbom) to a scanner that does"
ELSEWHERE = "run `make audit` where the network is open"


@dataclass(frozen=True)
class Outcome:
    """The result of one query.

    Parameters
    ----------
    about : str
        What was audited.
    found : tuple of str
        A line for each weakness.
    not_audited : str
        Why it was not audited, or only in part; empty if it was.
    asked : int
        How many packages were looked up.
    advisories : bool
        Whether a list of advisories was used, not only our policy.
    """

    about: str
    found: tuple[str, ...] = ()
    not_audited: str = ""
    asked: int = 0
    advisories: bool = True

    def lines(self) -> Iterator[str]:
        """Format for the terminal."""
        if self.asked:
            clean = "" if self.found else "; nothing found"
            yield f"{self.about}: packages asked about: {self.asked}{clean}"
        if self.not_audited:
            yield f"{self.about}: NOT AUDITED: {self.not_audited}"
        if not self.asked and not self.not_audited:
            yield self.about
        yield from (f"  {line}" for line in self.found)


def of_pip_audit(about: str, report: Mapping[str, Any]) -> Outcome:
    """Read pip-audit's JSON. Packages that it skipped were not audited, whatever it says.

    Examples
    --------
    >>> skipped = {"name": "a", "skip_reason": "Dependency not found"}
    >>> of_pip_audit("uv.txt", {"dependencies": [skipped]}).asked
    0
    """
    packages = report["dependencies"]
    skipped = [each for each in packages if "skip_reason" in each]
    found = [
        f"{each['name']} {each['version']}: {', '.join([weak['id'], *weak.get('aliases', ())])}"
        f", mended in {', '.join(weak['fix_versions']) or 'no version yet'}"
        for each in packages
        for weak in each.get("vulns", ())
    ]
    not_audited = ""
    if skipped:
        counts = f"{len(skipped)} of {len(packages)} packages"
        not_audited = f"{counts}: {skipped[0]['skip_reason']}; {ELSEWHERE}"
    return Outcome(about, tuple(found), not_audited, len(packages) - len(skipped))


def of_npm_audit(about: str, report: Mapping[str, Any]) -> Outcome:
    """Read npm's JSON: an error, or weaknesses by package."""
    if "error" in report or "vulnerabilities" not in report:
        said = report.get("error") or report
        return Outcome(about, not_audited=f"{said.get('summary') or said}; {ELSEWHERE}")
    found = [f"{name}: {each['severity']}" for name, each in report["vulnerabilities"].items()]
    counts = report["metadata"]["dependencies"]
    return Outcome(about, tuple(found), asked=counts.get("total") or sum(counts.values()))


def of_cargo_deny(about: str, said: str, count: int) -> Outcome:
    """Read cargo-deny's lines of JSON; without a summary at the end nothing was judged."""
    lines = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    if not any(line["type"] == "summary" for line in lines):
        logged = [line["fields"]["message"] for line in lines if line["type"] == "log"]
        return Outcome(
            about, not_audited=f"{last_line(logged[-1] if logged else said)}; {ELSEWHERE}"
        )
    found = []
    for line in lines:
        what = line["fields"]
        if line["type"] == "diagnostic" and what["severity"] == "error":
            where = (
                what["labels"][0]["span"].partition(" registry+")[0] if what["labels"] else about
            )
            remedy = [note for note in what.get("notes", ()) if note.startswith("Solution")]
            weak = [what["advisory"]["id"]] if what.get("advisory") else []
            found.append(f"{where}: {'. '.join([*weak, what['message'], *remedy])}")
    return Outcome(about, tuple(found), asked=count)


def last_line(text: str) -> str:
    """Give the end of what a tool said, which is mostly why it failed."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


def python_packages() -> Iterator[Outcome]:
    """Ask about every lock file of Python packages, the smallest first: it shows who answers."""
    program = TOOLS / "bin" / "pip-audit"
    if not program.exists():
        yield Outcome("Python packages", not_audited="pip-audit is not there. Run: make audit")
        return
    for lock in sorted((ROOT / "requirements").glob("*.txt"), key=lambda path: path.stat().st_size):
        about = f"requirements/{lock.name}"
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            command = [str(program), "--disable-pip", "--require-hashes", "--progress-spinner=off"]
            command += ["-r", str(lock), "-f", "json", "-o", str(report)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if not report.exists():
                yield Outcome(about, not_audited=f"{last_line(done.stderr)}; {ELSEWHERE}")
                return
            outcome = of_pip_audit(about, json.loads(report.read_text()))
        yield outcome
        if not outcome.asked:
            yield Outcome(
                "all larger lock files of Python packages", not_audited="see the one above"
            )
            return


def web_packages() -> Outcome:
    """Ask about the pages' packages."""
    about = "web/package.json"
    said = json.loads((ROOT / about).read_text())
    if not said.get("dependencies") and not said.get("devDependencies"):
        return Outcome(f"{about}: names no package, there is nothing to ask about")
    if shutil.which("npm") is None:
        return Outcome(about, not_audited="npm is not there. Install: apt-get install npm")
    command = ["npm", "audit", "--json"]
    done = subprocess.run(command, cwd=ROOT / "web", capture_output=True, text=True, check=False)
    return of_npm_audit(about, json.loads(done.stdout))


def cargo_deny() -> Path | None:
    """Where cargo-deny is; compiled, in the version named above, if it is not there."""
    program = TOOLS / "bin" / "cargo-deny"
    if not program.exists():
        command = ["cargo", "install", "--locked", f"cargo-deny@{CARGO_DENY}", "--root", str(TOOLS)]
        print(f"cargo-deny {CARGO_DENY} is compiled once; this takes minutes", flush=True)
        environment = {**os.environ, "CARGO_TARGET_DIR": str(TOOLS / "target")}
        # From elsewhere: `.cargo` of this folder is about our own crates.
        subprocess.run(command, cwd=Path.home(), env=environment, check=False)
        shutil.rmtree(TOOLS / "target", ignore_errors=True)
    return program if program.exists() else None


def crates() -> Iterator[Outcome]:
    """Ask about crates, and let cargo-deny judge by the rest of `deny.toml` too."""
    program = cargo_deny()
    if program is None:
        yield Outcome("crates", not_audited=f"cargo-deny could not be compiled; {ELSEWHERE}")
        return

    count = (ROOT / "Cargo.lock").read_text().count("\n[[package]]")

    def deny(about: str, *arguments: str) -> Outcome:
        command = [str(program), "--locked", "--format=json", *arguments]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        return of_cargo_deny(about, done.stderr, count)

    judged = deny("crates: bans, licences, sources", "check", "bans", "licenses", "sources")
    yield replace(judged, advisories=False)
    asked = deny("crates: advisories", "check", "advisories")
    if asked.not_audited:
        # A list that was loaded earlier; cargo-deny itself refuses one older than 90 days.
        kept = deny("crates: advisories as last loaded", "--offline", "check", "advisories")
        asked = asked if kept.not_audited else kept
    yield asked


def main() -> int:
    """Ask all; print what came of it; gives the exit code."""
    outcomes: list[Outcome] = []

    def say(outcome: Outcome) -> None:
        outcomes.append(outcome)
        for line in outcome.lines():
            print(line, flush=True)

    for outcome in python_packages():
        say(outcome)
    say(web_packages())
    for outcome in crates():
        say(outcome)
    say(Outcome("jars", not_audited=f"none of these tools knows Maven; {SCANNERS}"))
    if any(outcome.found for outcome in outcomes):
        return 1
    return 0 if any(outcome.asked and outcome.advisories for outcome in outcomes) else 2


if __name__ == "__main__":
    raise SystemExit(main())
