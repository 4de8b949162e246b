"""Methods on the command line: their names, code lengths and NAME=VALUE settings."""

from __future__ import annotations

import inspect
import json
from typing import Any, NamedTuple

import typer
from sklearn.utils import get_tags

from bitfold import hashers
from bitfold.hashers import Hasher
from bitfold.hashers.strategies import BASE_STRATEGIES, EMBEDDINGS

METHODS: dict[str, type[Hasher]] = {
    name.lower(): kind
    for name, kind in vars(hashers).items()
    if name in hashers.__all__ and isinstance(kind, type) and issubclass(kind, Hasher)
    if not inspect.isabstract(kind)
}
"""All methods by the names that every command uses: the class in lower case."""


METHOD_LIST = "Methods:\n\n" + "\n\n".join(
    f"{name}: {(METHODS[name].__doc__ or '').splitlines()[0]}" for name in sorted(METHODS)
)
"""The methods with one line each, for help texts."""


class HasherSpec(NamedTuple):
    """A hasher as the options of a command describe it."""

    method: str | None = None
    n_bits: int | None = None
    settings: tuple[str, ...] = ()
    seed: int = 0
    cosine: bool = False

    def build(self, *, labeled: bool) -> Hasher:
        """Return the hasher; without a method, DualHasher or, with labels, SupervisedIMH."""
        kind = find_method(self.method or ("supervisedimh" if labeled else "dualhasher"))
        if labeled and not uses_labels(kind):
            raise typer.BadParameter(f"{kind.__name__} does not learn from labels; omit --labels.")
        accepted = inspect.signature(kind).parameters
        params: dict[str, Any] = {"n_bits": self.n_bits} if self.n_bits else {}
        if "random_state" in accepted:
            params["random_state"] = self.seed
        if self.cosine:
            params["normalize"] = True
        params |= dict(map(_parse_setting, self.settings))
        return _build_hasher(kind, params)


def _build_hasher(kind: type[Hasher], params: dict[str, Any]) -> Hasher:
    """Return a hasher with settings such as ``n_neighbors`` or ``coarse__base__n_base_points``."""
    accepted = inspect.signature(kind).parameters
    for name in params:
        _check_known(name.split("__")[0], sorted(accepted), f"A setting of {kind.__name__}")
    for part, default in ("coarse", "imh"), ("fine", "itq"):
        inner = _pop_settings(params, part)
        if part in accepted and (inner or part in params):
            params[part] = _build_hasher(find_method(params.get(part) or default), inner)
    return kind(**_build_strategies(params))


def _pop_settings(params: dict[str, Any], part: str) -> dict[str, Any]:
    """Remove and return the settings of a part, without its name."""
    prefix = f"{part}__"
    names = [name for name in params if name.startswith(prefix)]
    return {name.removeprefix(prefix): params.pop(name) for name in names}


def find_method(name: str) -> type[Hasher]:
    """Return the class of a method."""
    _check_known(name.lower(), sorted(METHODS), "The method")
    return METHODS[name.lower()]


def uses_labels(kind: type[Hasher]) -> bool:
    """Return whether a method learns from labels."""
    return bool(get_tags(kind()).target_tags.required)


def _parse_setting(text: str) -> tuple[str, Any]:
    """Read NAME=VALUE; the value is JSON, a Python constant, or else a string."""
    name, sign, value = text.partition("=")
    if not (sign and name):
        raise typer.BadParameter(f"A setting must look like NAME=VALUE, got {text!r}.")
    constants = {"None": "null", "True": "true", "False": "false"}
    try:
        return name, json.loads(constants.get(value, value))
    except ValueError:
        return name, value


def _build_strategies(params: dict[str, Any]) -> dict[str, Any]:
    """Replace settings such as ``base__n_base_points=1000`` by the strategy object."""
    plain = dict(params)
    strategies = ("base", BASE_STRATEGIES, "kmeans"), ("embedding", EMBEDDINGS, "tsne")
    for part, kinds, default in strategies:
        inner = _pop_settings(plain, part)
        if inner:
            plain[part] = _build_strategy(part, kinds, plain.get(part) or default, inner)
    return plain


def _build_strategy(part: str, kinds: dict[str, Any], name: str, settings: dict[str, Any]) -> Any:
    """Return a base set or embedding strategy with these settings."""
    _check_known(name, sorted(kinds), part)
    for setting in settings:
        _check_known(setting, sorted(inspect.signature(kinds[name]).parameters), f"{part}__")
    if part == "base" and "n_base_points" not in settings:
        # Its default differs between hashers.
        raise typer.BadParameter("base__n_base_points is needed with other settings of the base.")
    return kinds[name](**settings)


def _check_known(value: object, choices: list[str], what: str) -> None:
    """Raise unless the value is one of the choices."""
    if value not in choices:
        raise typer.BadParameter(f"{what} must be one of {', '.join(choices)}, got {value!r}.")
