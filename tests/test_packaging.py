"""What users install: the wheel and the sdist in clean environments, and the lowest versions.

``make package`` and ``make lowest`` run the tests that take minutes or need the network.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from tests.documentation import blocks_of

import bitfold

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def declared(*extras: str) -> list[Requirement]:
    """Return the requirements of the package and of some extras, except bitfold itself."""
    lists = [PROJECT["dependencies"], *(PROJECT["optional-dependencies"][name] for name in extras)]
    found = [Requirement(text) for texts in lists for text in texts]
    return [each for each in found if each.name != PROJECT["name"]]


def test_every_requirement_has_a_lowest_version() -> None:
    # The real model in the tests of the integrations needs one version of torch.
    named = set(PROJECT["optional-dependencies"]) - {"integrations"}
    for each in declared(*named):
        assert [clause.operator for clause in each.specifier] == [">="], str(each)


def test_classifiers_start_with_the_lowest_python() -> None:
    named = [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if " :: 3." in name]
    assert named == ["3.11", "3.12", "3.13", "3.14"]
    assert PROJECT["requires-python"] == f">={named[0]}"


def list_dev_extras() -> set[str]:
    """Return the extras that the extra ``dev`` includes."""
    (own,) = [
        Requirement(text)
        for text in PROJECT["optional-dependencies"]["dev"]
        if Requirement(text).name == PROJECT["name"]
    ]
    return own.extras


def test_dev_extra_includes_the_others() -> None:
    # The site and the integrations are built and tested in environments of their own.
    frameworks = {"haystack", "langchain", "llama_index", "onnx", "sentence_transformers"}
    separate = {"dev", "docs", "integrations", *frameworks}
    assert list_dev_extras() == set(PROJECT["optional-dependencies"]) - separate


def test_citation_has_the_version() -> None:
    lines = (ROOT / "CITATION.cff").read_text("utf-8").splitlines()
    assert [line for line in lines if line.startswith("version:")] == [
        f"version: {bitfold.__version__}"
    ]


@pytest.mark.lowest
def test_lowest_versions_are_installed() -> None:
    """If another package needs a higher version, ours must be raised to it to be tested."""
    for each in declared("dev", *list_dev_extras()):
        (floor,) = each.specifier
        installed, lowest = Version(metadata.version(each.name)), Version(floor.version)
        assert Version(installed.base_version) == Version(lowest.base_version), str(each)


# The files that are built


@pytest.fixture(scope="session")
def wheel() -> Path:
    (path,) = (ROOT / "dist").glob("*.whl")
    return path


@pytest.fixture(scope="session")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist, unpacked."""
    folder = tmp_path_factory.mktemp("sdist")
    (path,) = (ROOT / "dist").glob("*.tar.gz")
    with tarfile.open(path) as archive:
        archive.extractall(folder, filter="data")
    (unpacked,) = folder.iterdir()
    return unpacked


