"""Files that a verb writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from bitfold.persistence import replace_atomically


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """Open ``path`` as :func:`replace_atomically` does; an error names it, not the temporary file.

    A verb opens its file before the work: whether it can be written is known then, not after.
    """
    with ExitStack() as stack:
        try:
            file = stack.enter_context(replace_atomically(path))
        except OSError as error:
            if error.strerror is None:
                raise
            raise OSError(f"{path} cannot be written: {error.strerror}.") from error
        yield file
