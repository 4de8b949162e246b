"""A hasher as the command line names it: a method, a code length, NAME=VALUE settings."""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

if TYPE_CHECKING:
    from bitfold.hashers import Hasher


class Wanted(NamedTuple):
    """What was asked for."""

    method: str | None
    bits: int | None
    settings: list[str]
    seed: int

    def hasher(self, *, labeled: bool) -> Hasher:
        """Make the hasher; without a method the one that suits."""
        kind = _kind(self.method or ("supervisedimh" if labeled else "imh"))
        accepted = inspect.signature(kind).parameters
        params: dict[str, Any] = {"n_bits": self.bits} if self.bits else {}
        if "random_state" in accepted:
            params["random_state"] = self.seed
        params |= dict(map(_setting, self.settings))
        for name in params:
            _demand(name.split("__")[0], sorted(accepted), f"a setting of {kind.__name__}")
        hasher: Hasher = kind(**_with_strategies(params))
        _check_use_of_labels(hasher, labeled)
        return hasher


def _kind(method: str) -> Any:
    from bitfold import hashers

    known = {name.lower(): name for name in hashers.__all__ if name not in ("Hasher", "load")}
    _demand(method.lower(), sorted(known), "method")
    return getattr(hashers, known[method.lower()])


def _setting(text: str) -> tuple[str, Any]:
    """Read NAME=VALUE; a value that is no JSON is a word."""
    name, sign, value = text.partition("=")
    if not (sign and name):
        raise typer.BadParameter(f"a setting must be NAME=VALUE, got {text!r}.")
    try:
        return name, json.loads(
            {"None": "null", "True": "true", "False": "false"}.get(value, value)
        )
    except ValueError:
        return name, value


def _with_strategies(params: dict[str, Any]) -> dict[str, Any]:
    """Turn ``base__n_base_points=1000`` into the strategy object that has it."""
    from bitfold.hashers.strategies import BASES, EMBEDDINGS

    plain = {name: value for name, value in params.items() if "__" not in name}
    for part, kinds, usual in (("base", BASES, "kmeans"), ("embedding", EMBEDDINGS, "tsne")):
        inner = {
            name.removeprefix(f"{part}__"): value
            for name, value in params.items()
            if name.startswith(f"{part}__")
        }
        if not inner:
            continue
        chosen = plain.get(part) or usual
        _demand(chosen, sorted(kinds), part)
        for name in inner:
            _demand(name, sorted(inspect.signature(kinds[chosen]).parameters), f"{part}__")
        if part == "base" and "m" not in inner:
            # Its default differs from hasher to hasher.
            raise typer.BadParameter(
                "base__n_base_points must be set beside other settings of the base set."
            )
        plain[part] = kinds[chosen](**inner)
    return plain


def _demand(value: object, choices: list[str], what: str) -> None:
    if value not in choices:
        raise typer.BadParameter(f"{what} must be one of {', '.join(choices)}, got {value!r}.")


def _check_use_of_labels(hasher: Hasher, labeled: bool) -> None:
    from sklearn.utils import get_tags

    if labeled and not get_tags(hasher).target_tags.required:
        name = type(hasher).__name__
        raise typer.BadParameter(f"labels must go with a method that learns from them, got {name}.")
