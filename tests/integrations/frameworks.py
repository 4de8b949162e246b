"""Which modules of ``bitfold.integrations`` and which pages need which frameworks."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

FRAMEWORKS = {
    "haystack": ["haystack"],
    "haystack._documents": ["haystack"],
    "haystack.document_store": ["haystack"],
    "haystack.retriever": ["haystack"],
    "langchain": ["langchain_core"],
    "_langchain_documents": ["langchain_core"],
    "llama_index": ["llama_index"],
    "_llama_index_nodes": ["llama_index"],
    "onnx": ["onnx", "onnxruntime"],
    "_onnx_graph": ["onnx"],
    "_onnx_hashers": ["onnx"],
    "_onnx_llh": ["onnx"],
    "sentence_transformers": ["sentence_transformers"],
}
"""The packages that each module imports, also in its examples."""

PAGES = {
    "how-to/frameworks.md": ["haystack", "langchain_core", "llama_index", "sentence_transformers"],
    "how-to/onnx.md": ["onnx", "onnxruntime"],
    "how-to/sql.md": ["duckdb", "polars"],
}
"""The packages that the code of each page imports."""


def find_missing(packages: list[str]) -> list[str]:
    """Return those of some packages that are not installed."""
    return [name for name in packages if find_spec(name) is None]


def require(module: str) -> None:
    """Skip the tests of a module if its framework is not installed."""
    for name in FRAMEWORKS[module]:
        pytest.importorskip(name, reason=f"{name} is not installed; run `make integrations`")


def list_missing_modules() -> list[str]:
    """Return the modules of bitfold that cannot be imported, because a framework is missing."""
    return [f"bitfold.integrations.{m}" for m, needs in FRAMEWORKS.items() if find_missing(needs)]


def locate_module(name: str) -> Path:
    """Return the file of a module or package of bitfold, which need not be importable."""
    path = ROOT / "src" / name.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def list_ignored_files() -> list[str]:
    """Return the files whose examples cannot run, because a framework is missing."""
    sources = map(locate_module, list_missing_modules())
    pages = (ROOT / "docs" / page for page, needs in PAGES.items() if find_missing(needs))
    return [str(path) for path in (*sources, *pages)]
