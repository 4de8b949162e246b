"""Text files with one label per line."""

from __future__ import annotations

import numpy as np

from bitfold._types import AnyArray
from bitfold.io.formats.request import ReadRequest


def read_text_labels(request: ReadRequest) -> AnyArray:
    """Read one label per line, in UTF-8."""
    request.check_no_name()
    with request.translate_errors("a UTF-8 text file with one label per line"):
        return np.array(request.path.read_text("utf-8").splitlines())