def files(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*"):
        if path.is_file():
            yield path.relative_to(folder).as_posix()


# Kinds of files in the package; a stray file of another kind would be shipped to every user.
KINDS = {".py", ".typed", ".html", ".js", ".css", ".svg"}


@pytest.mark.package
def test_wheel_contains_only_the_package(wheel: Path, sdist: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert {Path(name).suffix for name in names} == KINDS
    assert names == {f"bitfold/{name}" for name in files(ROOT / "src/bitfold") if kept(name)}
    assert names == {f"bitfold/{name}" for name in files(sdist / "src/bitfold")}
    pages = {f"bitfold/explorer/page/{name}" for name in ("index.html", "app.js", "style.css")}
    assert {"bitfold/py.typed", *pages} <= names


def kept(name: str) -> bool:
    return "__pycache__" not in name


@pytest.mark.package
def test_wheel_metadata(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (about,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    lines = archive.read(about).decode().splitlines()
    assert {f"Version: {bitfold.__version__}", "Requires-Python: >=3.11"} <= set(lines)
    assert {"License-Expression: Apache-2.0", "Classifier: Typing :: Typed"} <= set(lines)
    description = "\n".join(lines[lines.index("") :])
    assert "bitfold turns vectors into" in description
    assert not re.search(r"\]\((?!https://)", description)  # PyPI has no other files
    folder = about.removesuffix("METADATA")
    assert f"{folder}licenses/LICENSE" in archive.namelist()


@pytest.mark.package
def test_sdist_can_run_its_tests(sdist: Path) -> None:
    """Collect all tests, and run some of each kind: code, documents, and other files."""
    environment = {**os.environ, "PYTHONPATH": str(sdist / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    pytest_in = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]

    def run(*arguments: str) -> str:
        return subprocess.run(
            [*pytest_in, *arguments], cwd=sdist, env=environment, text=True, check=True,
            capture_output=True,
        ).stdout  # fmt: skip

    assert set(listed(run("--collect-only"))) == set(listed(collected_here()))
    modules = ["tests/test_codes.py", "tests/test_architecture.py", "tests/test_language.py"]
    run(*modules, "docs/limits.md")


def collected_here() -> str:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider"]
    return subprocess.run(command, cwd=ROOT, text=True, check=True, capture_output=True).stdout


def listed(listing: str) -> Iterator[str]:
    """Yield the names of tests in the output of pytest, without their parameters."""
    return (line.partition("[")[0] for line in listing.splitlines() if "::" in line)


# Installed


FROM_OUTSIDE = """
import sys
from importlib import metadata
from importlib.resources import files

import numpy as np

import bitfold as bf

X = np.random.default_rng(0).standard_normal((300, 16)).astype(np.float32)
hasher = bf.IMH(16, base=bf.KMeansBase(30), random_state=0).fit(X)
index = bf.HammingIndex(16)
index.add(hasher.encode(X))
hasher.save("m.bitfold")
index.save("my.index")
codes = bf.load("m.bitfold").encode(X)
assert codes == hasher.encode(X)
with bf.HammingIndex.open("my.index") as again:
    hits = again.search(codes[:3], k=5)
assert (hits.ids == index.search(codes[:3], k=5).ids).all()
assert files("bitfold").joinpath("py.typed").is_file()
assert all(getattr(bf, name) is not None for name in dir(bf))
print(bf.__file__)
print(*sorted({each.name for each in metadata.distributions()}))
"""


@pytest.fixture(scope="session", params=["whl", "tar.gz"])
def clean(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment that contains only the built package and its dependencies."""
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder, with_pip=True)
    (path,) = (ROOT / "dist").glob(f"*.{request.param}")
    quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([folder / "bin/python", *quiet, path], check=True)
    return folder / "bin"


def outside(folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command in another folder, without the Python variables of this environment."""
    environment = {key: value for key, value in os.environ.items() if "PYTHON" not in key}
    return subprocess.run(command, cwd=folder, env=environment, text=True, capture_output=True)


@pytest.mark.package
def test_installed_without_extras(clean: Path, tmp_path: Path) -> None:
    done = outside(tmp_path, clean / "bitfold", "--version")
    assert (done.stdout, done.stderr) == (f"bitfold {bitfold.__version__}\n", "")
    done = outside(tmp_path, clean / "python", "-W", "error", "-c", FROM_OUTSIDE)
    assert done.returncode == 0, done.stderr
    where, distributions = done.stdout.splitlines()
    assert Path(where).is_relative_to(clean.parent)
    extras = set(PROJECT["optional-dependencies"]) - {"dev"}
    needed = {each.name for each in declared()}
    only_in_extras = {canonicalize_name(each.name) for each in declared(*extras)} - needed
    assert only_in_extras & set(map(canonicalize_name, distributions.split())) == set()
    arguments = ["compare", "digits", "--bits", "8", "--methods", "itq", "--queries", "100"]
    done = outside(tmp_path, clean / "bitfold", *arguments)
    assert done.returncode == 0, done.stderr
    assert "bitfold fit vectors.npy --method itq --bits 8" in done.stdout


@pytest.mark.package
def test_readme_runs_without_extras(clean: Path, tmp_path: Path) -> None:
    blocks = blocks_of((ROOT / "README.md").read_text("utf-8"))
    (script,) = [block.text for block in blocks if block.language == "py"]
    done = outside(tmp_path, clean / "python", "-W", "error", "-c", script)
    assert (done.returncode, done.stderr) == (0, "")
    printed = re.fullmatch(r"(\d+)% of the hits are the same digit as their query\.\n", done.stdout)
    assert printed, done.stdout
    assert int(printed[1]) >= 95

    shown = "".join(block.text for block in blocks if block.language == "console")
    install, *lines = shown.splitlines()
    assert install == "pip install bitfold"
    outputs = []
    for line in lines:
        name, *arguments = line.split()
        done = outside(tmp_path, clean / name, *arguments)
        assert (done.returncode, done.stderr) == (0, ""), line
        outputs.append(done.stdout)
    sample, build, search = outputs
    assert sample.startswith("digits: vectors.npy (1497 ")
    assert build.startswith("my.bitfold: 1,497 items of 64 features")
    header, *rows = (row.split("\t") for row in search.splitlines())
    assert header == ["query", "rank", "id", "distance"]
    k = int(lines[-1].partition("-k ")[2])
    ranks = [[str(query), str(rank)] for query in range(300) for rank in range(1, k + 1)]
    assert [row[:2] for row in rows] == ranks


@pytest.mark.package
def test_missing_extra_names_the_install_command(clean: Path, tmp_path: Path) -> None:
    outside(tmp_path, clean / "python", "-c", FROM_OUTSIDE)
    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    (tmp_path / "x.h5").write_bytes(b"HDF")
    for arguments, extra in {
        ("explore", "my.index", "--model", "m.bitfold"): "explorer",
        ("fit", "x.parquet", "--out", "n"): "parquet",
        ("fit", "x.h5", "--out", "n"): "hdf5",
        ("push", "my.index", "lance", "--table", "t"): "lancedb",
        ("push", "my.index", "postgresql://localhost/x", "--table", "t"): "postgres",
    }.items():
        done = outside(tmp_path, clean / "bitfold", *arguments)
        assert done.returncode == 1, arguments
        assert f'pip install "bitfold[{extra}]"' in done.stderr
        assert done.stderr.count("\n") == 1
