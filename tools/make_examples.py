"""Rebuilds the runs and pages of ``examples/``: ``make examples`` (as root, some ten minutes).

``tools/make_examples.py pages`` writes the pages of single runs again, from what is kept of them.

Everything runs in a separate mount and UTS namespace, where this checkout lies in
/opt/pyrometer, the applications in /srv/examples and the host is called ``example``: so nothing
of this machine gets into the examples, and no recorded file is edited. What a reader
does not need is left out: raw streams, and of the nights all but manifest and times.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOME = Path("/opt/pyrometer")
WORK = Path("/srv/examples")
NIGHTS, NIGHTS_BEFORE = 16, 11
SUBMIT = "spark-submit --master local[2]"


def main() -> None:
    if os.environ.get("PYROMETER_EXAMPLES") != "inside":
        os.environ["PYROMETER_EXAMPLES"] = "inside"
        found = Path(sys.prefix).resolve()
        os.execvp(
            "unshare",
            ["unshare", "--mount", "--uts", sys.executable, __file__, str(found), *sys.argv[1:]],
        )
    furnish(Path(sys.argv[1]))
    wanted = sys.argv[2:] or list(MAKERS)
    if wanted == ["pages"]:
        pages()
        return
    shell("spark-submit make_orders.py orders --rows 2000000")
    for name in wanted:
        shutil.rmtree(WORK / name, ignore_errors=True)
        MAKERS[name]()
        target = ROOT / "examples" / name
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(WORK / name, target)


def furnish(environment: Path) -> None:
    """Give this namespace neutral names: of checkout, environment, work, user and host."""
    subprocess.run(["hostname", "example"], check=True)
    for folder in (HOME.parent, WORK.parent):
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], check=True)
    for name in ("python", "schema", "studies", "web"):
        bind(ROOT / name, HOME / name)
    bind(Path(sys.base_prefix), HOME / "base")
    bind(environment / "lib", HOME / "venv" / "lib")
    # With pandas, which only the tests need, Spark 4 runs Python functions otherwise.
    (HOME / "without").mkdir()
    (HOME / "without" / "pandas.py").write_text("raise ImportError('not installed')\n")
    shutil.copytree(environment / "bin", HOME / "venv" / "bin", symlinks=True)
    (HOME / "venv" / "bin" / "python3").unlink()
    (HOME / "venv" / "bin" / "python3").symlink_to(HOME / "base" / "bin" / "python3")
    (HOME / "venv" / "pyvenv.cfg").write_text(f"home = {HOME}/base/bin\n")
    shutil.copytree(ROOT / "examples" / "apps", WORK)
    passwd = WORK / ".passwd"
    passwd.write_text(f"example:x:0:0::{WORK}:/bin/sh\n")
    bind(passwd, Path("/etc/passwd"))


def bind(source: Path, target: Path) -> None:
    """Show a file or folder at another path."""
    if source.is_dir():
        target.mkdir(parents=True)
    subprocess.run(["mount", "--bind", source, target], check=True)


def shell(command: str) -> None:
    """Run a command as the reader types it."""
    print(f"$ {command}", flush=True)
    env = {
        "HOME": str(WORK), "USER": "example", "LANG": "C.UTF-8", "NO_COLOR": "1",
        "PATH": f"{HOME}/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "PYTHONPATH": f"{HOME / 'without'}:{HOME / 'python'}",
        "PYROMETER_CACHE": str(WORK / ".cache"),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }  # fmt: skip
    words = command.replace("pyrometer ", "python -m pyrometer ", 1)
    with (WORK / "log").open("w") as log:
        done = subprocess.run(words.split(), cwd=WORK, env=env, stdout=log, stderr=log, check=False)
    if done.returncode:
        sys.exit((WORK / "log").read_text()[-4000:])


def keep(run: Path, *parts: str) -> None:
    """Leave these parts of a run directory, as paths in it, and take away the others."""
    kept = {run / part for part in parts}
    for path in sorted(run.rglob("*"), reverse=True):
        if path in kept or kept & set(path.parents):
            continue
        if path.is_file():
            path.unlink()
        elif not any(path.iterdir()):
            path.rmdir()


def slow_job() -> None:
    shell(f"pyrometer run -o slow-job -- {SUBMIT} revenue.py orders")
    keep(WORK / "slow-job", "manifest.json", "tables", "report.html")


def event_log() -> None:
    folder = WORK / "event-log"
    folder.mkdir()
    shell(
        f"{SUBMIT} --conf spark.eventLog.enabled=true --conf spark.eventLog.dir=file://{folder} "
        "--conf spark.eventLog.compress=true --conf spark.eventLog.rolling.enabled=false "
        "revenue.py orders"
    )
    (log,) = folder.iterdir()
    log.rename(folder / "revenue.zstd")
    shell("pyrometer report event-log/revenue.zstd -o event-log/report.html")


def join() -> None:
    shell("pyrometer experiment run join.yaml -o join")
    shell("pyrometer report join")
    for trial in (WORK / "join" / "trials").iterdir():
        keep(trial, "manifest.json", "raw/iterations.ndjson")


def nightly() -> None:
    for night in range(1, NIGHTS + 1):
        if night == NIGHTS_BEFORE + 1:
            shell("spark-submit make_orders.py orders --rows 2000000 --files 400")
        run = f"nightly/{night:02}"
        shell(f"pyrometer run --profile off --no-report -o {run} segments.yaml")
        keep(WORK / run, "manifest.json", "raw/iterations.ndjson")
    shell("pyrometer experiment history nightly -o nightly/history.html")


def pages() -> None:
    """Write pages again: a newer Pyrometer sees more in the same run."""
    for name, words in (("slow-job", "slow-job"), ("event-log", "event-log/revenue.zstd")):
        kept = ROOT / "examples" / name
        shutil.copytree(kept, WORK / name)
        shell(f"pyrometer report {words} -o {name}/report.html")
        shutil.copyfile(WORK / name / "report.html", kept / "report.html")


MAKERS = {"slow-job": slow_job, "event-log": event_log, "join": join, "nightly": nightly}

if __name__ == "__main__":
    main()
