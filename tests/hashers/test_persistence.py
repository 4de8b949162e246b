"""Hashers as files: what comes back, and what a damaged or hostile file cannot do."""

from __future__ import annotations

import copy
import json
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
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

import bitfold
from bitfold.base_set import BaseStrategy, KMeansBase, RandomBase
from bitfold.embedding import PCA, TSNE, Embedding, Given
from bitfold.errors import FormatError
from bitfold.hashers import IMH, Hasher, SupervisedIMH
from bitfold.io import model_file
from bitfold.io.model_file import Stored
from bitfold.io.rows import Rows

Array = NDArray[Any]
Change = Callable[[Stored], Stored | None]

ENDLESS = "strategies within strategies"
"""Stands for more of them than Python could follow."""


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Small problems on busy cores: threads that wait for each other take ten times as long."""
    with threadpool_limits(1):
        yield


@cache
def rows() -> Array:
    X: Array = load_digits().data[:120]
    return X


def small(**params: Any) -> IMH:
    """Return a quick IMH with some parameters changed."""
    quick: dict[str, Any] = {"base": RandomBase(20), "embedding": PCA(), "random_state": 0}
    return IMH(8, **quick | params)


@cache
def _fitted() -> IMH:
    return small().fit(rows())


@cache
def _content() -> Stored:
    with tempfile.TemporaryDirectory() as folder:
        _fitted().save(Path(folder) / "good")
        return model_file.read(Path(folder) / "good")


@pytest.fixture
def stored() -> Stored:
    """Return the content of a good file, to be spoilt."""
    return copy.deepcopy(_content())


def write(path: Path, stored: Stored, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a file whose checksum is right, whatever is in it."""
    deep = '{"strategy": "TSNE", "params": {"perplexity": ' * 5000 + "1" + "}}" * 5000

    def dump(meta: dict[str, Any], owner: str) -> str:
        return json.dumps(meta).replace(f'"{ENDLESS}"', deep)

    monkeypatch.setattr(model_file, "_dump", dump)
    monkeypatch.setattr(model_file, "_text", lambda value, name, owner: value)
    model_file.write(path, stored)
    return path


# Good files


def test_hyper_parameters_come_back_as_they_were(tmp_path: Path) -> None:
    hasher = IMH(
        np.int64(8),  # type: ignore[arg-type]
        base=KMeansBase(20, max_iter=3),
        embedding=TSNE(perplexity=3.5, max_iter=20),
        n_neighbors=3,
        bandwidth=np.float32(4.5),  # type: ignore[arg-type]
        rotation=None,
        random_state=7,
    )
    hasher.fit(rows()).save(tmp_path / "hasher")
    loaded = bitfold.load(tmp_path / "hasher")
    ours, theirs = (h.get_params(deep=True) for h in (hasher, loaded))
    assert {name: repr(value) for name, value in theirs.items()} == {
        **{name: repr(value) for name, value in ours.items()},
        "n_bits": "8",
        "bandwidth": "4.5",
    }
    assert loaded.encode(rows()) == hasher.encode(rows())
    assert clone(loaded).fit(rows()).encode(rows()) == hasher.encode(rows())


def test_a_generator_is_not_kept_since_its_state_has_moved_on(tmp_path: Path) -> None:
    hasher = small(random_state=np.random.default_rng(0)).fit(rows())
    hasher.save(tmp_path / "hasher")
    loaded = bitfold.load(tmp_path / "hasher")
    assert loaded.get_params()["random_state"] is None
    assert loaded.encode(rows()) == hasher.encode(rows())


def test_saving_replaces_a_file_and_only_when_it_succeeds(tmp_path: Path) -> None:
    path = tmp_path / "hasher"
    _fitted().save(path)
    before = path.read_bytes()
    unsavable = copy.deepcopy(_fitted()).set_params(embedding=TSNE(perplexity=np.ones(3)))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^meta of IMH must be a dict that JSON gives back"):
        unsavable.save(path)
    assert path.read_bytes() == before
    small(random_state=1).fit(rows()).save(path)
    assert path.read_bytes() != before
    assert [entry.name for entry in tmp_path.iterdir()] == ["hasher"]


def test_a_mapped_hasher_can_be_saved_over_its_own_file(tmp_path: Path) -> None:
    path = tmp_path / "hasher"
    _fitted().save(path)
    mapped = bitfold.load(path, mmap=True)
    mapped.save(path)
    assert mapped.encode(rows()) == bitfold.load(path).encode(rows()) == _fitted().encode(rows())


