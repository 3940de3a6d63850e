"""What of the paper stands, what does not and what is open, in short statements with numbers.

The words follow the numbers: a verdict is computed from intervals, never written by hand. A
statement names the rows a side and the trials behind it, and tests are compared only at the same
rows, the same model and the same number of permutations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from scipy.stats import binom
from tools.results_book import (
    FOUR,
    KDE,
    OWN,
    SCOTT,
    TEN,
    Book,
    Line,
    Statement,
    at,
    best_lines,
    counts,
    each,
    mean,
    of,
    series,
    text,
    versus,
)

from rdiv.reproduction.power_page import spread
from rdiv.reproduction.running import command
from rdiv.reproduction.tables.higgs import PAPER as HIGGS
from rdiv.reproduction.tables.mnist import PREPARED
from rdiv.reproduction.tables.noisy_labels import MEMORISES, SIZES, surely_gains

STANDS, FALLS, OPEN = "What stands", "What does not", "What is open, and why"
VERDICTS = (STANDS, FALLS, OPEN)
BEYOND = ("cross-risk", "score", "omnibus")  # tests that the paper does not have
SUPERVISED = (
    "pacs", "pacs-size", "colored-mnist", "corruption-cifar10", "corruption-imagenet",
    "architectures",
)  # fmt: skip
OBJECTIVES = {"weighted": "the script's objective", "complementary": "ours"}
Pairs = list[tuple[Line, Line]]

FULL = 0.995  # an interval that reaches it does not exclude a power of 1.000


def statements(book: Book) -> Iterator[Statement]:
    """Statements about the tables that were measured."""
    for claim in CLAIMS:
        found = claim(book)
        if found is not None:
            yield found


def summary(found: Sequence[Statement]) -> Iterator[str]:
    """The statements under their verdicts."""
    for verdict in VERDICTS:
        said = [str(x) for x in found if x.verdict == verdict]
        if said:
            yield from (f"**{verdict}**", "", *said, "")


def tally(found: Sequence[Statement]) -> str:
    """How many statements there are of each verdict."""
    stand, fall, unsure = (sum(x.verdict == verdict for x in found) for verdict in VERDICTS)
    return f"Of {len(found)} statements {stand} stand, {fall} do not, and {unsure} are open."


def levels(book: Book) -> Statement | None:
    """How often all tests together rejected under the null at 0.05."""
    lines = [x for some in book.lines.values() for x in best_lines(some) if x.get("alpha") == 0.05]
    if not lines:
        return None
    trials = sum(x["null_trials"] for x in lines)
    rejected = sum(x["null_rejections"] for x in lines)
    tails = [binom.sf(x["null_rejections"] - 1, x["null_trials"], 0.05) for x in lines]
    limit = 0.05 / len(lines)  # Bonferroni: tests of a cell share draws
    off = [
        f"{x['method']} ({x['protocol']}) in {x['table']}, {x['cell']}"
        for x, tail in zip(lines, tails, strict=True)
        if tail <= limit
    ]
    rest = f"too many in {'; '.join(off)}" if off else "no row has more than chance allows"
    return Statement(
        "The permutation test holds its level",
        f"{rejected} of {trials} true nulls rejected at 0.05 ({rejected / trials:.3f}) in "
        f"{len(lines)} rows of the tables; {rest}",
        FALLS if off else STANDS,
        "rdiv reproduce blob --scale laptop",
    )


def one_fit(book: Book) -> Statement | None:
    """The pool does not change when labels are permuted."""
    r = book.pick("higgs", "R-Div", "1000")
    if r is None:
        return None
    return Statement(
        "One fit is enough",
        f"by the definition; the scripts fit 100 times. {r['tested']} + {r['tested']} HIGGS rows "
        f"take {r['seconds']:.2g} seconds",
        STANDS,
        at(r),
    )


def higgs_power(book: Book) -> Statement | None:
    r, scott = (book.pick("higgs", "R-Div", "1000", model=model) for model in (KDE, SCOTT))
    if r is None:
        return None
    stands = r["high"] >= FULL
    also = "" if scott is None else f"; {scott['rate']:.2f} with the script's bandwidth, Scott's"
    why = "" if stands else "; the script rejects whatever it is given"
    return Statement(
        "HIGGS, R-Div has power 1.000 at N = 1000",
        f"{text(r)} of {r['trials']} at {r['tested']} rows a side of the UCI file{also}{why}",
        STANDS if stands else FALLS,
        at(r) if scott is None else at(r, scott),
    )


def higgs_larger(book: Book) -> Statement | None:
    cells = [cell for cell in HIGGS.cells if cell in book.cells("higgs") and int(cell) > 1000]
    found = [line for cell in cells if (line := book.pick("higgs", "R-Div", cell)) is not None]
    full = [line for line in found if line["high"] >= FULL]
    if not full or full != found[-len(full) :]:
        return None
    below = "".join(f"; {of(x)} at {x['tested']}" for x in found[: -len(full)])
    places = ", ".join(str(x["tested"]) for x in full)
    return Statement(
        f"HIGGS, R-Div has power 1.000 at N = {', '.join(x['cell'] for x in full)}",
        f"{each(map(of, full))} at {places} rows a side of the UCI file{below}",
        STANDS,
        command("higgs", full[-1]["scale"], full[-1]["seed"], [full[-1]["part"]]),
    )


def higgs_rank(book: Book) -> Statement | None:
    r = book.pick("higgs", "R-Div", "1000")
    if r is None:
        return None
    others = [
        x
        for x in book.judged("higgs")
        if (x["cell"], x["resamples"]) == ("1000", r["resamples"])
        and x["method"] not in ("R-Div", "H-Div (max)", *BEYOND)
        and x["model"] != SCOTT
    ]
    h, largest = (book.pick("higgs", name, "1000") for name in ("H-Div", "H-Div (max)"))
    if not others or h is None or largest is None:
        return None
    best = max(others, key=lambda line: line["rate"])
    solid = max((x for x in others if x["protocol"] != "fresh"), key=lambda line: line["rate"])
    behind = solid["low"] > r["high"]
    verdict = STANDS if r["low"] > best["high"] else FALLS if behind else OPEN
    return Statement(
        "HIGGS, R-Div is ahead of the others at N = 1000",
        f"{text(r)} of {r['trials']} at {r['tested']} rows a side; next "
        f"{best['method']} {text(best)} of {best['trials']}; H-Div {h['rate']:.2f}, "
        f"{largest['rate']:.2f} by the larger of its gains, which contains R-Div",
        verdict,
        command("higgs", r["scale"], r["seed"]),
    )


def blob_best(book: Book) -> Statement | None:
    pairs = [pair for cell in book.cells("blob") if (pair := book.pair("blob", cell, KDE, "H-Div"))]
    if not pairs:
        return None
    r, h = max(pairs, key=lambda pair: pair[1]["low"] - pair[0]["high"])
    mixed = book.pair("blob", r["cell"], TEN, "H-Div")
    also = "" if mixed is None else f"; {versus(*mixed)} with the script's ten Gaussians"
    behind = h["low"] > r["high"]
    return Statement(
        "Blob, no method is above R-Div",
        f"rejections at {r['tested']} rows a side: {versus(r, h)} with a kernel density{also}",
        FALLS if behind else OPEN,
        at(r, h, *(mixed or ())),
    )


def blob_variance(book: Book) -> Statement | None:
    pairs = [
        pair
        for cell in book.cells("blob")
        if (pair := book.pair("blob", cell, KDE, "H-Div")) and pair[0]["repeats"] > 1
    ]
    if not pairs:
        return None
    r, h = max(pairs, key=lambda pair: pair[1]["low"] - pair[0]["high"])
    each = r["trials"] // r["repeats"]
    chance = [(x["rate"] * (1 - x["rate"]) / each) ** 0.5 for x in (r, h)]
    same = h["low"] <= r["high"]
    return Statement(
        "Blob, the same power as the second-best, with a lower variance",
        f"SD of {r['repeats']} powers of {each} draws at {r['tested']} rows a side: R-Div "
        f"{spread(r):.3f} around {r['rate']:.2f}, H-Div {spread(h):.3f} around {h['rate']:.2f} "
        f"(chance alone: {chance[0]:.3f}, {chance[1]:.3f}); the script repeats one "
        "set of draws",
        OPEN if same else FALLS,
        at(r),
    )


def hdgm_dimension(book: Book) -> Statement | None:
    """N = 4000 is 2000 rows a side by the script; should it be 4000, those are there, too."""
    table = "hdgm-dimension"
    readings = []
    for rows in (2000, 4000):
        end = f", {rows} rows a side (N = {2 * rows})"
        readings.append(_hdgm(book, [(table, c) for c in book.cells(table) if c.endswith(end)]))
    half, double = readings
    if not half:
        return None
    said = f"at 2000 rows a side: {series(half, _dimension, 'd = {}')}{_cross_risk(book, half)}"
    if double:
        pairs = [pair for some in double.values() for pair in some]
        ahead, trials = sum(map(_is_behind, pairs)), min(r["trials"] for r, _ in pairs)
        said += f"; at 4000 H-Div is ahead in {ahead} of {len(pairs)} cells of {trials} trials"
    first, *others = _lines(half, double)
    return Statement(
        "HDGM, R-Div is the best in every dimension at N = 4000",
        f"rejections {said}",
        FALLS if all(_behind(some) for some in readings if some) else OPEN,
        at(first, *others),
    )


def _cross_risk(book: Book, found: Mapping[str, Pairs]) -> str:
    """What the published script computes in place of R-Div, with its own mixture."""
    cells = [(r["table"], r["cell"]) for r, _ in found.get("the script's four Gaussians", [])]
    pairs = [pair for cell in cells if (pair := book.pair(*cell, FOUR, "cross-risk")) is not None]
    if not pairs or len(pairs) < len(cells):
        return ""
    counts = each(str(x["rejections"]) for _, x in pairs)
    return f"; cross-risk, which the script computes, {counts} with its Gaussians"


def hdgm_size(book: Book) -> Statement | None:
    cells = [("hdgm-size", cell) for cell in book.cells("hdgm-size")]
    cells += [("hdgm-dimension", c) for c in book.cells("hdgm-dimension") if "(N = 4000)" in c]
    found = _hdgm(book, [(table, cell) for table, cell in cells if cell.startswith("d = 10")])
    if not found:
        return None
    for pairs in found.values():
        pairs.sort(key=lambda pair: pair[0]["tested"])
    first, *others = _lines(found)
    parts = list(dict.fromkeys(x["part"] for x in (first, *others)))
    behind = _behind(found)
    why = "" if behind else ": neither sees enough"
    return Statement(
        "HDGM, R-Div is the best at every size in ten dimensions",
        f"rejections: {series(found, lambda r: r['tested'], '{} rows a side')}{why}",
        FALLS if behind else OPEN,
        command("hdgm-size", "paper", first["seed"], parts),
    )


def _hdgm(book: Book, cells: Sequence[tuple[str, str]]) -> dict[str, Pairs]:
    """R-Div and H-Div in some cells, by the name of the model that both have."""
    models = {"a kernel density": KDE, "the script's four Gaussians": FOUR}
    found = {
        name: [pair for cell in cells if (pair := book.pair(*cell, model, "H-Div")) is not None]
        for name, model in models.items()
    }
    return {name: pairs for name, pairs in found.items() if pairs}


def _is_behind(pair: tuple[Line, Line]) -> bool:
    """Whether the first test is shown to be behind the second."""
    return bool(pair[1]["low"] > pair[0]["high"])


def _behind(found: Mapping[str, Pairs]) -> bool:
    """Whether R-Div is shown to be behind H-Div anywhere."""
    return any(_is_behind(pair) for pairs in found.values() for pair in pairs)


def _lines(*readings: Mapping[str, Pairs]) -> list[Line]:
    """The lines behind some pairs."""
    pairs = [pair for found in readings for some in found.values() for pair in some]
    return [line for pair in pairs for line in pair]


def _dimension(line: Line) -> str:
    return str(line["cell"]).partition(",")[0].removeprefix("d = ")


def overfitting_gap(book: Book) -> Statement | None:
    gaps = {(x["part"], x["method"]): x for x in book.lines.get("overfitting", [])}
    if not all((pair, "R-Div") in gaps for pair in ("script", "alike", "real")):
        return None
    script, alike, real = (gaps[pair, "R-Div"] for pair in ("script", "alike", "real"))
    h = gaps["script", "H-Div"]
    return Statement(
        "Overfitting, a gap of 44.5 for R-Div, 7.2 for H-Div",
        f"on stand-in GAN digits, {script['n']} a side, {script['draws']} draws, {mean(script)} "
        f"and {mean(h)} prepared as the script does; for R-Div {mean(alike)} with both samples "
        f"enlarged alike, {mean(real)} real against real",
        OPEN,
        command("overfitting", script["scale"], script["seed"]),
    )


def overfitting_sup(book: Book) -> Statement | None:
    lines = {(x["part"], x["method"]): x for x in book.lines.get("overfitting", [])}
    if ("script", "L-Div (untrained)") not in lines:
        return None
    raw = lines["script", "L-Div (untrained)"]
    return Statement(
        "Overfitting, L-Div is 0.13",
        "a supremum cannot be below R-Div's gap on the same rows, 44.5; 713 is the risk of an "
        f"untrained network ({raw['risk_p']:.0f} here, stand-in digits, {raw['n']} a side, "
        f"{raw['draws']} draws)",
        FALLS,
        command("overfitting", raw["scale"], raw["seed"], ["script"]),
    )


def mnist(book: Book) -> Statement | None:
    """From the trials of the part `script`, or before they are there from those of overfitting."""
    r, score = (book.script(method) for method in ("R-Div", "score"))
    if set(r) == set(PREPARED):
        first = next(iter(r.values()))
        both = counts([(x, score[how]) for how, x in r.items()])
        place = f"{first['tested']} a side, {first['trials']} trials"
        nulls = f"{first['null_rejections']} and {next(iter(score.values()))['null_rejections']}"
        own = _own_network(book)
        found = series({"rdiv's autoencoder": own}, lambda line: line["tested"], "{} a side")
        also = f"; both alike {found}" if own else ""
        return Statement(
            "MNIST, R-Div has power 1.000 from N = 200 on",
            f"on stand-in GAN digits, {place}: rejections {both} {_joined(r)}; {nulls} where "
            f"nothing differs{also}",
            OPEN,
            at(first, *_lines({"": own})),
        )
    lines = {x["part"]: x for x in book.lines.get("overfitting", []) if x["method"] == "R-Div"}
    if not {"script", "alike", "real"} <= set(lines):
        return None
    said_of = {pair: f"{x['rejections']} of {x['draws']}" for pair, x in lines.items()}
    return Statement(
        "MNIST, R-Div has power 1.000 from N = 200 on",
        f"on stand-in GAN digits, {lines['script']['n']} a side, R-Div rejects in "
        f"{said_of['script']} draws prepared as the script does, in {said_of['alike']} with both "
        f"samples enlarged alike, and in {said_of['real']} of real against real digits enlarged as "
        "there",
        OPEN,
        command("overfitting", lines["script"]["scale"], lines["script"]["seed"]),
    )


def _joined(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}"


def _own_network(book: Book) -> Pairs:
    """What this library's autoencoder finds in digits that are enlarged alike, by their number."""
    found = []
    for cell in book.cells("mnist"):
        r, score = (book.pick("mnist", name, cell, model=OWN) for name in ("R-Div", "score"))
        if r is not None and score is not None:
            found.append((r, score))
    return found


