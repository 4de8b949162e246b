"""Types that several modules of the reproduction share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

AnyArray = NDArray[Any]
BoolArray = NDArray[np.bool_]
Float32Array = NDArray[np.float32]
Float64Array = NDArray[np.float64]
Int64Array = NDArray[np.int64]
UInt8Array = NDArray[np.uint8]

Options = tuple[tuple[str, Any], ...]
"""Settings of a method as sorted pairs of name and value, which can be hashed."""

ProgressCallback = Callable[[str, int, int], None]
"""Called with (stage, done, total)."""

Record = dict[str, Any]
"""A finished run: ``case``, ``result``, ``seconds`` and ``versions``."""

Result = dict[str, Any]
"""What was measured in a case, by name."""
