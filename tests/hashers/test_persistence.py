"""Saved hashers: round trips, and what damaged or hostile files cannot do."""

from __future__ import annotations

import copy
import hashlib
import json
import pickle
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_limits

import bitfold
from bitfold._types import AnyArray, Float32Array
from bitfold.base_set import BaseStrategy, KMeansBase, RandomBase
from bitfold.embedding import PCA, TSNE, Embedding
from bitfold.errors import DataError, FormatError, ParameterError
from bitfold.hashers import IMH, LSH, Hasher, SupervisedIMH
from bitfold.io import model_file
from bitfold.io.model_file import StoredModel, read_model, write_model
from bitfold.io.rows import Rows

Change = Callable[[StoredModel], StoredModel | None]

ENDLESS = "strategies within strategies"
"""Stands for a deeper nesting than Python can parse."""


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Run small problems in one thread; waiting for others takes ten times as long."""
    with threadpool_limits(1):
        yield


@cache
def rows() -> AnyArray:
    X: AnyArray = load_digits().data[:120]
    return X


def small(**params: Any) -> IMH:
    """Return a quick IMH with some parameters changed."""
    quick: dict[str, Any] = {"base": RandomBase(20), "embedding": PCA(), "random_state": 0}
    return IMH(8, **quick | params)


@cache
def _fitted() -> IMH:
    return small().fit(rows())


@cache
def _content() -> StoredModel:
    with tempfile.TemporaryDirectory() as folder:
        _fitted().save(Path(folder) / "good")
        return read_model(Path(folder) / "good")


@pytest.fixture
def stored() -> StoredModel:
    """Return the content of a valid file, for tests to change."""
    return copy.deepcopy(_content())


def write(path: Path, stored: StoredModel, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a file whose checksum matches, whatever it contains."""
    deep = '{"strategy": "TSNE", "params": {"perplexity": ' * 5000 + "1" + "}}" * 5000
    dumps = json.dumps
    with monkeypatch.context() as patch:
        patch.setattr(model_file, "_check_meta", lambda meta, owner: None)
        patch.setattr(model_file, "_check_text", lambda value, name, owner: value)
        patch.setattr(
            json, "dumps", lambda *args, **kw: dumps(*args, **kw).replace(f'"{ENDLESS}"', deep)
        )
        write_model(path, stored)
    return path


# Round trips


def test_parameters_round_trip(tmp_path: Path) -> None:
    hasher = IMH(
        np.int64(8),  # type: ignore[arg-type]
        base=KMeansBase(20, max_iter=3),
        embedding=TSNE(perplexity=3.5, max_iter=20),
        n_neighbors=3,
        bandwidth=np.float32(4.5),  # type: ignore[arg-type]
        rotation=None,
        normalize=np.True_,  # type: ignore[arg-type]
        random_state=7,
    )
    hasher.fit(rows()).save(tmp_path / "hasher")
    loaded = bitfold.load(tmp_path / "hasher")
    ours, theirs = (h.get_params(deep=True) for h in (hasher, loaded))
    assert {name: repr(value) for name, value in theirs.items()} == {
        **{name: repr(value) for name, value in ours.items()},
        "n_bits": "8",
        "bandwidth": "4.5",
        "normalize": "True",
    }
    assert loaded.normalize_ is True
    assert loaded.encode(rows()) == hasher.encode(rows())
    assert clone(loaded).fit(rows()).encode(rows()) == hasher.encode(rows())


def test_generators_are_not_saved(tmp_path: Path) -> None:
    hasher = small(random_state=np.random.default_rng(0)).fit(rows())
    hasher.save(tmp_path / "hasher")
    loaded = bitfold.load(tmp_path / "hasher")
    assert loaded.get_params()["random_state"] is None
    assert loaded.encode(rows()) == hasher.encode(rows())