def supervised(book: Book) -> Statement | None:
    pairs = [
        (r, h)
        for table in SUPERVISED
        for h in book.judged(table)
        if h["method"] == "H-Div"
        for r in book.judged(table)
        if r["method"] == "R-Div"
        if all(r[key] == h[key] for key in ("cell", "model", "resamples", "tested", "trials"))
    ]
    if not pairs:
        return None
    ahead = [r["cell"] for r, h in pairs if r["low"] > h["high"]]
    behind = [r["cell"] for r, h in pairs if h["low"] > r["high"]]
    rows = sorted({r["tested"] for r, _ in pairs})
    trials = min(r["trials"] for r, _ in pairs)
    span = f"{rows[0]} to {rows[-1]}" if len(rows) > 1 else f"{rows[0]}"
    first, second = (sum(x["rejections"] for x in side) for side in zip(*pairs, strict=True))
    sums = f"{first} and {second} of {sum(r['trials'] for r, _ in pairs)}"
    return Statement(
        "PACS, Colored-MNIST, corrupted images, architectures, R-Div is above H-Div",
        "no code was published, N is missing or given twice; ours, none at the paper's size "
        f"(narrow networks, {span} rows a side, {trials} trials), has R-Div ahead in {len(ahead)} "
        f"and H-Div in {len(behind)} of {len(pairs)} cells, with {sums} rejections",
        OPEN,
        "rdiv reproduce pacs --scale paper --plan",
    )


