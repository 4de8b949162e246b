"""Check that a model gives the same codes on other processors.

Another process encodes as if it ran on a processor of another level: numba compiles for it, and
OpenBLAS, faiss, numpy and the C library use the code that they have for it.
"""

from __future__ import annotations

import atexit
import functools
import os
import pickle
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from bitfold.hashers import Hasher
from bitfold.testing._hasher_checks.common import fit_copy, load_many_rows

Environment = dict[str, str]
"""Environment variables of a process."""

_X86_NAMES = ("x86_64", "AMD64")


def list_levels() -> dict[str, Environment]:
    """Return the environments that emulate the levels of processors which this one includes."""
    if platform.machine() not in _X86_NAMES:
        return {"generic": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}}
    features = _find_dispatched_features()
    levels = {
        "generic": {
            "NUMBA_CPU_NAME": "generic",
            "NUMBA_CPU_FEATURES": "",
            "OPENBLAS_CORETYPE": "Nehalem",
            "FAISS_OPT_LEVEL": "generic",
            "NPY_DISABLE_CPU_FEATURES": " ".join(features),
            "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX2_Usable,-FMA_Usable",
        },
        "haswell": {
            "NUMBA_CPU_NAME": "haswell",
            "NUMBA_CPU_FEATURES": "+avx2,+fma,+bmi,+bmi2,+lzcnt,+popcnt,+f16c,+movbe",
            "OPENBLAS_CORETYPE": "Haswell",
            "FAISS_OPT_LEVEL": "avx2",
            "NPY_DISABLE_CPU_FEATURES": " ".join(n for n in features if n not in _HASWELL_FEATURES),
        },
        "skylake": {
            "NUMBA_CPU_NAME": "skylake-avx512",
            "OPENBLAS_CORETYPE": "SkylakeX",
            "FAISS_OPT_LEVEL": "avx512",
        },
    }
    required = {"haswell": "avx2", "skylake": "avx512f"}
    flags = _read_processor_flags()
    return {name: levels[name] for name in levels if required.get(name, "") in flags}


_HASWELL_FEATURES = ("X86_V3", "AVX", "F16C", "FMA3", "AVX2")


def _find_dispatched_features() -> list[str]:
    """Return the features of this processor that numpy has special code for."""
    from numpy._core import _multiarray_umath as core  # type: ignore[attr-defined]

    return [name for name in core.__cpu_dispatch__ if core.__cpu_features__.get(name)]


def _read_processor_flags() -> set[str]:
    path = Path("/proc/cpuinfo")
    return {"", *path.read_text().split()} if path.exists() else {""}


def encode_and_embed(hasher: Hasher, rows: Any) -> tuple[bytes, bytes]:
    """Return the codes and the embedding of rows."""
    return hasher.encode(rows).packed.tobytes(), hasher.embed(rows).tobytes()


class LevelProcess:
    """A process that encodes on a processor of another level."""

    def __init__(self, level: Environment) -> None:
        code = f"from {__name__} import serve; serve()"
        paths = os.pathsep.join(filter(None, sys.path))
        self._process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **level, "PYTHONPATH": paths},
        )

    def encode_and_embed(self, hasher: Hasher, rows: Any) -> tuple[bytes, bytes]:
        """Return the codes and the embedding of rows, computed by the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        pickle.dump((hasher, rows), self._process.stdin)
        self._process.stdin.flush()
        answer: tuple[bytes, bytes] = pickle.load(self._process.stdout)
        return answer

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


def serve() -> None:
    """Answer the requests of :class:`LevelProcess` until the input ends."""
    while True:
        try:
            hasher, rows = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(encode_and_embed(hasher, rows), sys.stdout.buffer)
        sys.stdout.flush()


@functools.cache
def _start_generic_process(process_id: int) -> LevelProcess:
    """Start a process of the lowest level, once per process that runs checks."""
    process = LevelProcess(list_levels()["generic"])
    atexit.register(process.close)
    return process


def check_other_processor(hasher: Hasher) -> None:
    """Check that a model gives the same codes and embedding on the simplest processor.

    Another process cannot import classes of ``__main__``, so these are not checked.
    """
    if type(hasher).__module__ == "__main__":
        return
    fitted, rows = fit_copy(hasher), load_many_rows()[::4]
    codes, embedding = encode_and_embed(fitted, rows)
    process = _start_generic_process(os.getpid())
    other_codes, other_embedding = process.encode_and_embed(fitted, rows)
    assert other_codes == codes, "the codes are not those of a generic processor"
    np.testing.assert_array_equal(
        np.frombuffer(other_embedding, np.float32), np.frombuffer(embedding, np.float32)
    )


PROCESSOR_CHECKS = (check_other_processor,)
