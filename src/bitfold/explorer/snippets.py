"""Python code that does what the page shows, with the paths that the explorer was started with."""

from __future__ import annotations

from typing import NamedTuple

from bitfold.explorer.models import IndexedModel
from bitfold.explorer.queries import Query
from bitfold.search import default_radius


class SnippetRequest(NamedTuple):
    """What the page shows.

    ``find`` is a text that the id or one of the ``text_columns`` must contain.
    """

    view: str
    k: int = 10
    where: str | None = None
    find: str | None = None
    text_columns: tuple[str, ...] = ()
    rank: str | None = None
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
    opened = f"c = bf.Collection.open({str(model.paths.collection_path)!r})"
    lines = ["import numpy as np", "", "import bitfold as bf", "", opened]
    if request.view == "duplicates":
        return [*lines, *_collection_duplicates(model, request)]
    if request.view == "selection":
        return [*lines, *_collection_selection()]
    if request.view == "map" or query is None:
        return [*lines, "codes = c.codes()", "ids = c.ids()"]
    lines += ["index = bf.HammingIndex(c.n_bits)", "index.add(c.codes())  # row i is c.ids()[i]"]
    return [*lines, *_collection_query(model, query, request), *_collection_search(query, request)]


def _collection_query(model: IndexedModel, query: Query, request: SnippetRequest) -> list[str]:
    """Return code that sets ``code``, and ``reals`` unless bits count the same."""
    if query.vector is not None:
        lines = [_collection_vector(query), "code = c.hasher.encode(Q)"]
    else:
        lines = [_stored_code(query) if query.code is None else _hex_code(query.code, model)]
    if query.vector is None or request.rank == "hamming":
        return [*lines, *_weigh_signs(model, request)]
    if request.coarse_weight is not None:
        lines.append(f"c.hasher.coarse_weight = {request.coarse_weight:g}")
    return [*lines, "reals = c.hasher.embed(Q)"]


def _weigh_signs(model: IndexedModel, request: SnippetRequest) -> list[str]:
    if request.coarse_weight is None:
        return []
    return [
        "reals = 2.0 * code.unpack() - 1",
        f"reals[:, :{model.n_coarse_bits}] *= {request.coarse_weight:g}",
    ]


def _collection_search(query: Query, request: SnippetRequest) -> list[str]:
    """Return a search by code, and one that uses the kept vectors."""
    k = request.k + (query.item is not None)  # an item finds itself
    lines, options = _among(request), ""
    if _has_reals(query, request):
        options += ", query_embedding=reals"
    if lines:
        options += ", among=among"
    lines += [f"hits = index.search(code, k={k}{options})  # by code", "c.ids()[hits.ids[0]]"]
    if query.vector is not None:
        among = ", among=c.ids()[among]" if options.endswith("among") else ""
        lines.append(f"c.search(Q, k={k}{among}).to_pandas(metadata=True)  # with the vectors, too")
    return lines


def _has_reals(query: Query, request: SnippetRequest) -> bool:
    is_real = query.vector is not None and request.rank != "hamming"
    return is_real or request.coarse_weight is not None


def _among(request: SnippetRequest) -> list[str]:
    """Return code that sets ``among``, a mask of the rows that meet the filter."""
    parts, lines = [], []
    if request.where:
        parts.append(f"np.isin(c.ids(), c.ids({request.where!r}))")
    if request.find:
        columns = list(request.text_columns)
        lines = [
            f"texts = [c.ids(), *c.metadata(c.ids(), {columns!r}).values()]",
            'texts = ["\\n".join(map(str, row)).lower() for row in zip(*texts)]',
        ]
        text = request.find.lower()
        parts.append(f"np.array([{text!r} in each for each in texts])")
    return [*lines, f"among = {' & '.join(parts)}"] if parts else []


def _collection_vector(query: Query) -> str:
    if query.key.startswith("item:"):
        return f"Q = c.vectors([{_literal(query.key[5:])}])"
    return _vector(query)


def _stored_code(query: Query) -> str:
    return f"code = c.codes()[np.flatnonzero(c.ids() == {_literal(query.key[5:])})]"


def _literal(name: str) -> str:
    return name if name.lstrip("-").isdecimal() else repr(name)


def _collection_selection() -> list[str]:
    return [
        'with open("selection.txt", encoding="utf-8") as lines:  # saved by "Export: ids"',
        "    ids = np.array(lines.read().splitlines()).astype(c.ids().dtype)",
        "codes = c.codes()[np.isin(c.ids(), ids)]",
        "metadata = c.metadata(ids)",
    ]


def _collection_duplicates(model: IndexedModel, request: SnippetRequest) -> list[str]:
    return [
        f"index = bf.HammingIndex({model.n_bits})",
        "index.add(c.codes())",
        f'groups = index.clusters({_radius(model, request)}, linkage="star")',
        "ids = c.ids()[groups.ids]  # group i is ids[groups.offsets[i]:groups.offsets[i + 1]]",
    ]


def _with_index(model: IndexedModel, query: Query | None, request: SnippetRequest) -> list[str]:
    lines = [
        "import numpy as np",
        "",
        "import bitfold as bf",
        "",
        f"index = bf.HammingIndex.open({str(model.paths.index_path)!r})",
        f"hasher = bf.load({str(model.paths.model_path)!r})",
    ]
    if request.view == "duplicates":
        return [*lines, f'groups = index.clusters({_radius(model, request)}, linkage="star")']
    if request.view == "selection":
        return [*lines, *_index_selection()]
    if request.view == "map" or query is None:
        return [*lines, "buckets = index.buckets()"]
    if query.key.startswith("item:"):
        code = f"code = index.codes([{query.key[5:]}])"
        return [*lines, code, f"hits = index.search(code, k={request.k + 1})"]
    if query.code is not None:
        return [*lines, _hex_code(query.code, model), f"hits = index.search(code, k={request.k})"]
    reals = "" if request.rank == "hamming" else ", query_embedding=hasher.embed(Q)"
    search = f"hits = index.search(hasher.encode(Q), k={request.k}{reals})"
    return [*lines, _vector(query), search]


def _index_selection() -> list[str]:
    return [
        'ids = np.loadtxt("selection.txt", dtype=np.int64, ndmin=1)  # saved by "Export: ids"',
        "codes = index.codes(ids)",
    ]


def _radius(model: IndexedModel, request: SnippetRequest) -> str:
    radius = default_radius(model.n_bits) if request.radius is None else request.radius
    return f"radius={radius}"


def _hex_code(code: str, model: IndexedModel) -> str:
    packed = f'np.frombuffer(bytes.fromhex("{code}"), np.uint8)[None]'
    return f"code = bf.Codes({packed}, {model.n_bits})"


def _vector(query: Query) -> str:
    if query.vector is None:
        return "Q = ...  # the vector of the query"
    numbers = ", ".join(f"{value:.7g}" for value in query.vector.tolist())
    return f"Q = [[{numbers}]]"
