"""Bodies of requests, received without blocking other clients and without filling the memory."""

from __future__ import annotations

from tempfile import SpooledTemporaryFile

import anyio
from starlette.requests import Request

from bitfold.errors import BitfoldError

BODY_SECONDS = 60.0
"""Time for the body of a request."""

MAX_WAITING_BYTES = 2 << 30
"""Maximum size of all bodies together that are being received or wait for their turn."""

_MAX_BYTES_IN_MEMORY = 1 << 16
"""Longer bodies are written to a temporary file."""


class SlowClientError(BitfoldError):
    """A client sent its request too slowly."""

    def __init__(self) -> None:
        super().__init__(f"The body did not arrive within {BODY_SECONDS:g} seconds.")


class OverloadedError(BitfoldError):
    """Too many uploads at once."""

    def __init__(self) -> None:
        super().__init__("There are too many uploads at once; try again later.")


class ReceivedBody:
    """The body of a request, in a temporary file if it is long.

    Parameters
    ----------
    ledger
        Counts the bytes of all bodies of the server.
    """

    def __init__(self, ledger: BodyLedger) -> None:
        self._ledger = ledger
        self._n_bytes = 0
        self._file = SpooledTemporaryFile(_MAX_BYTES_IN_MEMORY)  # noqa: SIM115

    async def receive(self, request: Request) -> None:
        """Receive the body.

        Parameters
        ----------
        request
            The request.

        Raises
        ------
        SlowClientError
            If the body does not arrive in time.
        OverloadedError
            If the bodies of all clients together are too long.
        starlette.requests.ClientDisconnect
            If the client hangs up.
        """
        try:
            with anyio.fail_after(BODY_SECONDS):
                async for chunk in request.stream():
                    self._append(chunk)
        except TimeoutError:
            raise SlowClientError from None

    def read(self) -> bytes:
        """Return the body."""
        self._file.seek(0)
        return self._file.read()

    def _append(self, chunk: bytes) -> None:
        self._n_bytes += len(chunk)
        self._ledger.n_bytes += len(chunk)
        if self._ledger.n_bytes > MAX_WAITING_BYTES:
            raise OverloadedError
        try:
            self._file.write(chunk)
        except OSError:  # the disk is full
            raise OverloadedError from None

    def __enter__(self) -> ReceivedBody:
        return self

    def __exit__(self, *_: object) -> None:
        self._ledger.n_bytes -= self._n_bytes
        self._file.close()


class BodyLedger:
    """The number of bytes of all bodies of a server that are not handled yet."""

    def __init__(self) -> None:
        self.n_bytes = 0
