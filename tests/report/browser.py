"""A headless Chromium for the tests of pages; run as a script it takes screenshots of a page.

python tests/report/browser.py report.html FOLDER
"""

from __future__ import annotations

import base64
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def missing() -> str | None:
    """Why there is no browser to test with; None when there is one."""
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "selenium is not installed"
    return None


@contextmanager
def browser() -> Iterator[Any]:
    """The system's own Chromium and driver; nothing is downloaded."""
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = shutil.which("chromium") or ""
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    options.add_argument("--disable-background-networking")
    options.add_argument("--hide-scrollbars")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = Service(executable_path=shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    try:
        yield driver
    finally:
        driver.quit()


def show(driver: Any, page: Path, *, width: int = 1100, scheme: str = "light") -> None:
    """Open a page of this disk at a width, in a colour scheme."""
    visit(driver, page.resolve().as_uri(), width=width, scheme=scheme)


def visit(driver: Any, address: str, *, width: int = 1100, scheme: str = "light") -> None:
    """Open an address at a width, in a colour scheme."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    feature = {"name": "prefers-color-scheme", "value": scheme}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": [feature]})
    driver.get(address)


def picture(driver: Any) -> bytes:
    """The whole page as PNG."""
    settings = {"captureBeyondViewport": True, "format": "png"}
    taken = driver.execute_cdp_cmd("Page.captureScreenshot", settings)
    return base64.b64decode(taken["data"])


def printed(driver: Any) -> bytes:
    """The page as PDF, as a printer would get it."""
    settings = {"printBackground": False, "paperWidth": 8.27, "paperHeight": 11.69}
    return base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", settings)["data"])


def main() -> None:
    """Screenshots of a page: light, dark, narrow, printed."""
    page, folder = Path(sys.argv[1]), Path(sys.argv[2])
    with browser() as driver:
        for name, width, scheme in (
            ("light", 1100, "light"),
            ("dark", 1100, "dark"),
            ("narrow", 380, "light"),
            ("narrow_dark", 380, "dark"),
        ):
            show(driver, page, width=width, scheme=scheme)
            (folder / f"{name}.png").write_bytes(picture(driver))
        (folder / "print.pdf").write_bytes(printed(driver))


if __name__ == "__main__":
    main()
