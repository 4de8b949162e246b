"""Search sentences: find a function of Python's standard library in your own words.

A sentence model, included in its package (``pip install wordllama``), turns the first lines of
several thousand docstrings into vectors of 256 numbers. bitfold turns those into codes of 16 bytes
per sentence instead of 1,024. The model is small and compares words: the second question, which
avoids the word, does not find compression. Replace ``embed`` to use another model.
"""

import importlib
import inspect
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import bitfold as bf
from bitfold import metrics
from bitfold.hashers import ITQ

MODULES = [
    "argparse", "array", "ast", "asyncio", "base64", "bisect", "bz2", "calendar", "collections",
    "configparser", "copy", "csv", "datetime", "decimal", "difflib", "email", "fractions",
    "functools", "getpass", "glob", "gzip", "hashlib", "heapq", "html.parser", "http.client",
    "imaplib", "inspect", "io", "ipaddress", "itertools", "json", "locale", "logging", "lzma",
    "mailbox", "math", "mimetypes", "operator", "os", "pathlib", "pprint", "queue", "random",
    "re", "sched", "secrets", "select", "shelve", "shlex", "shutil", "signal", "smtplib",
    "socket", "sqlite3", "ssl", "statistics", "string", "struct", "subprocess", "tarfile",
    "tempfile", "textwrap", "threading", "time", "timeit", "tokenize", "traceback", "types",
    "unicodedata", "unittest", "urllib.parse", "urllib.request", "uuid", "warnings", "wave",
    "weakref", "xml.etree.ElementTree", "zipfile",
]  # fmt: skip
QUESTIONS = [
    "compress some bytes",
    "make a file smaller",
    "pick a random element of a list",
    "what day of the week is it",
    "run another program and read its output",
]


def list_docstrings(name: str) -> Iterator[tuple[str, str]]:
    """Yield the public names of a module with the first lines of their docstrings."""
    module = importlib.import_module(name)
    for public, value in vars(module).items():
        members = [(public, value)]
        if inspect.isclass(value):
            if not value.__module__.lstrip("_").startswith(name):
                continue  # documented in the module that defines it
            members += [(f"{public}.{member}", part) for member, part in vars(value).items()]
        for path, part in members:
            line = (inspect.getdoc(part) or "").split("\n")[0] if callable(part) else ""
            if len(line.split()) > 3 and "_" not in (path[0], path.rpartition(".")[2][0]):
                yield f"{name}.{path}", line


def embed(sentences: Sequence[str]) -> NDArray[Any]:
    """Return one unit vector per sentence.

    With another model: ``SentenceTransformer("all-MiniLM-L6-v2").encode(sentences)``.
    """
    import wordllama  # here, because it enables log messages of later imports

    folder = Path(wordllama.__file__).parent  # contains the model; nothing is downloaded
    model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    return np.asarray(model.embed(list(sentences), norm=True))


lines = {line: name for module in MODULES for name, line in list_docstrings(module)}
sentences, names = list(lines), list(lines.values())
vectors, questions = embed(sentences), embed(QUESTIONS)

hasher = ITQ(128, random_state=0).fit(vectors)
index = bf.HammingIndex(n_bits=128)
index.add(hasher.encode(vectors))
rerank = bf.RerankByVectors(vectors, questions, n_candidates=50, metric="cosine")
hits = index.search(hasher.encode(questions), k=3, rerank=rerank)

exact = np.argsort(-questions @ vectors.T, axis=1)[:, :3]
agree = metrics.recall_at_k(hits.ids, exact, 3).mean()
print(f"{len(sentences):,} docstrings; {agree:.0%} of the hits are those of an exact search.")

figure = Figure(figsize=(7.4, 4.1))
figure.text(0.02, 0.95, f"{len(sentences):,} docstrings, 16 bytes each", fontsize=9)
for row, question in enumerate(QUESTIONS):
    print(f"\n{question}?")
    top = 0.89 - 0.18 * row
    figure.text(0.02, top, f"{question}?", fontsize=10, weight="bold", color="#d62728")
    for rank, item in enumerate(hits.ids[row]):
        print(f"  {names[item]:34} {sentences[item]}")
        height = top - 0.042 * (rank + 1)
        figure.text(0.04, height, names[item], fontsize=8, family="monospace")
        figure.text(0.44, height, sentences[item][:70], fontsize=8)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "search_sentences.png")
