"""Downloads from a server of our own that breaks off, forgets, lies or is not there."""

from __future__ import annotations

import hashlib
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bitfold.errors import DownloadError, FormatError, MissingDataError
from bitfold.io import data_files, download
from bitfold.io.download import Remote, fetch

CONTENT = np.random.default_rng(0).bytes(300_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
HALF = 150_000


class Web(ThreadingHTTPServer):
    """Serves one content under any name but /missing; what it does wrong can be set."""

    content = CONTENT
    tag = '"first"'
    honors_range = True
    breaks: list[int]
    """After how many bytes of its body each of the next answers breaks off."""
    seconds = 0.0
    asked: list[str | None]
    """The Range of every request."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.breaks, self.asked = [], []

    def handle_error(self, *about: Any) -> None:
        """A client that went away is no error here."""

    @property
    def place(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/"


class Answer(BaseHTTPRequestHandler):
    server: Web

    def do_GET(self) -> None:
        web, begins = self.server, 0
        wanted = self.headers.get("Range")
        web.asked.append(wanted)
        time.sleep(web.seconds)
        if self.path == "/missing":
            self.send_error(404)
            return
        same = self.headers.get("If-Range") in (None, web.tag)
        if wanted and web.honors_range and same:
            begins = int(wanted.removeprefix("bytes=").removesuffix("-"))
        body = web.content[begins:]
        if not body:
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(web.content)}")
            self.end_headers()
            return
        self.send_response(206 if begins else 200)
        if begins:
            last = len(web.content) - 1
            self.send_header("Content-Range", f"bytes {begins}-{last}/{len(web.content)}")
        self.send_header("Content-Length", str(len(body)))
        if web.tag:
            self.send_header("ETag", web.tag)
        self.end_headers()
        self.wfile.write(body[: web.breaks.pop(0)] if web.breaks else body)

    def log_message(self, *about: Any) -> None:
        """Say nothing."""


@contextmanager
def serving(server: socketserver.TCPServer) -> Iterator[None]:
    server.allow_reuse_address = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def web() -> Iterator[Web]:
    server = Web()
    with serving(server):
        yield server


def silent(*report: Any) -> None:
    """Show no progress."""


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_file())


def test_a_file_arrives_whole(web: Web, tmp_path: Path) -> None:
    reports: list[tuple[str, int, int]] = []
    fetch(Remote(web.place + "file", SHA256), tmp_path / "file", lambda *x: reports.append(x))
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert left_in(tmp_path) == ["file"]
    done = [report[1] for report in reports]
    assert done == sorted(set(done))
    assert reports[-1] == ("file", len(CONTENT), len(CONTENT))


@pytest.mark.parametrize("sha256", [SHA256, None])
def test_a_broken_connection_is_taken_up_where_it_broke(
    web: Web, sha256: str | None, tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    web.breaks = [HALF, 1000]
    fetch(Remote(web.place + "file", sha256), tmp_path / "file", silent)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert web.asked == [None, f"bytes={HALF}-", f"bytes={HALF + 1000}-"]


def test_a_later_call_resumes(web: Web, tmp_path: Path) -> None:
    remote, path = Remote(web.place + "file", SHA256), tmp_path / "file"
    web.breaks = [HALF, 0]
    with pytest.raises(DownloadError, match=f"broke off; {HALF} bytes are kept"):
        fetch(remote, path, silent)
    assert not path.exists()
    web.asked.clear()
    fetch(remote, path, silent)
    assert web.asked == [f"bytes={HALF}-"]
    assert path.read_bytes() == CONTENT
    assert left_in(tmp_path) == ["file"]


def test_a_server_that_ignores_ranges_starts_over(web: Web, tmp_path: Path) -> None:
    web.honors_range = False
    web.breaks = [HALF]
    fetch(Remote(web.place + "file", SHA256), tmp_path / "file", silent)
    assert web.asked == [None, f"bytes={HALF}-"]
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_file_that_changed_meanwhile_starts_over(web: Web, tmp_path: Path) -> None:
    remote, path = Remote(web.place + "file"), tmp_path / "file"
    web.breaks = [HALF, 0]
    with pytest.raises(DownloadError):
        fetch(remote, path, silent)
    web.content, web.tag = CONTENT[::-1], '"second"'
    with pytest.warns(UserWarning, match="sha256"):
        fetch(remote, path, silent)
    assert path.read_bytes() == CONTENT[::-1]


def test_what_may_be_of_another_file_is_not_continued(
    web: Web, tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    """Neither the hash nor the version is known."""
    web.tag = ""
    web.breaks = [HALF]
    fetch(Remote(web.place + "file"), tmp_path / "file", silent)
    assert web.asked == [None, None]
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_whole_file_that_was_not_yet_renamed_is_not_fetched_again(
    web: Web, tmp_path: Path
) -> None:
    (tmp_path / "file.part").write_bytes(CONTENT)
    fetch(Remote(web.place + "file", SHA256), tmp_path / "file", silent)
    assert web.asked == [f"bytes={len(CONTENT)}-"]
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_what_is_longer_than_the_file_starts_over(web: Web, tmp_path: Path) -> None:
    (tmp_path / "file.part").write_bytes(CONTENT + b"more")
    fetch(Remote(web.place + "file", SHA256), tmp_path / "file", silent)
    assert web.asked == [f"bytes={len(CONTENT) + 4}-", None]
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_an_answer_without_a_byte_leaves_nothing(web: Web, tmp_path: Path) -> None:
    web.breaks = [0]
    with pytest.raises(DownloadError, match=r"^the connection broke off$"):
        fetch(Remote(web.place + "file", SHA256), tmp_path / "file", silent)
    assert left_in(tmp_path) == []


def test_a_wrong_hash_leaves_nothing(web: Web, tmp_path: Path) -> None:
    remote = Remote(web.place + "file", "0" * 64)
    with pytest.raises(FormatError, match=f"must have the sha256 0+, got {SHA256}; .* removed"):
        fetch(remote, tmp_path / "file", silent)
    assert left_in(tmp_path) == []


def test_an_unknown_hash_is_recorded_and_holds_from_then_on(web: Web, tmp_path: Path) -> None:
    remote, path = Remote(web.place + "file"), tmp_path / "file"
    with pytest.warns(UserWarning, match="is not known beforehand"):
        fetch(remote, path, silent)
    assert (tmp_path / "file.sha256").read_text() == f"{SHA256}  file\n"
    path.unlink()
    fetch(remote, path, silent)
    path.unlink()
    web.content = CONTENT[::-1]
    with pytest.raises(FormatError, match=f"must have the sha256 {SHA256}"):
        fetch(remote, path, silent)


def test_two_at_once_fetch_once(web: Web, tmp_path: Path) -> None:
    web.seconds = 0.1
    remote = Remote(web.place + "file", SHA256)
    with ThreadPoolExecutor(3) as pool:
        jobs = [pool.submit(fetch, remote, tmp_path / "file", silent) for _ in range(3)]
        for job in jobs:
            job.result()
    assert web.asked == [None]
    assert left_in(tmp_path) == ["file"]


def test_a_server_that_falls_silent_is_given_up(
    web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "TIMEOUT", 0.1)
    web.seconds = 0.5
    with pytest.raises(DownloadError, match="timed out"):
        fetch(Remote(web.place + "file", SHA256), tmp_path / "file", silent)
    assert left_in(tmp_path) == []


def a_closed_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


@pytest.fixture
def allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BITFOLD_OFFLINE")
    monkeypatch.delenv("BITFOLD_DATA", raising=False)


@pytest.mark.usefixtures("allowed")
def test_a_file_is_found_before_it_is_fetched(
    web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = Remote(web.place + "file", SHA256)
    path = data_files.located("set", remote)
    assert path == tmp_path / "cache" / "set" / "file"
    assert data_files.located("set", remote) == path
    (tmp_path / "data" / "set").mkdir(parents=True)
    (tmp_path / "data" / "set" / "file").write_bytes(b"mine")
    monkeypatch.setenv("BITFOLD_DATA", str(tmp_path / "data"))
    assert data_files.located("set", remote).read_bytes() == b"mine"
    assert len(web.asked) == 1


@pytest.mark.usefixtures("allowed")
def test_without_a_network_the_error_says_what_to_do(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{a_closed_port()}/file"
    start = time.perf_counter()
    with pytest.raises(MissingDataError) as error:
        data_files.located("set", Remote(url))
    assert time.perf_counter() - start < 4
    sentence = str(error.value)
    for part in ("set/file", "BITFOLD_DATA", "not set", str(tmp_path / "cache"), url, "refused"):
        assert part in sentence
    assert list((tmp_path / "cache" / "set").iterdir()) == []


@pytest.mark.usefixtures("allowed")
def test_a_file_that_is_not_there(web: Web) -> None:
    with pytest.raises(MissingDataError, match=r"missing \(the server answers 404 Not Found\)\.$"):
        data_files.located("set", Remote(web.place + "missing"))


def test_nothing_is_fetched_against_the_user_s_will(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = Remote(web.place + "file", SHA256)
    with pytest.raises(MissingDataError, match="BITFOLD_OFFLINE is set"):
        data_files.located("set", remote)
    monkeypatch.setenv("BITFOLD_OFFLINE", "0")
    with pytest.raises(MissingDataError, match="download=False"):
        data_files.located("set", remote, download=False)
    assert web.asked == []


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("BITFOLD_CACHE", str(tmp_path / "file"))
    monkeypatch.setenv("BITFOLD_OFFLINE", "")
    with pytest.raises(OSError, match="BITFOLD_CACHE must name a folder that can be written"):
        data_files.located("set", Remote("http://127.0.0.1/file"))


class Ftp(socketserver.ThreadingTCPServer):
    """As much of an FTP server as a client needs to fetch one file."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Session)
        self.breaks: list[int] = []
        self.asked: list[int] = []

    @property
    def place(self) -> str:
        return f"ftp://127.0.0.1:{self.server_address[1]}/folder/"


class Session(socketserver.StreamRequestHandler):
    server: Ftp

    def handle(self) -> None:
        self.begins = 0
        self.say("220 hello")
        for line in self.rfile:
            verb, _, argument = line.decode().strip().partition(" ")
            self.answer(verb, argument)

    def say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())

    def answer(self, verb: str, argument: str) -> None:
        fixed = {"USER": "331 name?", "PASS": "230 welcome", "TYPE": "200 fine"}
        if verb == "SIZE" and argument != "/folder/file":
            self.say("550 no such file")
        elif verb == "SIZE":
            self.say(f"213 {len(CONTENT)}")
        elif verb == "PASV":
            self.data = socket.create_server(("127.0.0.1", 0))
            high, low = divmod(self.data.getsockname()[1], 256)
            self.say(f"227 Entering (127,0,0,1,{high},{low})")
        elif verb == "REST":
            self.begins = int(argument)
            self.say("350 fine")
        elif verb == "RETR":
            self.send()
        else:
            self.say(fixed.get(verb, "502 what?"))

    def send(self) -> None:
        self.server.asked.append(self.begins)
        body = CONTENT[self.begins :]
        self.say("150 here it comes")
        with self.data, self.data.accept()[0] as connection:
            connection.sendall(body[: self.server.breaks.pop(0)] if self.server.breaks else body)
        self.say("226 done")


def test_ftp_is_resumed_as_well(tmp_path: Path) -> None:
    server = Ftp()
    server.breaks = [HALF]
    with serving(server):
        fetch(Remote(server.place + "file", SHA256), tmp_path / "file", silent)
        with pytest.raises(DownloadError, match="550 no such file"):
            fetch(Remote(server.place + "other", SHA256), tmp_path / "other", silent)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert server.asked == [0, HALF]
    assert left_in(tmp_path) == ["file"]


def test_a_bar_is_shown_on_a_terminal_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from bitfold.io.progress import shown

    def work(told: Callable[[str, int, int], None] | None) -> str:
        with shown(told) as report:
            report("file", 1, 2)
            report("file", 2, 2)
        return capsys.readouterr().err

    assert work(None) == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert "file" in work(None)
    told: list[Any] = []
    assert work(lambda *x: told.append(x)) == ""
    assert told == [("file", 1, 2), ("file", 2, 2)]
