"""Python code that does what the page shows, with the paths that the explorer was started with."""

from __future__ import annotations

from typing import NamedTuple

from bitfold.explorer.models import IndexedModel
from bitfold.explorer.queries import Query


class SnippetRequest(NamedTuple):
    """What the page shows."""

    view: str
    name: str | None = None
    k: int = 10
    where: str | None = None
    coarse_weight: float | None = None
    radius: int | None = None


def write_snippet(model: IndexedModel, query: Query | None, request: SnippetRequest) -> str:
    """Return Python code.

    Parameters
    ----------
    model
        The model that is shown.
    query
        The query, if any.
    request
        What is shown.

    Returns
    -------
    str
        Code that runs where the explorer was started.
    """
    if model.paths.collection_path is not None:
        lines = _with_collection(model, query, request)
    else:
        lines = _with_index(model, query, request)
    return "\n".join(lines) + "\n"


def _with_collection(
    model: IndexedModel, query: Query | None, request: SnippetRequest
) -> list[str]:
    lines = [
        "import bitfold as bf",
        "",
        f"c = bf.Collection.open({str(model.paths.collection_path)!r})",
    ]
    if request.view == "duplicates":
        return [*lines, *_duplicates("c.codes()", model, request, "c.ids()")]
    if request.view == "map" or query is None:
        return [*lines, "codes = c.codes()", "ids = c.ids()"]
    lines.append(_collection_vector(query))
    if request.coarse_weight is not None or query.code is not None:
        return [
            *lines,
            *_code_search("c.codes()", "c.hasher", query, request),
            "c.ids()[hits.ids[0]]",
        ]
    where = f", where={request.where!r}" if request.where else ""
    return [
        *lines,
        f"hits = c.search(Q, k={request.k + 1}{where})",
        "hits.to_pandas(metadata=True)",
    ]


def _collection_vector(query: Query) -> str:
    if query.key.startswith("item:"):
        name = query.key[5:]
        item = name if name.lstrip("-").isdecimal() else repr(name)
        return f"Q = c.vectors([{item}])"
    return _vector(query)


def _with_index(model: IndexedModel, query: Query | None, request: SnippetRequest) -> list[str]:
    lines = [
        "import bitfold as bf",
        "",
        f"index = bf.HammingIndex.open({str(model.paths.index_path)!r})",
        f"hasher = bf.load({str(model.paths.model_path)!r})",
    ]
    if request.view == "duplicates":
        return [*lines, f'groups = index.clusters({_radius(model, request)}, linkage="star")']
    if request.view == "map" or query is None:
        return [*lines, "buckets = index.buckets()"]
    if query.key.startswith("item:"):
        code = f"code = index.codes([{query.key[5:]}])"
        return [*lines, code, f"hits = index.search(code, k={request.k + 1})"]
    if query.code is not None:
        return [*lines, *_hex_code(query.code, model), f"hits = index.search(code, k={request.k})"]
    search = (
        f"hits = index.search(hasher.encode(Q), k={request.k}, query_embedding=hasher.embed(Q))"
    )
    return [*lines, _vector(query), search]


def _code_search(codes: str, hasher: str, query: Query, request: SnippetRequest) -> list[str]:
    lines = [f"index = bf.HammingIndex({hasher}.n_bits_)", f"index.add({codes})", f"h = {hasher}"]
    if request.coarse_weight is not None:
        lines.append(f"h.coarse_weight = {request.coarse_weight:g}")
    search = f"hits = index.search(h.encode(Q), k={request.k}, query_embedding=h.embed(Q))"
    return [*lines, search]


def _duplicates(codes: str, model: IndexedModel, request: SnippetRequest, ids: str) -> list[str]:
    return [
        f"index = bf.HammingIndex({model.n_bits})",
        f"index.add({codes})",
        f'groups = index.clusters({_radius(model, request)}, linkage="star")',
        f"ids = {ids}[groups.ids]  # group i is ids[groups.offsets[i]:groups.offsets[i + 1]]",
    ]


def _radius(model: IndexedModel, request: SnippetRequest) -> str:
    radius = model.n_bits // 16 if request.radius is None else request.radius
    return f"radius={radius}"


def _hex_code(code: str, model: IndexedModel) -> list[str]:
    packed = f'np.frombuffer(bytes.fromhex("{code}"), np.uint8)[None]'
    return ["import numpy as np", f"code = bf.Codes({packed}, {model.n_bits})"]


def _vector(query: Query) -> str:
    if query.vector is None:
        return "Q = ...  # the vector of the query"
    numbers = ", ".join(f"{value:.7g}" for value in query.vector.tolist())
    return f"Q = [[{numbers}]]"
