"""Startup: the page is served at once, and shows progress until the maps are ready."""

from __future__ import annotations

from collections.abc import Callable

from bitfold._types import ProgressCallback
from bitfold.errors import BitfoldError
from bitfold.explorer.workspace import Workspace


class NotReadyError(BitfoldError):
    """What a request asks for is still being computed."""

    def __init__(self) -> None:
        super().__init__("The explorer is still preparing the map; try again in a moment.")


class Startup:
    """The workspace once it is ready, and before that how far it is.

    Parameters
    ----------
    workspace
        A workspace that is ready already.

    Attributes
    ----------
    stage, done
        What is being computed, and the share that is done.
    error
        The exception that ended the preparation, if any.
    """

    def __init__(self, workspace: Workspace | None = None) -> None:
        self._workspace = workspace
        self.stage = "starting"
        self.done = 0.0
        self.error: BaseException | None = None

    @property
    def is_ready(self) -> bool:
        """Whether requests can be answered."""
        return self._workspace is not None

    @property
    def workspace(self) -> Workspace:
        """The workspace; raise if it is not ready."""
        if self._workspace is None:
            raise NotReadyError
        return self._workspace

    def report(self, stage: str, done: int, total: int) -> None:
        """Take over the progress of a stage."""
        self.stage, self.done = stage, done / total if total else 0.0

    def run(
        self, prepare: Callable[[ProgressCallback], Workspace], on_error: Callable[[], None]
    ) -> None:
        """Prepare the workspace; after an error, keep it and call back."""
        try:
            self._workspace = prepare(self.report)
        except BaseException as error:
            self.error = error
            on_error()
