"""Weights that a network starts from: a state dict saved as safetensors, never a pickle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rdiv.models.torch_modules import require_torch

__all__ = ["load_weights"]


def load_weights(module: Any, path: str | Path) -> None:
    """Put saved weights into a module; a last layer of another size keeps its fresh ones.

    Parameters
    ----------
    module : torch.nn.Module
        Changed in place.
    path : str or Path
        A ``.safetensors`` file with a tensor for every name in the module's state dict.

    Examples
    --------
    >>> load_weights(None, "weights.pt")
    Traceback (most recent call last):
    ...
    ValueError: weights must be a .safetensors file, which cannot run code, got 'weights.pt'; ...
    """
    if Path(path).suffix != ".safetensors":
        raise ValueError(
            f"weights must be a .safetensors file, which cannot run code, got {str(path)!r}; save "
            "the state dict with safetensors.torch.save_file."
        )
    saved, own = _read(path), module.state_dict()
    fresh = _names_of_last_linear(module)
    fits = {name: name in saved and saved[name].shape == own[name].shape for name in own}
    missing = [name for name, ok in fits.items() if not ok and name not in fresh]
    if missing or not any(fits.values()):
        raise ValueError(
            f"the weights in {Path(path).name} do not fit the network: {_count(len(missing))} "
            f"absent or of another shape, such as {missing[0] if missing else 'all'}; use a file "
            "saved from the same class with the same width and depth."
        )
    module.load_state_dict({name: saved[name] if fits[name] else own[name] for name in own})


def _count(tensors: int) -> str:
    return "1 tensor is" if tensors == 1 else f"{tensors} tensors are"


def _read(path: str | Path) -> Any:
    try:
        from safetensors import SafetensorError
        from safetensors.torch import load_file
    except ImportError:
        raise ImportError(
            "weights= needs safetensors, which is not installed; "
            'run pip install "rdiv[torch]" or leave weights out.'
        ) from None
    if not Path(path).is_file():
        raise FileNotFoundError(f"no file {str(path)!r} with weights; check the path.")
    try:
        return load_file(path)
    except SafetensorError:
        raise ValueError(
            f"{Path(path).name} is no safetensors file, whatever its name says; save the state "
            "dict with safetensors.torch.save_file."
        ) from None


def _names_of_last_linear(module: Any) -> set[str]:
    linear = require_torch().nn.Linear
    names = [name for name, part in module.named_modules() if isinstance(part, linear)]
    return {f"{names[-1]}.{part}" for part in ("weight", "bias")} if names else set()