def noisy(book: Book) -> Statement | None:
    """Of networks that fit their labels, where those were trained; else of the laptop's sweep."""
    names = ("noisy-symmetric", "noisy-pair")
    lines = {name: book.lines[name] for name in names if name in book.lines}
    if not lines:
        return None
    every = [x for some in lines.values() for x in some]
    ready = all(any(x["part"] == MEMORISES for x in some) for some in lines.values())
    part = MEMORISES if ready else every[0]["part"]
    first = next(x for x in every if x["part"] == part)
    size, trials = SIZES[first["scale"]][part], first["trials"]
    tried = {n: [x for x in some if x["part"] == part] for n, some in lines.items()}
    gains = [f"{name} {_gains(tried, method)}" for method, name in OBJECTIVES.items()]
    return Statement(
        "Noisy labels, retraining helps for gamma in [0.2, 0.5]",
        f"{trials} trials of {size.n_train} images and {size.model.training.epochs} epochs, not "
        f"50000 and 200, by t intervals: {'; '.join(gains)}",
        OPEN,
        "rdiv reproduce noisy-symmetric --scale paper --plan",
    )


def _gains(lines: Mapping[str, Sequence[Line]], method: str) -> str:
    """For which shares an objective surely gains, by the kind of flips."""
    own = {name: [x for x in some if x["method"] == method] for name, some in lines.items()}
    shares = list(dict.fromkeys(f"{x['share']:g}" for some in own.values() for x in some))
    if not shares:
        return "was not tried"
    sure = {
        name.partition("-")[2]: ", ".join(
            f"{x['share']:g}" for x in some if x["gain"] is not None and surely_gains(x)
        )
        for name, some in own.items()
    }
    found = [f"{kind} flips {f'at gamma {at}' if at else 'never'}" for kind, at in sure.items()]
    what = f"gains for {', '.join(found)}" if any(sure.values()) else "never gains"
    tried = ", ".join(shares) if len(shares) < 4 else f"{shares[0]} to {shares[-1]}"
    return f"{what} (tried: {tried})"


CLAIMS: tuple[Callable[[Book], Statement | None], ...] = (
    one_fit, levels, higgs_rank, higgs_larger, higgs_power, blob_best, blob_variance,
    hdgm_dimension, overfitting_sup, hdgm_size, mnist, overfitting_gap, supervised, noisy,
)  # fmt: skip
