"""Downloads from a local server that is slow, breaks off, or has the wrong content."""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pooch
import pytest

from bitfold._progress import ignore_progress
from bitfold.errors import DownloadError, FormatError, MissingDataError
from bitfold.io import download
from bitfold.io.download import RemoteFile, fetch, find_file, find_or_download

CONTENT = np.random.default_rng(0).bytes(600_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class WebServer(ThreadingHTTPServer):
    """Serves one content under every name except /missing."""

    content = CONTENT
    delay_seconds = 0.0

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), RequestHandler)
        self.truncations: list[int] = []  # bytes after which each of the next answers breaks off
        self.n_requests = 0

    def handle_error(self, *args: Any) -> None:
        """Ignore clients that disconnect."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/"


class RequestHandler(BaseHTTPRequestHandler):
    server: WebServer

    def do_GET(self) -> None:
        self.server.n_requests += 1
        time.sleep(self.server.delay_seconds)
        if self.path == "/missing":
            self.send_error(404)
            return
        body = self.server.content
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        truncations = self.server.truncations
        self.wfile.write(body[: truncations.pop(0)] if truncations else body)

    def log_message(self, *args: Any) -> None:
        """Log nothing."""


@contextmanager
def serve(server: socketserver.TCPServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def web() -> Iterator[WebServer]:
    server = WebServer()
    with serve(server):
        yield server


@pytest.fixture(autouse=True)
def _no_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "N_RETRIES", 0)


def list_files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_file())


def test_progress_is_reported(web: WebServer, tmp_path: Path) -> None:
    reports: list[tuple[str, int, int]] = []
    fetch(RemoteFile(web.url + "file", SHA256), tmp_path / "file", lambda *x: reports.append(x))
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert list_files(tmp_path) == ["file"]
    done = [report[1] for report in reports]
    assert done == sorted(set(done))
    assert len(done) > 1
    assert reports[-1] == ("file", len(CONTENT), len(CONTENT))


def test_nothing_is_printed_or_logged(
    web: WebServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    level = pooch.get_logger().level
    fetch(RemoteFile(web.url + "file", SHA256), tmp_path / "file", ignore_progress)
    assert capfd.readouterr() == ("", "")
    assert pooch.get_logger().level == level != logging.WARNING


def test_broken_connection_is_retried(
    web: WebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "N_RETRIES", 1)
    web.truncations = [1000]
    fetch(RemoteFile(web.url + "file", SHA256), tmp_path / "file", ignore_progress)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert web.n_requests == 2


@pytest.mark.parametrize("n_bytes", [0, 1000])
def test_broken_connection_leaves_nothing(n_bytes: int, web: WebServer, tmp_path: Path) -> None:
    web.truncations = [n_bytes]
    with pytest.raises(DownloadError):
        fetch(RemoteFile(web.url + "file", SHA256), tmp_path / "file", ignore_progress)
    assert list_files(tmp_path) == []


def test_wrong_checksum_leaves_nothing(web: WebServer, tmp_path: Path) -> None:
    remote = RemoteFile(web.url + "file", "0" * 64)
    with pytest.raises(FormatError, match=f"0{{64}}.*{SHA256}"):
        fetch(remote, tmp_path / "file", ignore_progress)
    assert list_files(tmp_path) == []


def test_unknown_checksum_is_a_warning(web: WebServer, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="was not verified"):
        fetch(RemoteFile(web.url + "file"), tmp_path / "file", ignore_progress)
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_silent_server_is_given_up(
    web: WebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "TIMEOUT_SECONDS", 0.1)
    web.delay_seconds = 0.5
    with pytest.raises(DownloadError, match="timed out"):
        fetch(RemoteFile(web.url + "file", SHA256), tmp_path / "file", ignore_progress)
    assert list_files(tmp_path) == []


@pytest.fixture
def online(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BITFOLD_OFFLINE")
    monkeypatch.delenv("BITFOLD_DATA", raising=False)


@pytest.mark.usefixtures("online")
def test_file_is_looked_for_before_it_is_downloaded(
    web: WebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = RemoteFile(web.url + "file", SHA256)
    path = find_or_download("set", remote)
    assert path == tmp_path / "cache" / "set" / "file"
    assert find_or_download("set", remote) == path
    (tmp_path / "data" / "set").mkdir(parents=True)
    (tmp_path / "data" / "set" / "file").write_bytes(b"mine")
    monkeypatch.setenv("BITFOLD_DATA", str(tmp_path / "data"))
    assert find_or_download("set", remote).read_bytes() == b"mine"
    assert web.n_requests == 1


def test_preferred_name_is_found_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITFOLD_DATA", str(tmp_path))
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "2").touch()
    (tmp_path / "1").touch()
    assert find_file(["a", ""], ["1", "2"]) == tmp_path / "1"
    assert find_file(["a"], ["1", "2"]) == tmp_path / "a" / "2"
    assert find_file(["b"], ["1", "2"]) is None


def find_closed_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.mark.usefixtures("online")
def test_error_without_network_says_where_to_put_the_file(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{find_closed_port()}/file"
    with pytest.raises(MissingDataError) as caught:
        find_or_download("set", RemoteFile(url))
    reason = os.strerror(errno.ECONNREFUSED)
    for part in ("set/file", "BITFOLD_DATA", "not set", str(tmp_path / "cache"), url, reason):
        assert part in str(caught.value)
    assert isinstance(caught.value.__cause__, DownloadError)
    assert list((tmp_path / "cache" / "set").iterdir()) == []


@pytest.mark.usefixtures("online")
def test_missing_remote_file_is_reported(web: WebServer) -> None:
    with pytest.raises(MissingDataError, match="404"):
        find_or_download("set", RemoteFile(web.url + "missing"))


def test_forbidden_downloads_are_not_tried(web: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    remote = RemoteFile(web.url + "file", SHA256)
    with pytest.raises(MissingDataError, match="BITFOLD_OFFLINE is set"):
        find_or_download("set", remote)
    monkeypatch.setenv("BITFOLD_OFFLINE", "0")
    with pytest.raises(MissingDataError, match="download=False"):
        find_or_download("set", remote, download=False)
    assert web.n_requests == 0


class FtpServer(socketserver.ThreadingTCPServer):
    """The commands of FTP that a client needs to download one file."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), FtpSession)