def test_a_file_with_parameters_of_later_versions_left_out_uses_defaults(
    tmp_path: Path, stored: Stored
) -> None:
    del stored.meta["params"]["k"]
    model_file.write(tmp_path / "older", stored)
    loaded = bitfold.load(tmp_path / "older")
    assert loaded.get_params()["k"] == 5
    assert loaded.encode(rows()) == _fitted().encode(rows())


# Strategies and hashers of users


class Corner(Embedding):
    """Project on the first features: a user's own embedding."""

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale

    def _embed(self, base: NDArray[np.float32], n_components: int, given: Given) -> Array:
        return self.scale * base[:, 20 : 20 + n_components]


class FirstBase(BaseStrategy):
    """Take the first rows: a user's own base set."""

    def _choose(
        self,
        sample: NDArray[np.float32],
        m: int,
        rng: np.random.Generator,
        on_step: Callable[[int, int], None] | None,
    ) -> NDArray[np.float32]:
        return np.unique(sample, axis=0)[:m]


class Signs(Hasher):
    """A bit per feature, above the mean or not: a user's own hasher."""

    _fitted_scalars: ClassVar[dict[str, type]] = {**Hasher._fitted_scalars, "motto_": str}

    def __init__(self, motto: str = "") -> None:
        self.motto = motto

    def _learn(self, rows: Rows, y: Any, progress: Any) -> dict[str, Any]:
        return {"n_bits_": rows.n_features, "motto_": self.motto}

    def _embed_block(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        return values


class Elsewhere(NamedTuple):
    """What became of a file in a process that does not know the classes of this module."""

    path: Path
    codes: str
    error: str
    warnings: list[str]
    shown: str


ELSEWHERE = """
import json, sys, warnings
import bitfold
from bitfold.persistence import FormatError
from sklearn.datasets import load_digits

for path in sys.argv[1:]:
    met = {"codes": "", "error": "", "shown": ""}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            hasher = bitfold.load(path)
            met["shown"] = repr(hasher)
            met["codes"] = hasher.encode(load_digits().data[:120]).packed.tobytes().hex()
        except FormatError as error:
            met["error"] = str(error)
    met["warnings"] = [str(w.message) for w in told if w.category is UserWarning]
    print(json.dumps(met))
"""


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Elsewhere]:
    """Load a hasher with a strategy of ours, and a hasher of ours, in another process."""
    folder = tmp_path_factory.mktemp("elsewhere")
    made: dict[str, Hasher] = {"Corner": small(embedding=Corner()), "Signs": Signs()}
    for name, hasher in made.items():
        hasher.fit(rows()).save(folder / name)
    paths = [folder / name for name in made]
    lines = python(ELSEWHERE, *paths).stdout.splitlines()
    met = [Elsewhere(path, **json.loads(line)) for path, line in zip(paths, lines, strict=True)]
    return dict(zip(made, met, strict=True))


def python(code: str, *arguments: Path) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own, which must end well."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done


def test_strategies_of_users_come_back(tmp_path: Path) -> None:
    hasher = small(base=FirstBase(30), embedding=Corner(scale=2.0)).fit(rows())
    hasher.save(tmp_path / "hasher")
    loaded = bitfold.load(tmp_path / "hasher")
    params = loaded.get_params()
    assert type(params["embedding"]) is Corner
    assert type(params["base"]) is FirstBase
    assert (params["embedding__scale"], params["base__n_base_points"]) == (2.0, 30)
    assert loaded.encode(rows()) == hasher.encode(rows())
    assert clone(loaded).fit(rows()).encode(rows()) == hasher.encode(rows())


def test_where_a_strategy_is_unknown_the_codes_do_without(
    elsewhere: dict[str, Elsewhere],
) -> None:
    met = elsewhere["Corner"]
    assert met.warnings == [
        "strategy Corner is not known here; the codes need it no more, "
        "but fitting again would use the default."
    ]
    assert met.shown == "IMH(base=RandomBase(n_base_points=20), n_bits=8, random_state=0)"
    expected = small(embedding=Corner()).fit(rows()).encode(rows())
    assert met.codes == expected.packed.tobytes().hex()


