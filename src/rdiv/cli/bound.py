"""rdiv bound: the paper's error bounds in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from rdiv.cli.display import Summary, show
from rdiv.cli.options import JsonFile
from rdiv.cli.outputs import check_destination, deliver
from rdiv.errors import InputError

if TYPE_CHECKING:
    from rdiv.theory import NetworkNorms

__all__ = ["show_bounds"]

VACUOUS = "A bound of 2 c or more is vacuous: the estimate and the divergence lie in 0 to 2 c."
CONDITIONAL = (
    "The conditional bound needs an L-divergence below the excess risk of the fitted network, "
    "which no data can show."
)

Rows = Annotated[
    str,
    typer.Option(
        metavar="N,...",
        help="Rows of each sample; several, separated by commas, make a table.",
    ),
]
LossBound = Annotated[
    float, typer.Option("--c", metavar="C", help="Upper bound of the absolute loss per row.")
]
Delta = Annotated[float, typer.Option(metavar="D", help="Probability with which a bound may fail.")]
LDivergence = Annotated[
    float,
    typer.Option(metavar="GAP", help="Largest gap between the two risks over all hypotheses."),
]
ComplexityP = Annotated[
    float | None,
    typer.Option(
        metavar="R",
        help="Rademacher complexity of the losses on the reference sample.",
        show_default=False,
    ),
]
ComplexityQ = Annotated[
    float | None,
    typer.Option(
        metavar="R",
        help="The same on the current sample; by default equal to that on the reference.",
        show_default=False,
    ),
]
Network = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="A safetensors file of a network of linear layers with ReLU-like activations: bounds "
        "for all networks whose weights have at most its norms.",
        show_default=False,
    ),
]
Norms = Annotated[
    str | None,
    typer.Option(
        metavar="M,...",
        help="Frobenius norms of the weight matrices, instead of a file.",
        show_default=False,
    ),
]
Lipschitz = Annotated[
    float,
    typer.Option(metavar="L", help="Lipschitz constant of the loss in the network's output."),
]
Radius = Annotated[float, typer.Option(metavar="B", help="Largest Euclidean norm of an input.")]


def show_bounds(
    rows: Rows = "100,1000,10000,100000,1000000",
    c: LossBound = 1.0,
    delta: Delta = 0.05,
    l_divergence: LDivergence = 0.0,
    complexity_p: ComplexityP = None,
    complexity_q: ComplexityQ = None,
    network: Network = None,
    norms: Norms = None,
    lipschitz: Lipschitz = 1.0,
    radius: Radius = 1.0,
    json: JsonFile = None,
) -> None:
    """Bound the error of the estimate, as in the paper or sharper.

    Give the complexities of the hypotheses (--complexity-p), or the norms of a network's weights
    (--network, --norms). To find out how many rows a comparison needs, use rdiv plan: these bounds
    hold for every distribution and are far from tight for a given one.
    """
    check_destination(json, *([network] if network else []))
    sizes = [_whole(text) for text in rows.split(",")]
    shared: dict[str, Any] = {"c": c, "delta": delta, "l_divergence": l_divergence}
    if network is not None or norms is not None:
        if complexity_p is not None or complexity_q is not None:
            raise InputError("give complexities or a network, not both.")
        read = _network(network, norms)
        given: dict[str, Any] = {
            **shared, "lipschitz": lipschitz, "radius": read.radius(radius),
            "norms": list(read.norms), "outputs": read.outputs,
        }  # fmt: skip
        table = _network_table(sizes, given)
        remarks = [CONDITIONAL, VACUOUS]
    else:
        if complexity_p is None:
            raise InputError(
                "the complexity of the hypotheses is missing; give --complexity-p, --network or "
                "--norms."
            )
        other = complexity_p if complexity_q is None else complexity_q
        given = {**shared, "complexity_p": complexity_p, "complexity_q": other}
        table = _table(sizes, given)
        remarks = [VACUOUS]
    from rdiv.results import SCHEMA, as_json, plain

    document = as_json({"schema": SCHEMA, **plain({**given, "table": table})})
    deliver(json, document, lambda: show(_summary(given, table, remarks)))


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(f"--rows takes whole numbers such as 100,1000, got {text!r}.") from None


def _network(path: str | None, norms: str | None) -> NetworkNorms:
    from rdiv.theory import NetworkNorms, network_norms

    if path is not None and norms is not None:
        raise InputError("give --network or --norms, not both.")
    if path is not None:
        return network_norms(path)
    try:
        given = tuple(float(text) for text in str(norms).split(","))
    except ValueError:
        raise InputError(f"--norms takes numbers such as 1.5,2, got {norms!r}.") from None
    return NetworkNorms(given, 1, False)


def _table(sizes: list[int], given: dict[str, Any]) -> dict[str, list[float]]:
    from rdiv import theory

    without = {name: value for name, value in given.items() if name != "delta"}
    return {
        "n": list(sizes),
        "general": [theory.general_bound(n=n, **given) for n in sizes],
        "sharp_general": [theory.sharp_general_bound(n=n, **given) for n in sizes],
        "deviation": [theory.deviation_bound(n=n, **without) for n in sizes],
        "sharp_deviation": [theory.sharp_deviation_bound(n=n, **without) for n in sizes],
    }


def _network_table(sizes: list[int], given: dict[str, Any]) -> dict[str, list[float]]:
    from rdiv import theory

    without = {name: value for name, value in given.items() if name != "l_divergence"}
    return {
        "n": list(sizes),
        "network": [theory.network_bound(n=n, **given) for n in sizes],
        "sharp_network": [theory.sharp_network_bound(n=n, **given) for n in sizes],
        "conditional": [theory.conditional_bound(n=n, **without) for n in sizes],
        "sharp_conditional": [theory.sharp_conditional_bound(n=n, **without) for n in sizes],
    }


def _summary(given: dict[str, Any], table: dict[str, list[float]], remarks: list[str]) -> Summary:
    names = [name.replace("sharp_", "sharper ") for name in table][1:]
    cells = [f"{name:>20}" for name in names]
    lines = ["".join([f"{'rows':>12}", *cells])]
    for n, *bounds in zip(*table.values(), strict=True):
        lines.append("".join([f"{n:>12}", *(f"{bound:>20.4g}" for bound in bounds)]))
    said = ", ".join(f"{name} {_short(value)}" for name, value in given.items())
    headline = f"Bounds on the error of the estimate, each with probability {1 - given['delta']:g}."
    return Summary("rdiv bound", headline, [*lines, f"for {said}"], remarks)


def _short(value: Any) -> str:
    if isinstance(value, list):
        return " x ".join(f"{item:.4g}" for item in value)
    return f"{value:.4g}"