class FtpSession(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        self.reply("220 hello")
        for line in self.rfile:
            command, _, argument = line.decode().strip().partition(" ")
            self.answer(command, argument)
            if command == "QUIT":
                return

    def reply(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())

    def answer(self, command: str, argument: str) -> None:
        fixed = {"USER": "331 name", "PASS": "230 welcome", "TYPE": "200 ok", "QUIT": "221 bye"}
        if command == "PASV":
            self.data = socket.create_server(("127.0.0.1", 0))
            high, low = divmod(self.data.getsockname()[1], 256)
            self.reply(f"227 Entering (127,0,0,1,{high},{low})")
        elif command == "RETR" and argument == "/folder/file":
            self.reply("150 sending")
            with self.data, self.data.accept()[0] as connection:
                connection.sendall(CONTENT)
            self.reply("226 done")
        elif command == "RETR":
            self.data.close()
            self.reply("550 no such file")
        else:
            self.reply(fixed.get(command, "502 unknown command"))


def test_ftp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = FtpServer()
    # pooch takes the port of FTP from its own parameter, not from the URL.
    connect = pooch.FTPDownloader
    port = server.server_address[1]
    monkeypatch.setattr(pooch, "FTPDownloader", lambda **options: connect(port=port, **options))
    reports: list[tuple[str, int, int]] = []
    with serve(server):
        url = "ftp://127.0.0.1/folder/"
        fetch(RemoteFile(url + "file", SHA256), tmp_path / "file", lambda *x: reports.append(x))
        with pytest.raises(DownloadError, match="550 no such file"):
            fetch(RemoteFile(url + "other", SHA256), tmp_path / "other", ignore_progress)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert reports[-1] == ("file", len(CONTENT), 0)
    assert list_files(tmp_path) == ["file"]
