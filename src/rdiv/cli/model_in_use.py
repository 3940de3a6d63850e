"""From the options of rdiv compare to the model in use: trained, given, or known by its columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rdiv.errors import InputError

__all__ = ["AskedModel", "prediction_from"]

NO_RETRAINING = "none"


@dataclass(frozen=True)
class AskedModel:
    """What the options say about the model in use.

    Parameters
    ----------
    models : sequence of str
        Each a name, ``FILE.onnx`` or ``package.module:object``; none stands for the default.
    predictions : sequence of str
        ``COL`` or ``CLASS=COL``.
    loss : str, optional
        Column of losses.
    train : str, optional
        File of the table to train on.
    retrain : str, optional
    train_share : float, optional
    """

    models: Sequence[str] = ()
    predictions: Sequence[str] = ()
    loss: str | None = None
    train: str | None = None
    retrain: str | None = None
    train_share: float | None = None

    @property
    def several(self) -> bool:
        """Whether there are several models to compare."""
        return len(self.models) > 1

    def check(self, n_current: int, by: str | None) -> None:
        """Refuse, before any file is read, what cannot go together."""
        twice = [name for name, count in Counter(self.models).items() if count > 1]
        if twice:
            raise InputError(f"--model {twice[0]} is given twice; give every model once.")
        if self.several and (n_current > 1 or by is not None):
            what = f"{n_current} CURRENT files" if n_current > 1 else "--by"
            raise InputError(
                f"several --model are for one pair of files, got {what} too; give one --model, or "
                "one CURRENT file without --by."
            )
        said = {"--model": self.models, "--prediction": self.predictions, "--loss": self.loss}
        said["--train"] = None if self.models else self.train
        named = [option for option, value in said.items() if value]
        if len(named) > 1:
            raise InputError(
                f"{' and '.join(named)} each stand for the model in use; give one of them."
            )

    def settings(self, columns: Collection[str]) -> dict[str, Any]:
        """Arguments of the library besides the models.

        Parameters
        ----------
        columns : collection of str
            Names of the columns of the samples.
        """
        found: dict[str, Any] = {}
        if self.retrain is not None:
            found["retrain"] = None if self.retrain == NO_RETRAINING else self.retrain
        if self.train_share is not None:
            found["train_share"] = self.train_share
        if not self.several:
            found["prediction"] = prediction_from(self.predictions, columns)
            found["loss"] = self.loss
        return found

    def built(self, table: Any, target: str | None, unused: Sequence[str]) -> dict[str, Any]:
        """The models by their texts; empty where none is named and nothing is to be trained.

        Parameters
        ----------
        table : sample or None
            The rows to train on, with `train`.
        target : str, optional
        unused : sequence of str
            Columns of that table that the samples need not have.
        """
        from rdiv.models import BY_NAME

        models = {text: text if text in BY_NAME else _model(text) for text in self.models}
        if self.train is not None:
            models = _trained(models, table, target, unused)
        self._check_share(models)
        return models

    def _check_share(self, models: Mapping[str, Any]) -> None:
        """Refuse a share of the reference when no model would be trained on it."""
        from rdiv.models.protocol import is_given

        given = self.predictions or self.loss or (models and all(map(is_given, models.values())))
        if self.train_share is not None and given:
            raise InputError(
                "--train-share is for a model that is trained on part of REFERENCE, and this one "
                "is given; leave --train-share out."
            )


def prediction_from(texts: Sequence[str], columns: Collection[str]) -> str | dict[str, str] | None:
    """One column of predictions, or the columns of the classes.

    Parameters
    ----------
    texts : sequence of str
        ``COL`` or ``CLASS=COL``. What is the name of a column is that column.
    columns : collection of str

    Examples
    --------
    >>> print(prediction_from(["a=b"], ["a=b"]), prediction_from(["no=p0", "yes=p1"], []))
    a=b {'no': 'p0', 'yes': 'p1'}
    """
    if not texts:
        return None
    whole = [text for text in texts if text in columns or "=" not in text]
    if len(texts) == 1 and whole:
        return texts[0]
    if whole:
        raise InputError(
            f"--prediction is one column, or CLASS=COL for every class, got {whole[0]!r} beside "
            "others; write CLASS=COL for each."
        )
    pairs = [_class_and_column(text, columns) for text in texts]
    twice = [label for label, count in Counter(label for label, _ in pairs).items() if count > 1]
    if twice:
        raise InputError(f"--prediction names two columns for the class {twice[0]!r}; give one.")
    return dict(pairs)


def _class_and_column(text: str, columns: Collection[str]) -> tuple[str, str]:
    """``CLASS=COL`` in two; either may hold an equals sign itself, so a known column decides."""
    places = [place for place, char in enumerate(text) if char == "="]
    cuts = [(text[:place], text[place + 1 :]) for place in places]
    return next((cut for cut in cuts if cut[1] in columns), cuts[0])


def _model(text: str) -> Any:
    from rdiv.cli.models import model_from

    return model_from(text)


def _trained(
    models: Mapping[str, Any], table: Any, target: str | None, unused: Sequence[str]
) -> dict[str, Any]:
    """Every model, to be trained on the table of --train."""
    from rdiv.models import Trained
    from rdiv.models.protocol import is_given
    from rdiv.samples.sample import has_target

    for text, model in models.items():
        if is_given(model):
            raise InputError(
                f"--train trains a model, and {text} is fitted already; leave --train out, or name "
                "a model to train."
            )
    trained = {
        text: Trained(model, table, target=target, drop=tuple(unused))
        for text, model in (models or {"boosting": "boosting"}).items()
    }
    densities = models and all(model.task in (None, "density") for model in trained.values())
    if not densities and not has_target(table, target):
        raise InputError(
            "--train needs --target, the column to predict, or --model with a density model such "
            "as kde; give one of them."
        )
    return trained
