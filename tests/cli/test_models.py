"""--model: names, ONNX files and objects of one's own code."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rdiv.cli.models import MODEL_HELP, model_from
from rdiv.errors import InputError, MissingFileError
from rdiv.models import Boosting, Frozen, GaussianMixture, OnnxModel
from rdiv.models.adapters import Estimator
from rdiv.samples import Pool

FILES = Path(__file__).parents[1] / "models" / "data"
CODE = """
import functools
import numpy as np
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC
from rdiv.models import Frozen, GaussianMixture

fitted = LinearRegression().fit([[0.0], [1.0]], [0.0, 2.0])
unfitted = LogisticRegression(C=2.0)
distances = LinearSVC()
clusters = KMeans(2, n_init=1).fit(np.arange(4.0)[:, None])
mixture = GaussianMixture(2)
frozen = Frozen(fitted, trained_on="neither")
number, text, nothing = 7, "boosting", None

class Rule:
    def predict(self, x):
        return x[:, 0] > 0.5

class Trainable:
    def fit(self, pool, rng):
        return self
    def losses(self, pool):
        return pool.numbers()[:, 0]

class Needy:
    def __init__(self, file, scale=1):
        pass

class Inside:
    deep = Rule()

rule = Rule()
def load():
    return fitted
def load_with(file="model.bin", *rest, **named):
    return Rule()
part = functools.partial(load_with, "other.bin")
def needs(file, scale, size=3):
    return fitted
def fails():
    raise OSError("weights.bin is gone")
def leaves():
    raise SystemExit(3)
def gives_nothing():
    pass
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module in the current folder, which only the command's own search finds."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    name = f"own_models_{abs(hash(tmp_path))}"
    Path(f"{name}.py").write_text(CODE)
    Path(f"{name}_zero.py").write_text("1 / 0\n")
    Path(f"{name}_exit.py").write_text("raise SystemExit('no licence')\n")
    yield name
    for module in [known for known in sys.modules if known.startswith(name)]:
        del sys.modules[module]


def losses(model: Any, y: list[float]) -> list[float]:
    x = np.array([[0.0], [1.0]])
    pool = Pool(x, y=np.array(y), task="regression")
    return model.fit(pool, np.random.default_rng(0)).losses(pool).tolist()


def test_names() -> None:
    assert model_from("boosting") == Boosting()
    with pytest.raises(InputError, match="unknown model 'bosting'; did you mean 'boosting'"):
        model_from("bosting")


@pytest.mark.parametrize("name", ["fitted", "load", "frozen"])
def test_a_fitted_model_is_used_as_it_is(own: str, name: str) -> None:
    model = model_from(f"{own}:{name}")
    assert isinstance(model, Frozen)
    assert losses(model, [0.0, 3.0]) == pytest.approx([0, 1])


@pytest.mark.parametrize("name", ["rule", "Rule", "load_with", "part", "Inside.deep"])
def test_what_only_predicts_is_used_as_it_is(own: str, name: str) -> None:
    model = model_from(f"{own}:{name}")
    assert str(model) == "Frozen(Rule)"
    assert losses(model, [0.0, 3.0]) == [0, 4]


def test_models_to_train(own: str) -> None:
    model = model_from(f"{own}:unfitted")
    assert isinstance(model, Estimator)
    assert (model.task, model.estimator.C) == ("classification", 2.0)
    assert model_from(f"{own}:mixture") == GaussianMixture(2)
    assert type(model_from(f"{own}:Trainable")).__name__ == "Trainable"


def test_a_torch_module_is_used_as_it_is(own: str) -> None:
    pytest.importorskip("torch")
    Path(f"{own}_net.py").write_text("import torch\nnet = torch.nn.Linear(1, 1)\n")
    model = model_from(f"{own}_net:net")
    assert str(model) == "Frozen(Linear)"
    made = Path(f"{own}_made.py")
    made.write_text("import torch\ndef net():\n    return torch.nn.Linear(1, 1)\n")
    assert str(model_from(f"{own}_made:net")) == "Frozen(Linear)"


def test_an_onnx_file() -> None:
    pytest.importorskip("onnxruntime")
    model = model_from(str(FILES / "zipmap.onnx"))
    assert isinstance(model.fitted, OnnxModel)
    assert (str(model), model.given) == ("Frozen(zipmap.onnx)", True)
    with pytest.raises(MissingFileError, match=r"'nowhere\.onnx' does not exist"):
        model_from("nowhere.onnx")


@pytest.mark.parametrize("name", ["number", "text", "nothing", "gives_nothing", "clusters"])
def test_an_object_that_is_no_model(own: str, name: str) -> None:
    with pytest.raises(InputError, match=rf"'{own}:{name}' is an object that is no model \("):
        model_from(f"{own}:{name}")


@pytest.mark.parametrize(
    ("spec", "words", "cause"),
    [
        ("{}:fited", "there is no 'fited' in .* did you mean 'fitted'", None),
        ("{}_none:x", "cannot import .*No module named", ModuleNotFoundError),
        ("{}_zero:x", r"cannot import '.*_zero' .*ZeroDivisionError", ZeroDivisionError),
        ("{}_exit:x", r"cannot import '.*_exit' .*SystemExit: no licence", SystemExit),
        ("{}:", "is package.module:Thing, got", None),
        ("{}:fails", r"could not be made .*OSError: weights\.bin is gone", OSError),
        ("{}:leaves", "could not be made .*SystemExit: 3", SystemExit),
        ("{}:needs", r"needs arguments \(file, scale\); name an object", None),
        ("{}:Needy", r"needs arguments \(file\)", None),
        ("{}:distances", "a classifier needs predict_proba", None),
    ],
)
def test_faults_of_ones_own_code_are_one_sentence(
    own: str, spec: str, words: str, cause: type[BaseException] | None
) -> None:
    with pytest.raises(InputError, match=words) as raised:
        model_from(spec.format(own))
    assert cause is None or isinstance(raised.value.__cause__, cause)


@pytest.mark.parametrize("ending", ["pkl", "pickle", "joblib", "pt", "PTH"])
def test_pickles_are_not_read(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"model.{ending}"
    file.write_bytes(b"cos\nsystem\n(S'exit 1'\ntR.")
    with pytest.raises(InputError, match=r"is a pickle, .* runs .* code.* --model module:object"):
        model_from(str(file))
    assert "Pickles are not read" in MODEL_HELP


def test_another_file_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "model.txt").touch()
    with pytest.raises(InputError, match=r"is a file, but no ONNX file; --model takes a name"):
        model_from(str(tmp_path / "model.txt"))