def test_failed_save_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "hasher"
    _fitted().save(path)
    before = path.read_bytes()
    unsavable = copy.deepcopy(_fitted()).set_params(embedding=TSNE(perplexity=np.ones(3)))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="embedding of IMH"):
        unsavable.save(path)
    assert path.read_bytes() == before
    small(random_state=1).fit(rows()).save(path)
    assert path.read_bytes() != before
    assert [entry.name for entry in tmp_path.iterdir()] == ["hasher"]


def test_save_a_mapped_hasher_over_its_own_file(tmp_path: Path) -> None:
    path = tmp_path / "hasher"
    _fitted().save(path)
    mapped = bitfold.load(path, mmap=True)
    mapped.save(path)
    assert mapped.encode(rows()) == bitfold.load(path).encode(rows()) == _fitted().encode(rows())


def test_missing_parameters_get_defaults(tmp_path: Path, stored: StoredModel) -> None:
    del stored.meta["params"]["n_neighbors"]
    write_model(tmp_path / "older", stored)
    loaded = bitfold.load(tmp_path / "older")
    assert loaded.get_params()["n_neighbors"] == 5
    assert loaded.encode(rows()) == _fitted().encode(rows())


# Users' own strategies and hashers


class Corner(Embedding):
    """A user's own embedding: some of the features."""

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale

    def _embed(self, base: Float32Array, n_components: int, context: Any) -> AnyArray:
        return self.scale * base[:, 20 : 20 + n_components]


class FirstBase(BaseStrategy):
    """A user's own base set: the first rows."""

    def _choose(
        self,
        sample: Float32Array,
        m: int,
        rng: np.random.Generator,
        on_step: Callable[[int, int], None] | None,
    ) -> Float32Array:
        return np.unique(sample, axis=0)[:m]


class Signs(Hasher):
    """A user's own hasher: whether each feature is above its mean."""

    _fitted_scalars: ClassVar[dict[str, type]] = {**Hasher._fitted_scalars, "motto_": str}

    def __init__(self, motto: str = "") -> None:
        self.motto = motto

    def _learn(self, rows: Rows, y: Any, progress: Any) -> dict[str, Any]:
        return {"n_bits_": rows.n_features, "motto_": self.motto}

    def _embed_block(self, values: Float32Array) -> Float32Array:
        return values


class OtherProcess(NamedTuple):
    """What a process without the classes of this module reads from a file."""

    path: Path
    codes: str
    error: str
    warnings: list[str]
    shown: str


LOAD_AND_ENCODE = """
import json, sys, warnings
import bitfold
from bitfold.errors import FormatError
from sklearn.datasets import load_digits

for path in sys.argv[1:]:
    result = {"codes": "", "error": "", "shown": ""}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            hasher = bitfold.load(path)
            result["shown"] = repr(hasher)
            result["codes"] = hasher.encode(load_digits().data[:120]).packed.tobytes().hex()
        except FormatError as error:
            result["error"] = str(error)
    result["warnings"] = [str(w.message) for w in caught if w.category is UserWarning]
    print(json.dumps(result))
"""


@pytest.fixture(scope="module")
def other_process(tmp_path_factory: pytest.TempPathFactory) -> dict[str, OtherProcess]:
    """Load a hasher with an own strategy, and an own hasher, in another process."""
    folder = tmp_path_factory.mktemp("other_process")
    made: dict[str, Hasher] = {"Corner": small(embedding=Corner()), "Signs": Signs()}
    for name, hasher in made.items():
        hasher.fit(rows()).save(folder / name)
    paths = [folder / name for name in made]
    lines = python(LOAD_AND_ENCODE, *paths).stdout.splitlines()
    results = [
        OtherProcess(path, **json.loads(line)) for path, line in zip(paths, lines, strict=True)
    ]
    return dict(zip(made, results, strict=True))


