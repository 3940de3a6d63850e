"""Write docs/reference/licences.md: licences of what rdiv uses; --check says if it is stale."""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from importlib.metadata import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "reference" / "licences.md"
NAMES = {
    "BSD License": "BSD",
    "MIT License": "MIT",
    "Apache Software License": "Apache-2.0",
    "Python Software Foundation License": "PSF (matplotlib's own)",
}
DATA = (
    ("`mnist`", "MNIST digits", "Creative Commons Attribution-ShareAlike 3.0 (LeCun and Cortes)"),
    ("`mnist` (other sample)", "digits of a DCGAN by Md. Ryhan Uddin", "MIT"),
    ("`higgs`", "HIGGS, UCI repository", "CC BY 4.0"),
    ("`cifar10-corrupted`", "CIFAR-10", "none stated; its authors ask for citation"),
    ("`pacs`", "PACS", "none stated; a research benchmark"),
    ("`imagenet-corrupted`", "ImageNet images", "non-commercial research and education"),
    ("tutorials, studies", "American Community Survey", "public use data of the US Census Bureau"),
    ("tutorials, studies", "Bike sharing, UCI repository", "CC BY 4.0"),
)


def rows() -> list[tuple[str, str, str]]:
    """Package, extra and licence of everything that pyproject.toml names, development aside."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = {"always": project["dependencies"], **project["optional-dependencies"]}
    found = []
    for extra, wanted in groups.items():
        if extra in ("all", "dev"):
            continue
        for requirement in wanted:
            name = re.split(r"[\[><=]", requirement)[0]
            found.append((name, "always" if extra == "always" else f"`{extra}`", licence(name)))
    return found


def licence(name: str) -> str:
    """The licence that an installed package states."""
    about = metadata(name)
    if "License-Expression" in about:
        return about["License-Expression"]
    stated = [one.split(" :: ")[-1] for one in about.get_all("Classifier", []) if "License" in one]
    return NAMES.get(stated[0], stated[0]) if stated else "see the package"


def page() -> str:
    """The text of the page."""
    lines = [
        "# Licences",
        "",
        "<!-- Written by tools/licence_table.py: run `make docs` instead of editing. -->",
        "",
        "rdiv is BSD-3-Clause. What it imports, as the installed packages state it:",
        "",
        "| Package | Extra | Licence |",
        "|---|---|---|",
        *(f"| {name} | {extra} | {text} |" for name, extra, text in rows()),
        "",
        "No data are shipped with rdiv. What `rdiv data fetch` downloads, or the studies use, has",
        "licences of its own:",
        "",
        "| Source | Data | Licence |",
        "|---|---|---|",
        *(f"| {source} | {name} | {text} |" for source, name, text in DATA),
    ]
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Write the page, or with ``--check`` only say whether it is stale."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 if stale")
    text = page()
    if not parser.parse_args(arguments).check:
        TARGET.write_text(text, encoding="utf-8")
        return 0
    if TARGET.is_file() and TARGET.read_text(encoding="utf-8") == text:
        return 0
    print(f"{TARGET.name} is stale; run `make docs`.", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
