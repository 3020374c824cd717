"""Write the names of a PostgreSQL server's wait events, as the server itself reports them.

``python tools/postgres_wait_events.py /usr/lib/postgresql/15/bin/postgres`` makes
``crates/pyro-probe/src/annotate/postgres-15.txt``. A library that is loaded into ``postgres
--version`` asks ``pgstat_get_wait_event`` for every number there may be: no server is started, and
nothing is copied by hand. Needs a C compiler.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "crates" / "pyro-probe" / "src" / "annotate"
ASK = r"""
#include <stdio.h>
#include <stdlib.h>
extern const char *pgstat_get_wait_event(unsigned int);
extern const char *pgstat_get_wait_event_type(unsigned int);
__attribute__((constructor)) static void print_names(void) {
  for (unsigned kind = 1; kind < 16; kind++)
    for (unsigned id = 0; id < 256; id++) {
      unsigned value = kind << 24 | id;
      /* Names of locks by number are an array of eleven. */
      if (kind == 3 && id > 10) break;
      const char *type = kind == 2 ? NULL : pgstat_get_wait_event_type(value);
      const char *name = type ? pgstat_get_wait_event(value) : NULL;
      if (name) printf("0x%08x %s:%s\n", value, type, name);
    }
  fflush(stdout);
  quick_exit(0);
}
"""
# Names of numbers without a name, and classes that have one event, whatever the number.
UNNAMED = re.compile(r"unknown|\?\?\?|<unassigned|:extension$")
SINGLE = ("BufferPin", "Extension")


def names(server: Path) -> list[str]:
    """Ask a server's program for all names, as lines ``number class:name``."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "ask.c"), Path(folder, "ask.so")
        source.write_text(ASK, encoding="ascii")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
        environment = {**os.environ, "LD_PRELOAD": str(library)}
        output = subprocess.run(
            [server, "--version"], env=environment, capture_output=True, text=True, check=True
        ).stdout
    kept = []
    for line in output.splitlines():
        number, name = line.split(" ", 1)
        if UNNAMED.search(name) or (name.startswith(SINGLE) and int(number, 16) & 0xFFFF):
            continue
        kept.append(line)
    return kept


def main(server: str) -> None:
    """Write the file of a server's version."""
    output = subprocess.run(
        [server, "--version"], capture_output=True, text=True, check=True
    ).stdout
    version = output.split()[2]
    major = version.split(".")[0]
    found = names(Path(server))
    head = f"# Wait events of PostgreSQL {version}, as reported by its pgstat_get_wait_event"
    head += " (tools/postgres_wait_events.py).\n"
    target = FOLDER / f"postgres-{major}.txt"
    target.write_text(head + "\n".join(found) + "\n", encoding="ascii")
    sys.stdout.write(f"{target}: {len(found)} names\n")


if __name__ == "__main__":
    main(sys.argv[1])