def python(code: str, *arguments: Path) -> subprocess.CompletedProcess[str]:
    """Run code in a new process, which must succeed."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done


def test_own_strategies_round_trip(tmp_path: Path) -> None:
    hasher = small(base=FirstBase(30), embedding=Corner(scale=2.0)).fit(rows())
    hasher.save(tmp_path / "hasher")
    loaded = bitfold.load(tmp_path / "hasher")
    params = loaded.get_params()
    assert type(params["embedding"]) is Corner
    assert type(params["base"]) is FirstBase
    assert (params["embedding__scale"], params["base__n_base_points"]) == (2.0, 30)
    assert loaded.encode(rows()) == hasher.encode(rows())
    assert clone(loaded).fit(rows()).encode(rows()) == hasher.encode(rows())


def test_unknown_strategy_is_not_needed_for_encoding(
    other_process: dict[str, OtherProcess],
) -> None:
    result = other_process["Corner"]
    (warning,) = result.warnings
    assert "Unknown strategy 'Corner'" in warning
    assert result.shown == "IMH(base=RandomBase(n_base_points=20), n_bits=8, random_state=0)"
    expected = small(embedding=Corner()).fit(rows()).encode(rows())
    assert result.codes == expected.packed.tobytes().hex()


def test_own_hasher_round_trip(tmp_path: Path, other_process: dict[str, OtherProcess]) -> None:
    hasher = Signs("per aspera").fit(rows())
    hasher.save(tmp_path / "hasher")
    loaded = bitfold.load(tmp_path / "hasher")
    assert isinstance(loaded, Signs)
    assert (loaded.motto, loaded.motto_, loaded.n_bits_) == ("per aspera", "per aspera", 64)
    assert loaded.encode(rows()) == hasher.encode(rows())
    result = other_process["Signs"]
    assert result.error.startswith(f"{result.path} ")
    assert "unknown hasher class 'Signs'" in result.error


# Damaged and hostile files


def put(name: str, **changes: Any) -> Change:
    """Change values in a branch of the meta."""

    def change(stored: StoredModel) -> None:
        stored.meta[name].update(changes)

    return change


def drop(*path: str) -> Change:
    """Remove a key from the meta."""

    def change(stored: StoredModel) -> None:
        branch = stored.meta
        for key in path[:-1]:
            branch = branch[key]
        del branch[path[-1]]

    return change


def meta(**changes: Any) -> Change:
    """Change values at the root of the meta."""

    def change(stored: StoredModel) -> None:
        stored.meta.update(changes)

    return change


def array(name: str, make: Callable[[AnyArray], AnyArray]) -> Change:
    """Change an array."""

    def change(stored: StoredModel) -> None:
        stored.arrays[name] = make(stored.arrays[name])

    return change


def kind(name: str) -> Change:
    """Change the class."""
    return lambda stored: stored._replace(kind=name)


def without_array(name: str) -> Change:
    def change(stored: StoredModel) -> None:
        del stored.arrays[name]

    return change


def with_array(stored: StoredModel) -> None:
    stored.arrays["extra_"] = np.zeros(3, np.float32)


def without_base_points(stored: StoredModel) -> None:
    for name in ("base_set_", "base_embedding_", "bit_embedding_"):
        stored.arrays[name] = stored.arrays[name][:0]


def without_features(stored: StoredModel) -> None:
    stored.meta["fitted"]["n_features_in_"] = 0
    stored.arrays["center_"] = stored.arrays["center_"][:0]
    stored.arrays["base_set_"] = stored.arrays["base_set_"][:, :0]


def with_a_layout_of_its_own(stored: StoredModel) -> None:
    """Try to lead a kernel out of bounds: allow any shape, then set a wrong one."""
    stored.meta["fitted"]["_fitted_arrays"] = {name: ["a", "b"] for name in stored.arrays}
    stored.arrays["bit_embedding_"] = stored.arrays["bit_embedding_"][:1, :1]


def put_value(value: float) -> Callable[[AnyArray], AnyArray]:
    def change(array: AnyArray) -> AnyArray:
        array.flat[3] = value
        return array

    return change


ARRAYS = ("center_", "base_set_", "base_embedding_", "bit_embedding_")
RESHAPES: dict[str, Callable[[AnyArray], AnyArray]] = {
    "a row less": lambda array: array[:-1],
    "a row more": lambda array: np.concatenate([array, array[:1]]),
    "a column less": lambda array: array[..., :-1],
    "flat": np.ravel,
    "transposed": np.transpose,
    "an axis more": lambda array: array[None],
    "a single number": lambda array: array.ravel()[0].reshape(()),
    "nothing": lambda array: array[:0],
    "float64": lambda array: array.astype(np.float64),
    "float16": lambda array: array.astype(np.float16),
    "int32": lambda array: array.astype(np.int32),
    "NaN": put_value(np.nan),
    "infinite": put_value(-np.inf),
}
NO_CHANGE = {("center_", "flat"), ("center_", "transposed")}

SCALARS = "its scalars are "
NAMES = "its feature names are not 64 strings."
NOT_INTEGERS: tuple[Any, ...] = (0, -1, 5.0, "5", True, None, [5], {}, float("nan"))

NOT_NAMES: tuple[Any, ...] = (3, "a" * 64, ["a"] * 63, list(range(64)), {}, [["a"]] * 64)

HOSTILE: dict[str, tuple[Change, str | None]] = {
    **{
        f"{name} {how}": (array(name, make), "array ")
        for name in ARRAYS
        for how, make in RESHAPES.items()
        if (name, how) not in NO_CHANGE
    },
    **{f"no {name}": (without_array(name), "its arrays are ") for name in ARRAYS},
    "an array more": (with_array, "its arrays are "),
    "no base points": (without_base_points, "array base_"),
    "no features": (without_features, "n_features_in_ is 0"),
    "a layout of its own": (with_a_layout_of_its_own, SCALARS),
    "a method of its own": (put("fitted", encode="x"), SCALARS),
    "one more number": (put("fitted", extra_=1), SCALARS),
    **{
        f"no {n}": (drop("fitted", n), SCALARS)
        for n in ("n_neighbors_", "normalize_", "bandwidth_")
    },
    "no n_bits_": (drop("fitted", "n_bits_"), SCALARS),
    **{
        f"{name} {value!r}": (put("fitted", **{name: value}), f"{name} is ")
        for name in ("n_neighbors_", "n_bits_", "n_features_in_")
        for value in NOT_INTEGERS
    },
    **{
        f"normalize_ {value!r}": (put("fitted", normalize_=value), "normalize_ is ")
        for value in (0, 1, 1.0, "true", None, [True])
    },
    "n_neighbors_ 21": (put("fitted", n_neighbors_=21), "n_neighbors_ of IMH "),
    "n_neighbors_ huge": (put("fitted", n_neighbors_=10**30), "n_neighbors_ of IMH "),
    **{f"n_bits_ {value}": (put("fitted", n_bits_=value), "array b") for value in (7, 9, 10**12)},
    "n_features_in_ 63": (put("fitted", n_features_in_=63), "array "),
    **{
        f"bandwidth_ {value!r}": (
            put("fitted", bandwidth_=value),
            "bandwidth_ is ",
        )
        for value in (float("nan"), float("inf"), "wide", None, 1, True, [1.0])
    },
    **{
        f"bandwidth_ {value!r}": (
            put("fitted", bandwidth_=value),
            "bandwidth_ of IMH ",
        )
        for value in (0.0, -1.0)
    },
    **{
        f"bandwidth_ {value!r}": (
            put("fitted", bandwidth_=value),
            "bandwidth_ of IMH ",
        )
        for value in (1e-300, 1e300)
    },
    **{
        f"{branch} {value!r}": (meta(**{branch: value}), "")
        for branch in ("params", "fitted")
        for value in (None, 3, "text", [["n_bits_", 8]])
    },
    **{f"no {key}": (drop(key), "") for key in ("params", "fitted", "feature_names")},
    "no meta": (lambda stored: stored._replace(meta={}), ""),
    "unknown parameter": (put("params", n_trees=3), ""),
    "parameter self": (put("params", self=3), ""),
    "strategy without a name": (put("params", base={"params": {}}), ""),
    "strategy without parameters": (put("params", base={"strategy": "RandomBase"}), ""),
    "strategy with a list": (
        put("params", base={"strategy": "RandomBase", "params": [1]}),
        "",
    ),
    "strategy with an unknown parameter": (
        put("params", base={"strategy": "RandomBase", "params": {"depth": 1}}),
        "",
    ),
    **{f"feature names {value!r:.20}": (meta(feature_names=value), NAMES) for value in NOT_NAMES},
    **{
        f"kind {name!r}": (kind(name), None)
        for name in ("Hasher", "_Inductive", "TSNE", "object", "", "HammingIndex", "imh")
    },
}


@pytest.mark.parametrize("mmap", [False, True], ids=["read", "mapped"])
@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_files(
    case: str, mmap: bool, stored: StoredModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, reason = HOSTILE[case]
    path = write(tmp_path / "hostile.bitfold", change(stored) or stored, monkeypatch)
    with pytest.raises(FormatError) as caught:
        bitfold.load(path, mmap=mmap)
    sentence = str(caught.value)
    if reason is None:
        assert sentence.startswith(f"{path} contains a model of the unknown hasher class ")
    else:
        assert sentence.startswith(f"{path} is not a valid IMH model: {reason}")
    assert sentence.endswith(".")
    assert not sentence.endswith("..")
    assert "\n" not in sentence


@pytest.mark.parametrize("mmap", [False, True])
def test_deeply_nested_strategies(
    mmap: bool, stored: StoredModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored.meta["params"]["embedding"] = ENDLESS
    path = write(tmp_path / "hostile.bitfold", stored, monkeypatch)
    with pytest.raises(FormatError, match=str(path)):
        bitfold.load(path, mmap=mmap)


HARMLESS: dict[str, Change] = {
    "unchanged": put("params"),
    "n_bits": put("params", n_bits="many"),
    "n_neighbors": put("params", n_neighbors=-3),
    "rotation": put("params", rotation=[1, 2]),
    "embedding": put(
        "params", embedding={"strategy": "RandomBase", "params": {"n_base_points": 3}}
    ),
    "base": put("params", base={"strategy": "RandomBase", "params": {"n_base_points": "a"}}),
    "n_neighbors_": put("fitted", n_neighbors_=5),
}


@pytest.mark.parametrize("case", HARMLESS)
def test_invalid_parameters_matter_only_in_fit(
    case: str, stored: StoredModel, tmp_path: Path
) -> None:
    HARMLESS[case](stored)
    write_model(tmp_path / "odd", stored)
    loaded = bitfold.load(tmp_path / "odd")
    assert loaded.encode(rows()) == _fitted().encode(rows())
    if case not in ("unchanged", "n_neighbors_"):
        with pytest.raises((TypeError, ValueError), match=r"^\w+ of \w+ must be "):
            loaded.fit(rows())


@pytest.mark.parametrize("name", [5, None, [], {}, "Nobody"])
def test_unknown_strategy_warns(name: Any, stored: StoredModel, tmp_path: Path) -> None:
    stored.meta["params"]["embedding"] = {"strategy": name, "params": {}}
    write_model(tmp_path / "odd", stored)
    with pytest.warns(UserWarning, match="Unknown strategy"):
        loaded = bitfold.load(tmp_path / "odd")
    assert loaded.get_params()["embedding"] is None
    assert loaded.encode(rows()) == _fitted().encode(rows())


def test_another_class(stored: StoredModel, tmp_path: Path) -> None:
    y = load_digits().target[:120]
    supervised = SupervisedIMH(base=RandomBase(40), embedding=PCA(), n_components=12).fit(rows(), y)
    supervised.save(tmp_path / "supervised")
    content = read_model(tmp_path / "supervised")
    write_model(tmp_path / "renamed", content._replace(kind="IMH"))
    with pytest.raises(FormatError, match=r"not a valid IMH model: .*n_components"):
        bitfold.load(tmp_path / "renamed")


def test_flipped_bytes_are_detected(tmp_path: Path) -> None:
    path = tmp_path / "hasher"
    _fitted().save(path)
    good = path.read_bytes()
    for position in np.linspace(0, len(good) - 1, 80).astype(int):
        bad = bytearray(good)
        bad[position] ^= 0x11
        path.write_bytes(bad)
        with pytest.raises(FormatError, match=f"^{path} "):
            bitfold.load(path)


@pytest.mark.parametrize("part", [0, 1, 8, 100, 5000])
def test_truncated_files(part: int, tmp_path: Path) -> None:
    path = tmp_path / "hasher"
    _fitted().save(path)
    path.write_bytes(path.read_bytes()[:part])
    with pytest.raises(FormatError, match=f"^{path} is "):
        bitfold.load(path)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nothing does not exist"):
        bitfold.load(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError, match="its directory does not exist"):
        _fitted().save(tmp_path / "nowhere" / "hasher")
    with pytest.raises(FormatError, match="is a directory"):
        bitfold.load(tmp_path)


# Random changes


def leaves(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path to every node of a JSON tree except the root."""
    if path:
        yield path
    items = tree.items() if isinstance(tree, dict) else ()
    for key, value in items:
        yield from leaves(value, (*path, key))


