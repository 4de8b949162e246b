"""Where the explorer listens; nothing heavy is imported to find out whether it can."""

from __future__ import annotations

import ipaddress
import secrets
import socket
from dataclasses import dataclass

BACKLOG = 2048
"""Connections that may wait to be accepted."""


@dataclass(frozen=True)
class Place:
    """Where the explorer listens, and the token that opens it."""

    listener: socket.socket
    host: str
    token: str

    @classmethod
    def bind(cls, host: str, port: int) -> Place:
        """Take an address; port 0 is any free one."""
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(
                host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            listener = socket.socket(family, kind, protocol)
            try:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listener.bind(address)
                listener.listen(BACKLOG)
            except BaseException:
                listener.close()
                raise
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise OSError(f"{host}:{port} cannot be listened on: {reason}.") from None
        return cls(listener, host, secrets.token_urlsafe(24))

    @property
    def port(self) -> int:
        """The port that was taken."""
        port: int = self.listener.getsockname()[1]
        return port

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return ipaddress.ip_address(self.listener.getsockname()[0].split("%")[0]).is_loopback

    @property
    def url(self) -> str:
        """The address to open."""
        bound = self.listener.getsockname()[0]
        anywhere = ipaddress.ip_address(bound.split("%")[0]).is_unspecified
        name = socket.gethostname() if anywhere else self.host
        return f"http://{f'[{name}]' if ':' in name else name}:{self.port}/?token={self.token}"