def test_a_hasher_of_a_user_comes_back_where_it_is_known(
    tmp_path: Path, elsewhere: dict[str, Elsewhere]
) -> None:
    hasher = Signs("per aspera").fit(rows())
    hasher.save(tmp_path / "hasher")
    loaded = bitfold.load(tmp_path / "hasher")
    assert isinstance(loaded, Signs)
    assert (loaded.motto, loaded.motto_, loaded.n_bits_) == ("per aspera", "per aspera", 64)
    assert loaded.encode(rows()) == hasher.encode(rows())
    met = elsewhere["Signs"]
    assert met.error == f"{met.path} holds a Signs, which is no hasher known here."


# Damaged and hostile files


def put(name: str, **changes: Any) -> Change:
    """Change keys of one branch of the meta."""

    def change(stored: Stored) -> None:
        stored.meta[name].update(changes)

    return change


def drop(*path: str) -> Change:
    """Take a key out of the meta."""

    def change(stored: Stored) -> None:
        branch = stored.meta
        for key in path[:-1]:
            branch = branch[key]
        del branch[path[-1]]

    return change


def meta(**changes: Any) -> Change:
    """Change the trunk of the meta."""

    def change(stored: Stored) -> None:
        stored.meta.update(changes)

    return change


def array(name: str, make: Callable[[Array], Array]) -> Change:
    """Change an array."""

    def change(stored: Stored) -> None:
        stored.arrays[name] = make(stored.arrays[name])

    return change


def kind(name: str) -> Change:
    """Say that the file holds something else."""
    return lambda stored: stored._replace(kind=name)


def without_array(name: str) -> Change:
    def change(stored: Stored) -> None:
        del stored.arrays[name]

    return change


def with_array(stored: Stored) -> None:
    stored.arrays["extra_"] = np.zeros(3, np.float32)


def without_base_points(stored: Stored) -> None:
    for name in ("base_set_", "base_embedding_", "bit_embedding_"):
        stored.arrays[name] = stored.arrays[name][:0]


def without_features(stored: Stored) -> None:
    stored.meta["learned"]["n_features_in_"] = 0
    stored.arrays["center_"] = stored.arrays["center_"][:0]
    stored.arrays["base_set_"] = stored.arrays["base_set_"][:, :0]


def with_a_layout_of_its_own(stored: Stored) -> None:
    """Try to lead a kernel out of bounds: allow any shape, then give a wrong one."""
    stored.meta["learned"]["_fitted_arrays"] = {name: ["a", "b"] for name in stored.arrays}
    stored.arrays["bit_embedding_"] = stored.arrays["bit_embedding_"][:1, :1]


def spoilt_by(value: float) -> Callable[[Array], Array]:
    def spoil(array: Array) -> Array:
        array.flat[3] = value
        return array

    return spoil


ARRAYS = ("center_", "base_set_", "base_embedding_", "bit_embedding_")
RESHAPES: dict[str, Callable[[Array], Array]] = {
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
    "NaN": spoilt_by(np.nan),
    "infinite": spoilt_by(-np.inf),
}
NO_CHANGE = {("center_", "flat"), ("center_", "transposed")}

NUMBERS = "is damaged: its numbers are not those of the hasher it names."
NAMES = "is damaged: its feature names are not one for each feature."
OTHER_VERSION = "is no IMH of this version ("
NOT_INTEGERS: tuple[Any, ...] = (0, -1, 5.0, "5", True, None, [5], {}, float("nan"))

NOT_NAMES: tuple[Any, ...] = (3, "a" * 64, ["a"] * 63, list(range(64)), {}, [["a"]] * 64)