POOL: list[Any] = [
    None, True, 0, 1, -1, 2, 7, 8, 9, 20, 64, 2**31, -(2**63), 10**25, 0.5, 1e-320, -1e308,
    float("nan"), float("inf"), "", "8", "tsne", "RandomBase", [], [1], {}, {"strategy": "IMH"},
    {"strategy": "TSNE", "params": {}}, {"a": 1},
]  # fmt: skip


def change_at_random(stored: StoredModel, rng: np.random.Generator) -> None:
    """Change one node of the meta, or the shape or type of one array."""
    if rng.random() < 0.7:
        paths = list(leaves(stored.meta))
        *parents, last = paths[rng.integers(len(paths))]
        branch: Any = stored.meta
        for key in parents:
            branch = branch[key]
        branch[last] = copy.deepcopy(POOL[rng.integers(len(POOL))])
    else:
        name = ARRAYS[rng.integers(len(ARRAYS))]
        shape = tuple(int(side) for side in rng.integers(0, 70, rng.integers(0, 4)))
        stored.arrays[name] = rng.normal(size=shape).astype(("f4", "f8", "i4")[rng.integers(3)])


FUZZ = """
import collections, pathlib, sys, warnings
import numpy as np, bitfold
from bitfold.errors import FormatError

warnings.simplefilter("ignore")
counts = collections.Counter()
for path in pathlib.Path(sys.argv[1]).glob("*.bitfold"):
    try:
        hasher = bitfold.load(path, mmap=True)
    except FormatError as error:
        assert str(error).startswith(str(path) + " "), error
        counts["rejected"] += 1
    else:
        assert np.isfinite(hasher.embed(np.ones((5, 64)))).all(), path
        counts["loaded"] += 1
print(counts["rejected"], counts["loaded"])
"""


