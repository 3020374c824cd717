"""How long a page takes until something of it is seen, and until all of it is there."""

from __future__ import annotations

import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.viewer import WATCH

_PAINTED = """
    return performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? null
"""


@dataclass(frozen=True)
class Opened:
    """Times from the navigation on, in s.

    Attributes
    ----------
    painted_s : float or None
        Until the first text was painted; ``None`` where the browser does not say.
    usable_s : float
        Until the second frame after all sections were put up.
    cpu_s : float
        CPU time of the page's main thread until then: what others do on the machine is not in it.
    """

    painted_s: float | None
    usable_s: float
    cpu_s: float


def opened(page: Path) -> Opened | None:
    """Open a page in a fresh headless Chromium; ``None`` without one."""
    browser, driver_path = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver_path is None:
        return None
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = browser
    with tempfile.TemporaryDirectory(prefix="pyrometer-chromium-") as profile:
        for argument in ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
                         "--disable-background-networking", "--window-size=1400,1000",
                         f"--user-data-dir={profile}"):  # fmt: skip
            options.add_argument(argument)
        driver = webdriver.Chrome(options=options, service=Service(driver_path))
        try:
            driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
            driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
            driver.set_page_load_timeout(600)
            driver.get(page.as_uri())
            while not (usable := driver.execute_script("return window.opened ?? null")):
                time.sleep(0.02)
            painted = driver.execute_script(_PAINTED)
            metrics = driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        finally:
            driver.quit()
    (cpu_s,) = (one["value"] for one in metrics if one["name"] == "TaskDuration")
    return Opened(None if painted is None else painted / 1000, usable / 1000, cpu_s)
