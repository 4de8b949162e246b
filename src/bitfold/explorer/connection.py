"""Connections that end when a client is too slow, and never end in a traceback."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 15.0
"""Time for the head of a request, from its first byte or the start of the connection."""

WRITE_SECONDS = 30.0
"""Time for which a client may leave its response unread once the buffers are full."""


class TimedConnection(H11Protocol):
    """One connection; uvicorn itself has no limit for unfinished requests and unread responses."""

    _head_timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start to wait for a request."""
        super().connection_made(transport)
        self._update_head_timer()

    def data_received(self, data: bytes) -> None:
        """Handle data from the client."""
        super().data_received(data)
        self._update_head_timer()

    def on_response_complete(self) -> None:
        """Start to wait for the next request."""
        self._stop_head_timer()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_head_timer()
        self._stop_write_timer()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Start to wait for the client to read."""
        super().pause_writing()
        self._stop_write_timer()
        self._write_timer = self.loop.call_later(WRITE_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop waiting for the client to read."""
        self._stop_write_timer()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Reject a malformed request; during or after a response only the connection can end."""
        try:
            super().send_400_response(msg)
        except h11.LocalProtocolError:
            self.transport.abort()

    def _update_head_timer(self) -> None:
        """Start the time limit, which applies while no request is being answered."""
        cycle: Any = self.cycle  # None before the first request
        if cycle is not None and not cycle.response_complete:
            self._stop_head_timer()
        elif self._head_timer is None and not self.transport.is_closing():
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None