def test_random_changes_never_crash(
    tmp_path: Path, stored: StoredModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every changed file raises or encodes; in a new process, because a crash would end it."""
    rng = np.random.default_rng(0)
    for number in range(100):
        changed = copy.deepcopy(stored)
        for _ in range(rng.integers(1, 3)):
            change_at_random(changed, rng)
        write(tmp_path / f"{number}.bitfold", changed, monkeypatch)
    rejected, loaded = map(int, python(FUZZ, tmp_path).stdout.split())
    assert rejected + loaded == 100
    assert min(rejected, loaded) > 10


def test_loading_a_valid_file_does_not_warn(tmp_path: Path) -> None:
    _fitted().save(tmp_path / "hasher")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bitfold.load(tmp_path / "hasher")


# Model digests


def test_digest_depends_on_the_fitted_state_only() -> None:
    hasher = small().fit(rows())
    digest = hasher.model_digest
    assert hasher.encode(rows()).model_digest == digest
    assert small().fit(rows()).model_digest == digest
    assert copy.deepcopy(hasher).set_params(random_state=5, n_neighbors=7).model_digest == digest
    assert small(random_state=1).fit(rows()).model_digest != digest
    assert small().fit(rows()[:100]).model_digest != digest
    hasher.fit(rows()[:100])
    assert hasher.model_digest != digest


@pytest.mark.parametrize("name", ["center_", "base_set_", "bit_embedding_"])
def test_digest_covers_arrays(name: str) -> None:
    hasher = copy.deepcopy(_fitted())
    changed = getattr(hasher, name).copy()
    changed.flat[0] += 1
    setattr(hasher, name, changed)
    assert hasher.model_digest != _fitted().model_digest


def test_digest_covers_scalars_and_class() -> None:
    hasher = copy.deepcopy(_fitted())
    hasher.bandwidth_ *= 2
    assert hasher.model_digest != _fitted().model_digest
    assert _fitted().model_digest != LSH(8).fit(rows()).model_digest


def test_digest_covers_normalize() -> None:
    hasher = copy.deepcopy(_fitted())
    assert hasher.normalize_ is False
    hasher.normalize_ = True
    assert hasher.model_digest != _fitted().model_digest
    assert hasher.encode(rows()) != _fitted().encode(rows())


def test_digest_ignores_feature_names() -> None:
    hasher = copy.deepcopy(_fitted())
    hasher.feature_names_in_ = np.array([f"x{i}" for i in range(64)], object)
    assert hasher.model_digest == _fitted().model_digest


@pytest.mark.parametrize("mmap", [False, True])
def test_digest_is_the_same_after_loading(tmp_path: Path, mmap: bool) -> None:
    _fitted().save(tmp_path / "hasher")
    loaded = bitfold.load(tmp_path / "hasher", mmap=mmap)
    assert loaded.model_digest == _fitted().model_digest
    assert pickle.loads(pickle.dumps(loaded)).model_digest == _fitted().model_digest


def test_digest_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    hasher = small().fit(rows())
    digest = hasher.model_digest

    def fail(*args: object) -> None:
        raise AssertionError("computed again")

    monkeypatch.setattr(hashlib, "sha256", fail)
    assert [codes.model_digest for codes in hasher.encode_blocks(rows())] == [digest]
    assert hasher.encode(rows()[:1]).model_digest == digest


def test_unfitted_hasher_has_no_digest() -> None:
    with pytest.raises(NotFittedError):
        _ = small().model_digest


def test_the_last_definition_of_a_class_is_loaded(tmp_path: Path) -> None:
    """As after running the cell of a notebook twice."""

    def define() -> type[LSH]:
        class Redefined(LSH):
            """A hasher of a user."""

        return Redefined

    kinds = [define(), define()]
    kinds[1](8, random_state=0).fit(np.eye(4)).save(tmp_path / "model")
    assert type(bitfold.load(tmp_path / "model")) is kinds[1]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("directions_", np.full((8, 64), np.nan, np.float32)),
        ("directions_", np.zeros((8, 64))),
        ("directions_", np.zeros((7, 64), np.float32)),
        ("thresholds_", np.full(8, np.inf, np.float32)),
        ("n_bits_", 8.0),
        ("n_bits_", 0),
        ("normalize_", 1),
        ("feature_names_in_", np.array(["a", "b"])),
        ("n_bits", {"a": 1}),
    ],
)
def test_what_could_not_be_loaded_is_not_saved(name: str, value: Any, tmp_path: Path) -> None:
    hasher = LSH(8, random_state=0).fit(rows())
    setattr(hasher, name, value)
    with pytest.raises((DataError, ParameterError)):
        hasher.save(tmp_path / "model.bitfold")
    assert list(tmp_path.iterdir()) == []
