"""Makes two pictures of the documents from a run: ``python tools/make_images.py RUN``.

``docs/images/show.svg`` is the screen of ``pyrometer show``, ``report.png`` the top of its page in
Chromium, which selenium drives as in ``tests/browser``. The run is called by its workload, as
anybody's would be, and no recorded file is edited.
"""

import io
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from pyrometer.cli.shared.finding import Finder
from pyrometer.report.page import write_run_report
from pyrometer.summary import screen
from pyrometer.summary.kept import summary_of

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
COLUMNS = 90
WIDTH, HEIGHT = 1440, 1017
NEEDLESS = re.compile(r"@font-face \{.*?\}\s*|<!-- .*? -->\s*", re.S)


def main() -> None:
    run = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        name = summary_of(run, None).run.workload or run.name
        called = Path("pyrometer-runs") / name
        called.parent.mkdir()
        called.symlink_to(run)
        (IMAGES / "show.svg").write_text(show(called))
        page = write_run_report(called, Path(folder) / "report.html")
        photograph(page, IMAGES / "report.png")


def show(run: Path) -> str:
    """Draw the screen of a run, without a font that would be loaded from elsewhere."""
    summary = summary_of(run, None)
    console = Console(file=io.StringIO(), width=COLUMNS, record=True, force_terminal=True,
                      color_system="truecolor", highlight=False)  # fmt: skip
    findings = Finder().lines_of_run(run, None, summary)
    screen.show(console, summary, str(run), "pyrometer", findings)
    drawn = console.export_svg(title=f"pyrometer show {run}")
    return "".join(f"{line.rstrip()}\n" for line in NEEDLESS.sub("", drawn).splitlines())


def photograph(page: Path, target: Path) -> None:
    """Save what a window of the browser shows of a page."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.support.ui import WebDriverWait

    programs = shutil.which("chromium"), shutil.which("chromedriver")
    if None in programs:
        sys.exit("chromium and chromedriver are not installed: apt-get install chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = programs[0]
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    driver = webdriver.Chrome(options=options, service=Service(programs[1]))
    try:
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False,
        })  # fmt: skip
        driver.get(page.as_uri())
        WebDriverWait(driver, 60).until(
            lambda one: one.execute_script("return document.documentElement.dataset.ready")
        )
        # Pictures are drawn in the frames after it.
        driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame("
            "() => requestAnimationFrame(() => setTimeout(done, 100)))"
        )
        driver.save_screenshot(str(target))
    finally:
        driver.quit()


if __name__ == "__main__":
    main()