HOSTILE: dict[str, tuple[Change, str]] = {
    **{
        f"{name} {how}": (array(name, make), "is damaged: its array ")
        for name in ARRAYS
        for how, make in RESHAPES.items()
        if (name, how) not in NO_CHANGE
    },
    **{
        f"no {name}": (without_array(name), "is damaged: its arrays are not those of the hasher")
        for name in ARRAYS
    },
    "an array more": (with_array, "is damaged: its arrays are not those of the hasher it names."),
    "no base points": (without_base_points, "is damaged: its array base_"),
    "no features": (without_features, "is damaged: its n_features_in_ is not what the hasher"),
    "a layout of its own": (with_a_layout_of_its_own, NUMBERS),
    "a method of its own": (put("learned", encode="x"), NUMBERS),
    "one more number": (put("learned", extra_=1), NUMBERS),
    **{f"no {n}": (drop("learned", n), NUMBERS) for n in ("n_neighbors_", "n_bits_", "bandwidth_")},
    **{
        f"{name} {value!r}": (put("learned", **{name: value}), f"is damaged: its {name} is not")
        for name in ("n_neighbors_", "n_bits_", "n_features_in_")
        for value in NOT_INTEGERS
    },
    "k_ beyond m": (put("learned", k_=21), "is damaged: k_ of IMH must be at most m = 20, got 21."),
    "k_ huge": (put("learned", k_=10**30), "is damaged: k_ of IMH must be at most m = 20, got 1"),
    **{
        f"n_bits_ {value}": (put("learned", n_bits_=value), "is damaged: its array b")
        for value in (7, 9, 10**12)
    },
    "n_features_in_ 63": (put("learned", n_features_in_=63), "is damaged: its array "),
    **{
        f"bandwidth_ {value!r}": (
            put("learned", bandwidth_=value),
            "is damaged: its bandwidth_ is not what the hasher needs.",
        )
        for value in (float("nan"), float("inf"), "wide", None, 1, True, [1.0])
    },
    **{
        f"bandwidth_ {value!r}": (
            put("learned", bandwidth_=value),
            "is damaged: bandwidth_ of IMH must be a finite number above 0, got",
        )
        for value in (0.0, -1.0)
    },
    **{
        f"bandwidth_ {value!r}": (
            put("learned", bandwidth_=value),
            "is damaged: bandwidth_ of IMH must be between 1e-150 and 1e150, got",
        )
        for value in (1e-300, 1e300)
    },
    **{
        f"{branch} {value!r}": (meta(**{branch: value}), OTHER_VERSION)
        for branch in ("params", "learned")
        for value in (None, 3, "text", [["n_bits_", 8]])
    },
    **{f"no {key}": (drop(key), OTHER_VERSION) for key in ("params", "learned", "feature_names")},
    "no meta": (lambda stored: stored._replace(meta={}), OTHER_VERSION),
    "unknown parameter": (put("params", n_trees=3), OTHER_VERSION),
    "parameter self": (put("params", self=3), OTHER_VERSION),
    "strategy without a name": (put("params", base={"params": {}}), OTHER_VERSION),
    "strategy without parameters": (put("params", base={"strategy": "RandomBase"}), OTHER_VERSION),
    "strategy with a list": (
        put("params", base={"strategy": "RandomBase", "params": [1]}),
        OTHER_VERSION,
    ),
    "strategy with an unknown parameter": (
        put("params", base={"strategy": "RandomBase", "params": {"depth": 1}}),
        OTHER_VERSION,
    ),
    "strategies without end": (put("params", embedding=ENDLESS), "is "),
    **{f"feature names {value!r:.20}": (meta(feature_names=value), NAMES) for value in NOT_NAMES},
    **{
        f"kind {name!r}": (kind(name), f"holds a {name}, which is no hasher known here.")
        for name in ("Hasher", "_Inductive", "TSNE", "object", "", "HammingIndex", "imh")
    },
}


