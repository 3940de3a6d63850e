"""Take the picture of a report for README and guide: docs/assets/report.png. It needs a browser.

python tools/report_picture.py

A browser draws the same page a little differently on every system, so no check compares the bytes.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "assets" / "report.png"
WIDTH, COLOURS = 1040, 256


def page(folder: Path) -> Path:
    """The report of the pale scans of the demo."""
    from rdiv.cli import main as run
    from rdiv.cli.demo import digit_cases, save_cases

    reference, _, pale, _ = save_cases(digit_cases(0), str(folder))
    target = folder / "report.html"
    options = ["--target", "digit", "--model", "logistic", "--html", str(target), "--json"]
    code = run(["compare", reference, pale, *options, str(folder / "report.json")])
    if code:
        raise SystemExit(code)
    return target


def main() -> int:
    """Write the picture; 1 where there is no browser."""
    from PIL import Image
    from tests.report.browser import browser, missing, show

    why = missing()
    if why is not None:
        print(f"no picture was taken: {why}.", file=sys.stderr)
        return 1
    with TemporaryDirectory() as folder, browser() as driver:
        show(driver, page(Path(folder)), width=WIDTH)
        ends = driver.execute_script(
            "return document.querySelector('.terms').getBoundingClientRect().bottom"
        )
        driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": WIDTH, "height": int(ends) + 12, "deviceScaleFactor": 1.5, "mobile": False},
        )
        taken = driver.get_screenshot_as_png()
    image = Image.open(io.BytesIO(taken)).convert("RGB")
    image = image.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE)
    image.save(TARGET, optimize=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
