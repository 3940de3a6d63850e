"""The page in a real browser: nothing leaves it, nothing breaks, all of it can be read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.report.browser import browser, missing, printed, show

from rdiv import Comparison
from rdiv.report.wording import typeset

WHY = missing()
pytestmark = pytest.mark.skipif(WHY is not None, reason=f"no browser to test with: {WHY}")


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    with browser() as one:
        yield one


@pytest.fixture(scope="module")
def files(pages: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in pages}


def named(driver: Any, role: str) -> list[str]:
    """Names that a screen reader would say for elements of a role."""
    driver.execute_cdp_cmd("Accessibility.enable", {})
    nodes = driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    found = [n for n in nodes if not n.get("ignored") and n.get("role", {}).get("value") == role]
    return [node.get("name", {}).get("value", "") for node in found]


@pytest.mark.parametrize("name", ["found", "hostile", "dated", "moved", "many", "models"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_error_and_no_request(
    driver: Any, files: dict[str, Path], name: str, scheme: str
) -> None:
    driver.get_log("browser")
    driver.get_log("performance")
    show(driver, files[name], scheme=scheme)
    assert driver.get_log("browser") == []
    sent = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    requests = [m["params"]["request"]["url"] for m in sent if m["method"].endswith("WillBeSent")]
    assert requests == [files[name].as_uri()]
    assert driver.title != "broken"


def test_a_script_that_slipped_in_would_not_run(
    driver: Any, files: dict[str, Path], tmp_path: Path
) -> None:
    broken = tmp_path / "broken.html"
    text = files["found"].read_text(encoding="utf-8")
    broken.write_text(text.replace("<main", "<script>document.title='ran'</script><main", 1))
    show(driver, broken)
    assert driver.title != "ran"


def test_verdict_and_charts_are_in_the_accessibility_tree(
    driver: Any, files: dict[str, Path], found: Comparison
) -> None:
    show(driver, files["found"])
    assert typeset(found.headline()) in named(driver, "heading")
    images = named(driver, "image") + named(driver, "img") + named(driver, "graphics-document")
    for title in (
        "The gaps and what retraining changes",
        "Gap of the model in use under random permutations",
        "Losses of the model in use on both samples",
        "Why: other inputs, or another relation?",
    ):
        assert any(title in image for image in images), images


@pytest.mark.parametrize("name", ["found", "hostile", "dated", "moved", "many", "models"])
@pytest.mark.parametrize("width", [400, 380, 1100])
def test_nothing_scrolls_sideways(
    driver: Any, files: dict[str, Path], name: str, width: int
) -> None:
    show(driver, files[name], width=width)
    wide = driver.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert wide[0] <= wide[1] == width
    cut = driver.execute_script(
        "return [...document.querySelectorAll('h1,h2,h3,p,dd,figcaption,svg.chart')].filter("
        "e => e.getBoundingClientRect().right > innerWidth + 1).length"
    )
    assert cut == 0
    outside = driver.execute_script(
        "document.querySelectorAll('details').forEach(e => e.open = true);"
        "return [...document.querySelectorAll('svg.chart text')].filter(e => {"
        "const box = e.getBoundingClientRect();"
        "return box.right > innerWidth + 1 || box.left < -1 }).map(e => e.textContent)"
    )
    assert outside == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["found", "dated", "moved"])
def test_text_can_be_read_against_its_background(
    driver: Any, files: dict[str, Path], name: str, scheme: str
) -> None:
    show(driver, files[name], scheme=scheme)
    contrast = """
      const light = c => { const v = c.match(/[\\d.]+/g).slice(0, 3).map(x => x / 255).map(
        x => x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4);
        return .2126 * v[0] + .7152 * v[1] + .0722 * v[2]; };
      const paper = light(getComputedStyle(document.body).backgroundColor);
      const said = 'h1,.badge,p,dd,dt,li,li b,summary,figcaption,th,td,svg.chart text';
      return [...document.querySelectorAll(said)].map(e => {
        const style = getComputedStyle(e);
        const ink = light(e.closest('svg') ? style.fill : style.color);
        return (Math.max(ink, paper) + .05) / (Math.min(ink, paper) + .05); });
    """
    assert min(driver.execute_script(contrast)) >= 4.5  # what WCAG asks of text


def test_every_table_can_be_reached_by_keyboard(driver: Any, files: dict[str, Path]) -> None:
    show(driver, files["found"], width=380)
    from selenium.webdriver.common.keys import Keys

    driver.execute_script("document.querySelectorAll('details').forEach(e => e.open = true)")
    body = driver.find_element("tag name", "body")
    regions, folds = driver.execute_script(
        "return ['.scroll', 'summary'].map(e => document.querySelectorAll(e).length)"
    )
    reached = set()
    for _ in range(regions + folds + 2):  # the link to the finding comes before
        body.send_keys(Keys.TAB)
        reached.add(driver.execute_script("return document.activeElement.outerHTML.slice(0, 120)"))
        body = driver.switch_to.active_element
    assert sum("scroll" in one for one in reached) == regions > 3


def test_the_first_screen_holds_the_verdict_and_the_numbers(
    driver: Any, files: dict[str, Path]
) -> None:
    for name in ("found", "dated", "moved"):
        show(driver, files[name], width=1300)
        ends = driver.execute_script(
            "return document.querySelector('.numbers').getBoundingClientRect().bottom"
        )
        assert ends <= 900, name


def test_a_page_of_many_levels_is_a_few_screens(driver: Any, files: dict[str, Path]) -> None:
    for name in ("many", "models"):
        show(driver, files[name], width=1300)
        height = driver.execute_script("return document.documentElement.scrollHeight")
        assert height <= 4 * 900, name


@pytest.mark.parametrize("name", ["found", "many"])
def test_print_keeps_every_chart_and_the_verdict(
    driver: Any, files: dict[str, Path], name: str
) -> None:
    show(driver, files[name], scheme="dark")
    charts = driver.execute_script("return document.querySelectorAll('svg.chart').length")
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    kept = driver.execute_script(
        "return [...document.querySelectorAll('svg.chart')].filter(e => {"
        "const box = e.getBoundingClientRect(); return box.width > 100 && box.height > 40 &&"
        "getComputedStyle(e).visibility === 'visible' }).length"
    )
    paper = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert kept == charts >= 3
    assert paper == "rgb(255, 255, 255)"  # also for somebody who reads in the dark
    assert printed(driver).startswith(b"%PDF")


@pytest.mark.parametrize("name", ["found", "dated", "many", "models"])
def test_every_number_explains_itself_without_a_script(
    driver: Any, files: dict[str, Path], name: str
) -> None:
    show(driver, files[name])
    boxes = driver.find_elements("css selector", ".numbers > div")
    assert len(boxes) >= 4
    for box in boxes:
        label = box.find_element("css selector", "dt").text
        mark = box.find_element("css selector", ".meaning summary")
        told = box.find_element("css selector", ".meaning p")
        assert label in mark.get_attribute("aria-label")
        assert not told.is_displayed()
        mark.send_keys(" ")  # by keyboard
        assert told.is_displayed()
        assert len(told.text) > 20
        mark.send_keys(" ")


def test_print_has_the_list_of_words_and_no_button(driver: Any, files: dict[str, Path]) -> None:
    show(driver, files["found"])
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    shown = "return document.querySelector(arguments[0]).getBoundingClientRect().height"
    assert driver.execute_script(shown, ".terms dl dd") > 0
    assert driver.execute_script(shown, ".meaning") == 0
