"""CIFAR10 against corrupted images, by architecture."""

from __future__ import annotations

from rdiv.models import ConvNeXt, ResNet18, SeNet, Training, ViT
from rdiv.models.protocol import Model
from rdiv.reproduction.methods import model_tests, network_parts, once
from rdiv.reproduction.parts import Part, Setting
from rdiv.reproduction.power_table import PowerTable
from rdiv.reproduction.protocol import paired
from rdiv.sources import CorruptedCifar10

__all__ = ["TABLE"]

PAPER = paired(
    """
N      ResNet18     SENet        ConvNeXt     ViT
1000   0.116/0.252  0.201/0.296  0.186/0.322  0.119/0.211
5000   0.622/0.748  0.478/0.790  0.778/0.844  0.492/0.651
10000  1.000/1.000  1.000/1.000  1.000/1.000  1.000/1.000
""",
    "{column}, N = {row}",
)
SHORT = Training(epochs=8, batch_size=32, learning_rate=3e-3)
FULL: dict[str, Model] = {
    "ResNet18": ResNet18(), "SENet": SeNet(), "ConvNeXt": ConvNeXt(), "ViT": ViT(),
}  # fmt: skip
COST = {"ResNet18": 1.3e4, "SENet": 1.3e4, "ConvNeXt": 1.4e4, "ViT": 1e5}
SMALL: dict[str, Model] = {
    "ResNet18": ResNet18(width=8, blocks=(1, 1), training=SHORT),
    "SENet": SeNet(width=8, blocks=(1, 1), training=SHORT),
    "ConvNeXt": ConvNeXt(width=8, blocks=(1, 1), training=SHORT),
    "ViT": ViT(width=32, depth=2, training=SHORT),
}
TINY: dict[str, Model] = {
    "ResNet18": ResNet18(width=8, blocks=(1,), epochs=1),
    "SENet": SeNet(width=8, blocks=(1,), epochs=1),
    "ConvNeXt": ConvNeXt(width=8, blocks=(1,), epochs=1),
    "ViT": ViT(width=8, depth=1, epochs=1),
}


def _parts(
    models: dict[str, Model], source: CorruptedCifar10, sizes: tuple[int, ...], trials: int,
    seconds: float | dict[str, float], permutations: int = 19,
) -> tuple[Part, ...]:  # fmt: skip
    """The same study with every network."""
    return tuple(
        part
        for name, model in models.items()
        for part in network_parts(
            model, {"cifar10": source}, sizes, trials,
            seconds[name] if isinstance(seconds, dict) else seconds, name=name,
            permutations=permutations, cell=f"{name}, N = {{N}}",
        )
    )  # fmt: skip


TABLE = PowerTable(
    name="architectures",
    about="CIFAR10 against corrupted images, by architecture",
    where="Table on network architectures in section 5.3 of the paper; level 0.05. It does not "
    "state the corruption, and no code was published for it.",
    counted="N is read as on HIGGS: twice the rows a side that are tested.",
    differs="not compared: other corruption and network",
    paper=PAPER,
    scales={
        "smoke": Setting(
            "16 x 16 pixels, 16 images, 1 trial.",
            _parts(TINY, CorruptedCifar10(fraction=1.0, size=16), (16,), 1, 0.1),
        ),
        "laptop": Setting(
            "200 images a side of 16 x 16 pixels, all of q corrupted by Gaussian noise; narrow "
            "networks of one or two stages, 8 epochs; 20 trials; H-Div with 19 permutations, "
            "trained afresh for each, and R-Div with as many. R-Div, score and omnibus, which "
            "train once, also at 1000 a side with 5 % corrupted.",
            (
                *_parts(SMALL, CorruptedCifar10(fraction=1.0, size=16), (200,), 20, 0.7),
                *(
                    once(
                        model_tests(model),
                        {"cifar10": CorruptedCifar10(fraction=0.05, size=16)},
                        (1000,),
                        20,
                        5.0,
                        name=f"{name}-one-fit-large",
                        cell=f"{name}, N = {{N}}",
                    )
                    for name, model in SMALL.items()
                ),
            ),
        ),
        "paper": Setting(
            "Gaussian noise on 5 % of the images (chosen: the table of corruptions has the same "
            "0.748 for ResNet18 there), N = 1000, 5000 and 10000, so 500, 2500 and 5000 a side, "
            "networks of full size, K = 100, Z = 100.",
            _parts(FULL, CorruptedCifar10(fraction=0.05), (500, 2500, 5000), 100, COST, 99),
        ),
    },
    remarks=(
        "What is corrupted, how strongly and in how many images is not stated in the paper.",
        "At N = 1000, its smallest, the paper's own powers are 0.1 to 0.3; 20 trials of narrow "
        "networks on small images cannot tell four networks apart.",
    ),
)
