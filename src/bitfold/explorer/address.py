"""The address at which the explorer listens; importing this module imports nothing heavy."""

from __future__ import annotations

import ipaddress
import secrets
import socket
from dataclasses import dataclass

BACKLOG = 2048
"""Maximum number of connections that wait to be accepted."""


@dataclass(frozen=True)
class ListenAddress:
    """A listening socket, and the token that opens the page.

    Attributes
    ----------
    listener
        The socket.
    host
        Name or IP address that the server was asked to listen on.
    token
        The secret that requests must contain.

    Examples
    --------
    >>> address = ListenAddress.bind("127.0.0.1", 0)
    >>> address.loopback
    True
    >>> address.listener.close()
    """

    listener: socket.socket
    host: str
    token: str

    @classmethod
    def bind(cls, host: str, port: int) -> ListenAddress:
        """Bind to an address.

        Parameters
        ----------
        host
            Name or IP address.
        port
            Port number; 0 chooses a free one.

        Returns
        -------
        ListenAddress
            With a new random token.

        Raises
        ------
        OSError
            If the address is in use, unknown or not allowed.
        """
        try:
            if not 0 <= port < 1 << 16:  # the system would take the last 16 bits
                raise OverflowError("port must be 0-65535")
            listener = _listen(host, port)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise OSError(f"Cannot listen on {host}:{port}: {reason}.") from None
        return cls(listener, host, secrets.token_urlsafe(24))

    @property
    def port(self) -> int:
        """The port number."""
        return int(self.listener.getsockname()[1])

    @property
    def loopback(self) -> bool:
        """Whether only this machine can connect."""
        return self._ip.is_loopback

    @property
    def url(self) -> str:
        """The URL to open, with the token."""
        name = socket.gethostname() if self._ip.is_unspecified else self.host
        return f"http://{f'[{name}]' if ':' in name else name}:{self.port}/?token={self.token}"

    @property
    def _ip(self) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
        # An IPv6 address may be followed by its scope, as in fe80::1%eth0.
        return ipaddress.ip_address(self.listener.getsockname()[0].split("%")[0])


def _listen(host: str, port: int) -> socket.socket:
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
    return listener
