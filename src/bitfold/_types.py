"""Types that several packages share."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

AnyArray = NDArray[Any]
BoolArray = NDArray[np.bool_]
Float32Array = NDArray[np.float32]
Float64Array = NDArray[np.float64]
FloatingArray = NDArray[np.floating[Any]]
Int8Array = NDArray[np.int8]
Int32Array = NDArray[np.int32]
Int64Array = NDArray[np.int64]
IntpArray = NDArray[np.intp]
SignedIntArray = NDArray[np.signedinteger[Any]]
UInt8Array = NDArray[np.uint8]
UInt16Array = NDArray[np.uint16]
UInt32Array = NDArray[np.uint32]
UInt64Array = NDArray[np.uint64]

Ids = NDArray[np.int64]
"""Ids of items."""

Words = NDArray[np.uint64]
"""Codes as 64-bit words, one row per code, zero-padded."""

PathLike = str | os.PathLike[str]

Seed = int | np.random.Generator | None
"""What users may pass as ``random_state``."""

StepCallback = Callable[[int, int], None]
"""Called with (done, total) while a step runs."""

ProgressCallback = Callable[[str, int, int], None]
"""Called with (stage, done, total); a total of 0 is unknown."""
