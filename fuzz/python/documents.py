"""Fuzz the readers of documents: bytes are a value or one of our errors, in time.

An optional tool; it needs atheris (``pip install atheris``), whose coverage steers it, beside what
Pyrometer itself needs. ``python fuzz/python/documents.py --seconds 600`` prints what came of it as
JSON; inputs that ended otherwise are kept in ``fuzz/artifacts/documents/``, the corpus, which the
next run grows, in ``fuzz/corpus/documents/``. The first byte of an input is the number of its
reader (``readers.py``), the rest is the document.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import random
import re
import subprocess
import sys
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ARTIFACTS = HERE.parent / "artifacts" / "documents"
CORPUS = HERE.parent / "corpus" / "documents"
TIMEOUT_S = 20
MAX_BYTES = 16384
NO_ATHERIS = "not installed: atheris. Install: pip install atheris"


def main() -> int:
    """Run the fuzzer in a process of its own, which a hang or an abort ends, and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", metavar="READER", help="documents of one reader")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options, rest = parser.parse_known_args()
    if importlib.util.find_spec("atheris") is None:
        print(NO_ATHERIS, file=sys.stderr)
        return 3
    sys.path[:0] = [str(ROOT / "python"), str(HERE)]
    if options.worker:
        work(rest, options.only)
        return 0
    for folder in (ARTIFACTS, CORPUS):
        folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, __file__, "--worker"]
    command += ["--only", options.only] if options.only else []
    command += [f"-max_total_time={options.seconds}", f"-seed={options.seed}"]
    command += [f"-timeout={TIMEOUT_S}", f"-max_len={MAX_BYTES}", "-print_final_stats=1"]
    command += [f"-artifact_prefix={ARTIFACTS}/", "-rss_limit_mb=2048", str(CORPUS)]
    before = set(ARTIFACTS.iterdir())
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    found = sorted(path.name for path in set(ARTIFACTS.iterdir()) - before)
    print(json.dumps(report(done.stderr, found), indent=1))
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
    return 1 if found or done.returncode else 0


def report(log: str, findings: list[str]) -> dict[str, object]:
    """Make a report of libFuzzer's log."""
    last = re.findall(r"#\d+\s+\S+\s+cov: (\d+) ft: (\d+) corp: (\d+)", log)
    ended = re.findall(r"Done (\d+) runs in (\d+) second", log)
    names = ("edges_count", "features_count", "corpus_inputs_count")
    made: dict[str, object] = dict.fromkeys(("executions_count", "seconds", *names))
    if ended:
        made |= {"executions_count": int(ended[-1][0]), "seconds": int(ended[-1][1])}
    if last:
        made |= {name: int(number) for name, number in zip(names, last[-1], strict=True)}
    return made | {"findings": findings}


def work(arguments: list[str], only: str | None) -> None:
    """Fuzz until libFuzzer ends the process."""
    import atheris

    with atheris.instrument_imports(include=["pyrometer", "yaml"]):
        from readers import Readers, seeds
    from mutate import mutated

    from pyrometer.core.errors import PyrometerError

    readers = Readers()
    names = list(readers.by_name)
    known = seeds()
    seen: set[str] = set()

    def one(data: bytes) -> None:
        if not data or (only and names[data[0] % len(names)] != only):
            return
        try:
            readers.by_name[names[data[0] % len(names)]](data[1:])
        except PyrometerError:
            return
        except Exception as error:  # what is looked for
            keep(names[data[0] % len(names)], data, error)

    def keep(name: str, data: bytes, error: Exception) -> None:
        # One input for each place: fuzzing goes on.
        place = traceback.extract_tb(error.__traceback__)[-1]
        what = f"{name} {type(error).__name__} {Path(place.filename).name}:{place.lineno}"
        if what not in seen:
            seen.add(what)
            digest = hashlib.sha256(data).hexdigest()[:12]
            (ARTIFACTS / f"{name}-{type(error).__name__}-{digest}").write_bytes(data)
            print(f"finding: {what}: {str(error)[:200]!r}", flush=True)

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if len(data) < 2 or rng.random() < 0.02:
            name = only or rng.choice(names)
            document = rng.choice(known[name])
        else:
            name, document = only or names[data[0] % len(names)], data[1:]

        def plain(old: bytes) -> bytes:
            return bytes(atheris.Mutate(old, max(most - 1, 1)))

        new = mutated(name, document, rng, plain)
        return (bytes([names.index(name)]) + new)[:most]

    for name in [only] if only else names:
        for document in known[name]:
            digest = hashlib.sha256(document).hexdigest()[:12]
            seed = bytes([names.index(name)]) + document
            (CORPUS / f"seed-{name}-{digest}").write_bytes(seed)
    atheris.Setup([sys.argv[0], *arguments], one, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
