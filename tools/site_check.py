"""Open every page of the built site in a real browser: nothing cut off, no request, no error.

python tools/site_check.py [FOLDER]

FOLDER is where mkdocs has put the site, by default ``site``. Without a browser nothing is checked,
and it says so.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
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


def faults_of(driver: Any, page: Path, width: int) -> list[str]:
    """What is wrong with one page at one width."""
    from tests.report.browser import show

    driver.get_log("browser")
    driver.get_log("performance")
    show(driver, page, width=width)
    wide, cut, broken = driver.execute_script(CUT)
    found = ["scrolls sideways"] if wide else []
    found += [f"cut off: {text!r}" for text in cut]
    found += [f"no picture at {source}" for source in broken]
    errors = [entry["message"] for entry in driver.get_log("browser")]
    found += [f"error: {text}" for text in errors if not _harmless(text)]
    sent = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    asked = {m["params"]["request"]["url"] for m in sent if m["method"].endswith("WillBeSent")}
    return found + [f"asked for {url}" for url in asked if not url.startswith(("file:", "data:"))]


def _harmless(text: str) -> bool:
    """Browsers let no page on disk read its own search index; on a server they do."""
    return "file:" in text and ("CORS" in text or "search" in text or "origin 'null'" in text)


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
    with browser() as driver:
        for page in pages:
            for width in WIDTHS:
                for fault in faults_of(driver, page, width):
                    wrong += 1
                    print(f"{page.relative_to(site)} at {width} pixels: {fault}", file=sys.stderr)
    print(f"{len(pages)} pages at {len(WIDTHS)} widths: {wrong or 'no'} faults")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
