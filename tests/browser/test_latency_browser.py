"""Heat maps of I/O latencies in a real browser."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from tests.browser.conftest import Browser
from tests.support.tables import HOST, MONO0, MS, StageSpec, World

from pyrometer.accounts.window import open_scope
from pyrometer.pages.page import ReportData
from pyrometer.report.page import page_data
from pyrometer.store import Run
from pyrometer.summary.summary import summarise

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> ReportData:
    world = World([StageSpec([900, 1100])])
    for kind, device, operation, pid, low, count in (
        ("block", "vda", "read", 4242, 1 << 20, 40), ("block", "vda", "read", 9, 1 << 17, 5),
        ("read", None, "pread64", 4242, 1 << 12, 900), ("read", None, "pread64", 4242, 1 << 20, 30),
    ):  # fmt: skip
        world.add("io_latency", host=HOST, begin_mono_ns=MONO0 + 200 * MS,
                  end_mono_ns=MONO0 + 800 * MS, kind=kind, device=device, operation=operation,
                  pid=pid, low_ns=low, count=count, sum_ns=count * low)  # fmt: skip
    folder = world.write(tmp_path_factory.mktemp("run"))
    with Run.open(folder) as run:
        scope = open_scope(run, None)
        return page_data(scope, summarise(scope))


@pytest.fixture
def page(browser: Browser, data: ReportData) -> Browser:
    return browser.open(data)


def test_devices_and_file_reads_over_time(page: Browser) -> None:
    assert page.all_texts("#waits .latency h3") == ["Devices?", "File reads?"]
    assert "vda read at the device" in page.text("#waits .latency [data-name=latency-what]")
    device, calls = page.driver.find_elements(By.CSS_SELECTOR, "#waits .latency canvas")
    calls.send_keys(Keys.ARROW_RIGHT)
    told = calls.find_element(By.XPATH, "../p[last()]")
    page.until(lambda: "count 30" in told.text)
    assert "1.05 – 2.10 ms" in told.text
    # The row of page cache hits is the lowest.
    calls.send_keys(Keys.ARROW_DOWN * 20)
    page.until(lambda: "count 900" in told.text)
    heights = [float(canvas.rect["height"]) for canvas in (device, calls)]
    assert all(height > 30 for height in heights)
    assert page.complaints() == []


def test_a_process_is_told_apart(page: Browser) -> None:
    device = page.driver.find_elements(By.CSS_SELECTOR, "#waits .latency")[0]
    process = Select(device.find_element(By.CSS_SELECTOR, "[data-name=latency-process]"))
    assert process.first_selected_option.text == "all processes"
    process.select_by_index(2)
    device.find_element(By.TAG_NAME, "canvas").send_keys(Keys.ARROW_RIGHT)
    told = device.find_elements(By.TAG_NAME, "p")[-1]
    page.until(lambda: "count 5" in told.text)
    assert page.complaints() == []
