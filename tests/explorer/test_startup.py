"""Startup: requests wait for the maps, and an error ends the server."""

from __future__ import annotations

import pytest

from bitfold.explorer.address import ListenAddress
from bitfold.explorer.server import serve
from bitfold.explorer.startup import NotReadyError, Startup
from bitfold.explorer.workspace import Workspace


def test_a_workspace_is_given_out_when_it_is_ready(workspace: Workspace) -> None:
    startup = Startup()
    with pytest.raises(NotReadyError, match="still preparing"):
        _ = startup.workspace
    startup.report("map", 1, 4)
    assert (startup.stage, startup.done, startup.is_ready) == ("map", 0.25, False)
    startup.run(lambda report: workspace, pytest.fail)
    assert startup.is_ready and startup.workspace is workspace


def test_an_error_ends_the_server() -> None:
    def fail(report: object) -> Workspace:
        raise ValueError("vectors of the items must be finite")

    address = ListenAddress.bind("127.0.0.1", 0)
    with pytest.raises(ValueError, match="must be finite"):
        serve(fail, address, (), lambda: None)
