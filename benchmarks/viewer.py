"""How fast the flame graph of a million distinct stacks opens, and responds to the user.

Random stacks of depth 40 become a run directory, ``pyrometer flame`` makes its page, and headless
Chromium opens it with the network off, each time in a fresh process: from navigation to the second
frame after the picture is complete, and the time between frames while boxes are zoomed into and
out again, one action per frame. ``independent`` stacks share only what chance gives, ``calls`` are
walks on a call graph.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.execute import Arm, execute
from benchmarks.harness import Plan, alternate, replace, table
from benchmarks.random_stacks import KINDS, write_run
from benchmarks.statistics import t_interval

VALUES = ("open_ms", "frame_p95_ms", "frame_p50_ms", "action_p95_ms", "memory_bytes")
GOALS = {"open_ms": 2_000.0, "frame_p95_ms": 33.0}
ACTIONS = 120
WATCH = """
    const watch = new MutationObserver(() => {
      if (!document.documentElement.dataset.ready || window.opened) return;
      watch.disconnect();
      requestAnimationFrame(() => requestAnimationFrame(() => {
        window.opened = performance.now();
      }));
    });
    watch.observe(document, { attributes: true, subtree: true, attributeFilter: ["data-ready"] });
"""
"""Sets ``window.opened``, in ms: the second frame after the page says that it is complete."""
# One action a frame: a click on a box somewhere in the picture, after three a step back.
_ZOOM = """
    const [count, done] = arguments;
    const canvas = document.getElementById("flame-canvas");
    const back = document.getElementById("flame-back");
    const reset = document.getElementById("flame-reset");
    canvas.scrollIntoView();
    let seed = 1;
    const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
    const [frames, actions] = [[], []];
    let [last, step, zoomed] = [null, 0, 0];
    const tick = (now) => {
      if (last !== null) frames.push(now - last);
      last = now;
      if (step === count) return done({ frames: frames.slice(1), actions, zoomed });
      const started = performance.now();
      const { left, top, width, height } = canvas.getBoundingClientRect();
      if (step % 4 === 3) (step % 8 === 7 ? reset : back).click();
      else {
        const at = { clientX: left + random() * width, bubbles: true,
          clientY: top + Math.min(height - 9, 9 + 18 * (1 + (step % 4))) };
        canvas.dispatchEvent(new MouseEvent("click", at));
      }
      zoomed += reset.disabled ? 0 : 1;
      actions.push(performance.now() - started);
      step += 1;
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
"""


def make_page(kind: str, stacks: int, depth: int, seed: int, folder: str) -> dict[str, float]:
    """Write the run and its page into ``folder``; time the page."""
    from pyrometer.flame.page import write_flame

    run = Path(folder) / kind
    write_run(run, kind, stacks, depth, seed)
    started = time.perf_counter()
    view = write_flame(run, Path(folder) / f"{kind}.html")
    return {"page_s": time.perf_counter() - started, "page_bytes": float(view.size_bytes or 0)}


def open_page(page: str) -> dict[str, float]:
    """Open a page in a fresh Chromium and zoom in it."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    with tempfile.TemporaryDirectory(prefix="pyrometer-chromium-") as profile:
        for argument in ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
                         "--disable-background-networking", "--enable-precise-memory-info",
                         "--window-size=1400,1000", f"--user-data-dir={profile}"):  # fmt: skip
            options.add_argument(argument)
        driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            offline = {"offline": True, "latency": 0, "downloadThroughput": 0}
            driver.execute_cdp_cmd("Network.enable", {})
            driver.execute_cdp_cmd(
                "Network.emulateNetworkConditions", {**offline, "uploadThroughput": 0}
            )
            driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
            driver.set_script_timeout(120)
            driver.get(Path(page).as_uri())
            while not (opened := driver.execute_script("return window.opened ?? null")):
                time.sleep(0.02)
            status = driver.execute_script(
                "return document.getElementById('flame-status')?.textContent ?? ''"
            )
            time.sleep(1)  # until the table below the picture is updated
            zooming: dict[str, Any] = driver.execute_async_script(_ZOOM, ACTIONS)
            memory = driver.execute_script("return performance.memory.usedJSHeapSize")
        finally:
            driver.quit()
    if "samples" not in status or zooming["zoomed"] < ACTIONS / 2:
        raise AssertionError(
            f"the page did not open or zoom: {status!r}, {zooming['zoomed']} zooms"
        )
    return {
        "open_ms": float(opened),
        "frame_p50_ms": float(np.percentile(zooming["frames"], 50)),
        "frame_p95_ms": float(np.percentile(zooming["frames"], 95)),
        "action_p95_ms": float(np.percentile(zooming["actions"], 95)),
        "memory_bytes": float(memory),
    }


