"""Headless Chromium on files of this machine, with the network off."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from tests.support import needs
from tests.support.report_fixture import manifest, run_rows, write_tables
from tests.support.summary_fixture import summary

from pyrometer.pages.page import ReportData, write_page
from pyrometer.report.data import build
from pyrometer.store import Tables

ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1400,1000",
)


class Browser:
    """One tab: opens reports, and knows what the page logged and asked for."""

    def __init__(self, driver: Any, folder: Path) -> None:
        self.driver = driver
        self.folder = folder
        self.pages = 0

    def open(self, data: ReportData) -> Browser:
        self.pages += 1
        path = self.folder / f"report-{self.pages}.html"
        write_page(data, path)
        return self.go(path)

    def go(self, path: Path) -> Browser:
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(path.as_uri())
        self.until(lambda: self.js("return document.documentElement.dataset.ready"))
        # Pictures have their sizes only after a frame, and tables are filled behind it.
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame("
            "() => requestAnimationFrame(() => setTimeout(done, 100)))"
        )
        return self

    def until(self, done: Callable[[], Any], seconds: float = 60) -> Any:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = done()
            if found:
                return found
            time.sleep(0.02)
        raise AssertionError(f"not within {seconds} s")

    def js(self, code: str, *arguments: Any) -> Any:
        return self.driver.execute_script(code, *arguments)

    def text(self, selector: str) -> str:
        return self.js("return document.querySelector(arguments[0])?.textContent ?? ''", selector)

    def all_texts(self, selector: str) -> list[str]:
        return self.js(
            "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)",
            selector,
        )

    def complaints(self) -> list[str]:
        """What the page wrote to the console: errors, warnings, refused requests."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Addresses the page asked for, other than itself."""
        import json

        found = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.append(message["params"]["request"]["url"])
        return [url for url in found if not url.startswith("file:///")]

    def assert_clean(self, title: str, sections: Iterable[str]) -> None:
        """Assert that all is there, nothing failed, and nothing was asked for."""
        for name in sections:
            assert self.js("return document.getElementById(arguments[0]) !== null", name), name
        assert "This section failed" not in self.text("#main")
        assert self.complaints() == []
        assert self.requests() == []
        assert self.text("h1") == title


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    chromium, chromedriver = needs.tool("chromium"), needs.tool("chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in (*ARGUMENTS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    made = webdriver.Chrome(options=options, service=Service(chromedriver))
    made.execute_cdp_cmd("Network.enable", {})
    made.execute_cdp_cmd(
        "Network.emulateNetworkConditions",
        {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0},
    )
    yield made
    made.quit()


@pytest.fixture
def browser(driver: Any, tmp_path: Path) -> Browser:
    return Browser(driver, tmp_path)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tables]:
    """Tables of a run that has all sections."""
    folder = tmp_path_factory.mktemp("tables")
    write_tables(folder, run_rows())
    with Tables(folder) as opened:
        yield opened


@pytest.fixture(scope="module")
def data(tables: Tables) -> ReportData:
    return build(summary(), manifest(), tables)


@pytest.fixture
def full(browser: Browser, data: ReportData) -> Browser:
    return browser.open(data)


def hover(page: Browser, selector: str, x: float, y: float) -> None:
    """Move to a share of the width and height of an element."""
    element = page.driver.find_element(By.CSS_SELECTOR, selector)
    page.js("arguments[0].scrollIntoView({block: 'center'})", element)
    size = element.size
    ActionChains(page.driver).move_to_element_with_offset(
        element, int((x - 0.5) * size["width"]), int((y - 0.5) * size["height"])
    ).perform()


def press(page: Browser, selector: str) -> None:
    """Click on what may stand under the page's sticky head."""
    button = page.driver.find_element(By.CSS_SELECTOR, selector)
    page.js("arguments[0].scrollIntoView({block: 'center'})", button)
    button.click()
