"""Fuzz the readers of documents: bytes are a value or one of our errors, in time.

Target `documents` of `make fuzz`. It needs atheris (``pip install atheris``), whose coverage steers
it, beside what Pyrometer itself needs, and takes libFuzzer's arguments:
``python fuzz/python/documents.py [--only READER] -max_total_time=600 FOLDER``. The first byte of an
input is the number of its reader (``readers.py``), the rest is the document. The folder is given a
valid document of each reader, and grows; inputs that ended otherwise are kept where
``-artifact_prefix`` says, one for each place.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import shlex
import sys
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def main() -> None:
    """Fuzz until libFuzzer ends the process."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="READER", help="documents of one reader")
    options, rest = parser.parse_known_args()
    sys.path[:0] = [str(ROOT / "python"), str(HERE)]
    work(rest, options.only)


def work(arguments: list[str], only: str | None) -> None:
    """Fuzz, or minimise a corpus, as libFuzzer's arguments say."""
    import atheris

    with atheris.instrument_imports(include=["pyrometer", "yaml"]):
        from readers import Readers, seeds
    from mutate import mutated

    from pyrometer.core.errors import PyrometerError

    readers = Readers()
    names = list(readers.by_name)
    known = seeds()
    seen: set[str] = set()
    merges = any(word.startswith("-merge") for word in arguments)

    def one(data: bytes) -> None:
        if not data or (only and names[data[0] % len(names)] != only):
            return
        try:
            readers.by_name[names[data[0] % len(names)]](data[1:])
        except PyrometerError:
            return
        except Exception as error:  # what is looked for
            if not merges:
                keep(names[data[0] % len(names)], data, error)

    def keep(name: str, data: bytes, error: Exception) -> None:
        # One input for each place: fuzzing goes on.
        place = traceback.extract_tb(error.__traceback__)[-1]
        what = f"{name} {type(error).__name__} {Path(place.filename).name}:{place.lineno}"
        if what not in seen:
            seen.add(what)
            digest = hashlib.sha256(data).hexdigest()[:12]
            kept = f"{name}-{type(error).__name__}-{digest}"
            Path(given(arguments, "-artifact_prefix=") + kept).write_bytes(data)
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

    folders = [Path(word) for word in arguments if not word.startswith("-")]
    for name in () if merges or not folders else [only] if only else names:
        for document in known[name]:
            digest = hashlib.sha256(document).hexdigest()[:12]
            seed = bytes([names.index(name)]) + document
            (folders[0] / f"seed-{name}-{digest}").write_bytes(seed)
    # A merge starts itself again by what it takes for the name of its program.
    program = [sys.executable, __file__, *(["--only", only] if only else [])]
    atheris.Setup([shlex.join(program), *arguments], one, custom_mutator=mutate)
    atheris.Fuzz()


def given(arguments: list[str], option: str) -> str:
    """Give the value of one of libFuzzer's options; empty where it is not given."""
    return next((word[len(option) :] for word in arguments if word.startswith(option)), "")


if __name__ == "__main__":
    main()