def figures(result: Mapping[str, Any]) -> list[str]:
    """Every figure of every arm: geometric mean over blocks with Student's interval."""
    lines = [f"{'stacks':<14}{'figure':<18}{'n':>3}{'mean':>14}  {'95 % interval':<28}goal"]
    for arm in result["arms"]:
        runs = [s for s in result["samples"] if s["arm"] == arm["name"] and s["block"] >= 0]
        for name in VALUES:
            values = [s["metrics"][name] for s in runs if s["metrics"].get(name)]
            found = t_interval([math.log(v) for v in values])
            if found.value is None:
                lines.append(f"{arm['name']:<14}{name:<18}{0:>3}{'-':>14}")
                continue
            span = "-" if found.low is None else f"{found.low:,.1f} … {found.high:,.1f}"
            goal = GOALS.get(name)
            verdict = (
                ""
                if goal is None
                else f"< {goal:,.0f}: {'met' if found.value < goal else 'MISSED'}"
            )
            lines.append(
                f"{arm['name']:<14}{name:<18}{found.n:>3}{found.value:>14,.1f}  {span:<28}{verdict}"
            )
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pages, open them in turns, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.viewer", description=__doc__)
    parser.add_argument("--stacks", type=int, default=1_000_000)
    parser.add_argument("--depth", type=int, default=40)
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path)
    chosen = parser.parse_args(arguments)
    missing = [name for name in ("chromium", "chromedriver") if not shutil.which(name)]
    if missing:
        print(f"no {' and no '.join(missing)}: apt-get install chromium chromium-driver")
        return 3
    # Run as a program this module is called __main__; a fresh process must import it by its name.
    from benchmarks import viewer

    with tempfile.TemporaryDirectory(prefix="pyrometer-viewer-") as folder:
        pages = {}
        for kind in KINDS:
            asked = (kind, chosen.stacks, chosen.depth, chosen.seed, folder)
            ended, metrics = execute(Arm.of_function("make", viewer.make_page, *asked))
            if ended.exit_code != 0:
                print(ended.stderr_tail, file=sys.stderr)
                return 1
            pages[kind] = metrics | {"peak_rss_bytes": ended.peak_rss_bytes}
            print(
                f"{kind}: {chosen.stacks:,} stacks of depth {chosen.depth}, page made in"
                f" {metrics['page_s']:.1f} s, {(metrics['page_bytes'] or 0) / 1e6:.1f} MB,"
                f" peak {ended.peak_rss_bytes / 1e6:,.0f} MB (with the stacks' generation)"
            )
        plan = Plan(
            name=f"flame graph of {chosen.stacks:,} stacks in Chromium",
            arms=[
                Arm.of_function(kind, viewer.open_page, str(Path(folder) / f"{kind}.html"))
                for kind in KINDS
            ],
            blocks=chosen.blocks,
            values=VALUES,
            seed=chosen.seed,
            timeout_s=180,
        )
        result = alternate(plan, chosen.output, lambda text: print(text, file=sys.stderr))
    if chosen.output is not None:
        replace(chosen.output, {**result, "pages": json.loads(json.dumps(pages))})
    print(table(result))
    print("\n".join(figures(result)))
    return 0 if all(sample["exit_code"] == 0 for sample in result["samples"]) else 1


if __name__ == "__main__":
    sys.exit(main())
