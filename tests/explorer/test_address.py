"""The address that the explorer listens on."""

from __future__ import annotations

import socket

import pytest

from bitfold.explorer.address import ListenAddress


def test_address_of_this_machine() -> None:
    address = ListenAddress.bind("localhost", 0)
    with address.listener:
        assert address.loopback
        assert address.url == f"http://localhost:{address.port}/?token={address.token}"
        assert len(address.token) >= 32
        with socket.create_connection(("localhost", address.port), 5):
            pass


def test_address_of_all_networks_has_a_name_to_open() -> None:
    address = ListenAddress.bind("0.0.0.0", 0)
    with address.listener:
        assert not address.loopback
        assert socket.gethostname() in address.url


def test_address_in_use_is_an_error() -> None:
    address = ListenAddress.bind("127.0.0.1", 0)
    with address.listener, pytest.raises(OSError, match=rf"127\.0\.0\.1:{address.port}: "):
        ListenAddress.bind("127.0.0.1", address.port)
    for host, port in ("no.such.host.invalid", 0), ("127.0.0.1", 99_999):
        with pytest.raises(OSError, match=f"Cannot listen on {host}:{port}: "):
            ListenAddress.bind(host, port)