@pytest.mark.parametrize("mmap", [False, True], ids=["read", "mapped"])
@pytest.mark.parametrize("case", HOSTILE)
def test_a_file_that_is_wrong_is_refused_by_one_sentence(
    case: str, mmap: bool, stored: Stored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, says = HOSTILE[case]
    path = write(tmp_path / "hostile.bitfold", change(stored) or stored, monkeypatch)
    with pytest.raises(FormatError) as caught:
        bitfold.load(path, mmap=mmap)
    sentence = str(caught.value)
    assert sentence.startswith(f"{path} {says}")
    assert sentence.endswith(".")
    assert not sentence.endswith("..")
    assert "\n" not in sentence


HARMLESS: dict[str, Change] = {
    "as it was": put("params"),
    "n_bits": put("params", n_bits="many"),
    "k": put("params", k=-3),
    "rotation": put("params", rotation=[1, 2]),
    "embedding": put("params", embedding={"strategy": "RandomBase", "params": {"m": 3}}),
    "base": put("params", base={"strategy": "RandomBase", "params": {"m": "a"}}),
    "k_ larger than it was": put("learned", k_=5),
}


@pytest.mark.parametrize("case", HARMLESS)
def test_wrong_hyper_parameters_matter_only_when_fitting_again(
    case: str, stored: Stored, tmp_path: Path
) -> None:
    HARMLESS[case](stored)
    model_file.write(tmp_path / "odd", stored)
    loaded = bitfold.load(tmp_path / "odd")
    assert loaded.encode(rows()) == _fitted().encode(rows())
    if case not in ("as it was", "k_ larger than it was"):
        with pytest.raises((TypeError, ValueError), match=r"^\w+ of \w+ must be "):
            loaded.fit(rows())


@pytest.mark.parametrize("name", [5, None, [], {}, "Nobody"])
def test_a_strategy_nobody_knows_is_told(name: Any, stored: Stored, tmp_path: Path) -> None:
    stored.meta["params"]["embedding"] = {"strategy": name, "params": {}}
    model_file.write(tmp_path / "odd", stored)
    with pytest.warns(UserWarning, match=r"^strategy .* is not known here; the codes need it no"):
        loaded = bitfold.load(tmp_path / "odd")
    assert loaded.get_params()["embedding"] is None
    assert loaded.encode(rows()) == _fitted().encode(rows())


def test_a_hasher_of_one_kind_is_not_one_of_another(stored: Stored, tmp_path: Path) -> None:
    y = load_digits().target[:120]
    supervised = SupervisedIMH(base=RandomBase(40), embedding=PCA(), n_components=12).fit(rows(), y)
    supervised.save(tmp_path / "supervised")
    content = model_file.read(tmp_path / "supervised")
    model_file.write(tmp_path / "renamed", content._replace(kind="IMH"))
    with pytest.raises(FormatError, match=r"is no IMH of this version \(.*n_components"):
        bitfold.load(tmp_path / "renamed")


def test_a_flipped_byte_is_found_wherever_it_is(tmp_path: Path) -> None:
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
def test_a_part_of_a_file_is_refused(part: int, tmp_path: Path) -> None:
    path = tmp_path / "hasher"
    _fitted().save(path)
    path.write_bytes(path.read_bytes()[:part])
    with pytest.raises(FormatError, match=f"^{path} is "):
        bitfold.load(path)


def test_a_missing_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nothing does not exist\.$"):
        bitfold.load(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError, match=r"its directory does not exist\.$"):
        _fitted().save(tmp_path / "nowhere" / "hasher")
    with pytest.raises(FormatError, match="is a directory"):
        bitfold.load(tmp_path)


# Whatever is in a file


def leaves(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every node of a JSON tree but the root."""
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


def spoil_at_random(stored: Stored, rng: np.random.Generator) -> None:
    """Change one node of the meta, or the shape or type of one array."""
    if rng.random() < 0.7:
        ways = list(leaves(stored.meta))
        *way, last = ways[rng.integers(len(ways))]
        branch: Any = stored.meta
        for key in way:
            branch = branch[key]
        branch[last] = copy.deepcopy(POOL[rng.integers(len(POOL))])
    else:
        name = ARRAYS[rng.integers(len(ARRAYS))]
        shape = tuple(int(side) for side in rng.integers(0, 70, rng.integers(0, 4)))
        stored.arrays[name] = rng.normal(size=shape).astype(("f4", "f8", "i4")[rng.integers(3)])


FUZZ = """
import collections, pathlib, sys, warnings
import numpy as np, bitfold
from bitfold.persistence import FormatError

warnings.simplefilter("ignore")
met = collections.Counter()
for path in pathlib.Path(sys.argv[1]).glob("*.bitfold"):
    try:
        hasher = bitfold.load(path, mmap=True)
    except FormatError as error:
        assert str(error).startswith(str(path) + " "), error
        met["refused"] += 1
    else:
        assert np.isfinite(hasher.embed(np.ones((5, 64)))).all(), path
        met["loaded"] += 1
print(met["refused"], met["loaded"])
"""


def test_no_file_ends_the_interpreter(
    tmp_path: Path, stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every spoilt file is refused or encodes; in a process of its own, as a crash would end it."""
    rng = np.random.default_rng(0)
    for number in range(100):
        spoilt = copy.deepcopy(stored)
        for _ in range(rng.integers(1, 3)):
            spoil_at_random(spoilt, rng)
        write(tmp_path / f"{number}.bitfold", spoilt, monkeypatch)
    refused, loaded = map(int, python(FUZZ, tmp_path).stdout.split())
    assert refused + loaded == 100
    assert min(refused, loaded) > 10


def test_loading_a_good_file_warns_of_nothing(tmp_path: Path) -> None:
    _fitted().save(tmp_path / "hasher")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bitfold.load(tmp_path / "hasher")
