"""Open every page of the built site in a real browser: nothing cut off, no request, no error.

python tools/site_check.py [FOLDER]

FOLDER is where mkdocs has put the site, by default ``site``; it is served on this machine alone,
because from a disk neither the search nor the dark colours work. Without a browser nothing is
checked, and it says so.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

WIDTHS = (1300, 400)
CUT = """
const wide = document.documentElement.scrollWidth > innerWidth + 1;
const seen = e => { for (let p = e; p; p = p.parentElement) {
  const style = getComputedStyle(p);
  if (style.display === 'none' || style.visibility === 'hidden') return false;
  if (/auto|scroll|hidden/.test(style.overflowX) && p !== e) return false; } return true; };
const told = 'article h1, article h2, article p, article img, article li';
const cut = [...document.querySelectorAll(told)]
  .filter(e => e.getBoundingClientRect().right > innerWidth + 1 && seen(e))
  .map(e => (e.textContent || e.alt || e.tagName).slice(0, 60));
const broken = [...document.images].filter(e => e.complete && !e.naturalWidth).map(e => e.src);
return [wide, cut, broken];
"""


DARK = """
const light = c => { const v = c.match(/[\\d.]+/g).slice(0, 3).map(x => x / 255);
  return .2126 * v[0] + .7152 * v[1] + .0722 * v[2]; };
const style = getComputedStyle(document.querySelector('.md-main').closest('body'));
return [light(style.backgroundColor), light(style.color)];
"""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a folder, for this machine alone."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()


def faults_of(driver: Any, home: str, page: str, width: int) -> list[str]:
    """What is wrong with one page at one width."""
    from tests.report.browser import visit

    driver.get_log("browser")
    driver.get_log("performance")
    visit(driver, home + page, width=width)
    wide, cut, broken = driver.execute_script(CUT)
    found = ["scrolls sideways"] if wide else []
    found += [f"cut off: {text!r}" for text in cut]
    found += [f"no picture at {source}" for source in broken]
    found += [f"error: {entry['message']}" for entry in driver.get_log("browser")]
    sent = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    asked = {m["params"]["request"]["url"] for m in sent if m["method"].endswith("WillBeSent")}
    return found + [f"asked for {url}" for url in asked if not url.startswith((home, "data:"))]


def faults_of_the_theme(driver: Any, home: str) -> list[str]:
    """Whether the first page can be read in the dark, and searched."""
    from selenium.common.exceptions import TimeoutException
    from selenium.webdriver.support.wait import WebDriverWait
    from tests.report.browser import visit

    found = []
    for scheme in ("light", "dark"):
        visit(driver, home, width=WIDTHS[0], scheme=scheme)
        driver.execute_script("localStorage.clear()")  # as somebody who comes for the first time
        driver.refresh()
        paper, ink = driver.execute_script(DARK)
        if (paper > ink) != (scheme == "light"):
            found.append(f"the page is not {scheme} for those who ask for it")
    visit(driver, home, width=WIDTHS[0])
    driver.find_element("css selector", ".md-search__input").send_keys("hidden shift")
    try:
        WebDriverWait(driver, 30).until(
            lambda one: one.find_elements("css selector", ".md-search-result__item")
        )
    except TimeoutException:
        found.append("the search finds nothing")
    return found


def main(arguments: list[str] | None = None) -> int:
    """Check all pages; 1 where something is wrong."""
    from tests.report.browser import browser, missing

    given = sys.argv[1:] if arguments is None else arguments
    site = Path(given[0] if given else "site")
    why = missing()
    if why is not None:
        print(f"the site was not looked at in a browser: {why}.", file=sys.stderr)
        return 0
    pages = sorted({*site.rglob("*.html")} - {site / "404.html"})  # that one needs a server
    wrong = 0
    with browser() as driver, served(site) as home:
        for fault in faults_of_the_theme(driver, home):
            wrong += 1
            print(fault, file=sys.stderr)
        for page in pages:
            name = page.relative_to(site).as_posix()
            for width in WIDTHS:
                for fault in faults_of(driver, home, name, width):
                    wrong += 1
                    print(f"{name} at {width} pixels: {fault}", file=sys.stderr)
    print(f"{len(pages)} pages at {len(WIDTHS)} widths: {wrong or 'no'} faults")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
