"""Atomic writes and locks, in the face of errors, kills and forks."""

from __future__ import annotations

import errno
import gc
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.platforms import posix_only

from bitfold.errors import LockedError
from bitfold.io.atomic import acquire_lock, create_folder, remove_lock, replace_atomically

OLD, NEW = b"old", b"new" * 100_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(OLD)
    return path


def write(path: Path, content: bytes = NEW) -> None:
    with replace_atomically(path) as file:
        file.write(content)


def assert_unchanged(path: Path) -> None:
    assert path.read_bytes() == OLD
    assert list(path.parent.iterdir()) == [path]


# Atomic writes


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_failure_at_the_end(
    path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, function: str
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(os if function == "fsync" else Path, function, fail)
    with pytest.raises(type(error)):
        write(path)
    monkeypatch.undo()
    assert_unchanged(path)


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_failure_while_writing(path: Path, error: BaseException) -> None:
    with pytest.raises(type(error)), replace_atomically(path) as file:
        file.write(bytes(100_000))
        assert len(list(path.parent.iterdir())) == 2
        raise error
    assert_unchanged(path)


WRITE_BEYOND_LIMIT = """
import resource, sys
from bitfold.io.atomic import replace_atomically
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    with replace_atomically(sys.argv[1]) as file:
        file.write(bytes(200_000))
except OSError as error:
    sys.exit(error.errno)
"""


@posix_only("a limit on the size of files")
def test_file_size_limit(path: Path) -> None:
    """The system rejects bytes in the middle of a file, as a full disk does."""
    run = subprocess.run([sys.executable, "-c", WRITE_BEYOND_LIMIT, path], check=False)
    assert run.returncode == errno.EFBIG
    assert_unchanged(path)


def test_order_of_syncs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def record_fsync(descriptor: int) -> None:
        status = os.fstat(descriptor)
        is_directory = stat.S_ISDIR(status.st_mode)
        events.append("directory" if is_directory else f"{status.st_size} bytes")
        fsync(descriptor)

    def record_replace(self: Path, target: Path) -> Path:
        events.append("replace")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", record_fsync)
    monkeypatch.setattr(Path, "replace", record_replace)
    write(path)
    directory = ["directory"] if hasattr(os, "O_DIRECTORY") else []  # Windows cannot sync it.
    assert events == [f"{len(NEW)} bytes", "replace", *directory]


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_mode_follows_the_umask(tmp_path: Path, umask: int) -> None:
    old = os.umask(umask)
    try:
        write(tmp_path / "new")
        (tmp_path / "ordinary").write_bytes(b"")
    finally:
        os.umask(old)
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "ordinary").stat().st_mode


@posix_only("file modes")
def test_mode_of_a_private_file_is_kept(path: Path) -> None:
    path.chmod(0o600)
    with replace_atomically(path) as file:
        assert stat.S_IMODE(Path(file.name).stat().st_mode) == 0o600
        file.write(b"secret")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_symbolic_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "there" / "file")
    for _ in range(2):
        write(link)
        assert link.is_symlink()
        assert (tmp_path / "there" / "file").read_bytes() == NEW


def test_longest_name(tmp_path: Path) -> None:
    write(tmp_path / ("x" * 255))
    assert (tmp_path / ("x" * 255)).read_bytes() == NEW


def test_invalid_targets(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="cannot be written: its directory does not exist"):
        write(tmp_path / "none" / "file")
    with pytest.raises(OSError, match="cannot be written: it is a directory or a device"):
        write(tmp_path)
    assert list(tmp_path.iterdir()) == []


@posix_only("named pipes")
def test_pipe_is_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="cannot be written: it is a directory or a device"):
        write(pipe)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


# Locks


def fork(work: Callable[[], None]) -> int:
    """Run a function in a child process; return the id of the process."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return child


def wait_for(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def assert_locked(path: Path) -> None:
    with pytest.raises(LockedError, match=re.escape("It is taken.")):
        acquire_lock(path, "It is taken.")


def test_lock_excludes_other_locks(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    lock = acquire_lock(path, "")
    assert_locked(path)
    lock.release()
    lock.release()
    acquire_lock(path, "").release()
    assert issubclass(LockedError, BlockingIOError)


def test_lock_is_released_by_another_thread(tmp_path: Path) -> None:
    lock = acquire_lock(tmp_path / "lock", "")
    thread = threading.Thread(target=lock.release)
    thread.start()
    thread.join()
    acquire_lock(tmp_path / "lock", "").release()


def test_garbage_collection_releases_a_lock(tmp_path: Path) -> None:
    lock = acquire_lock(tmp_path / "lock", "")
    del lock
    gc.collect()
    acquire_lock(tmp_path / "lock", "").release()


def test_removed_lock_leaves_no_file(tmp_path: Path) -> None:
    lock = acquire_lock(tmp_path / "lock", "")
    remove_lock(lock)
    assert list(tmp_path.iterdir()) == []
    other = acquire_lock(tmp_path / "lock", "")
    remove_lock(lock)  # Not held any more: the file belongs to the other lock.
    assert_locked(tmp_path / "lock")
    remove_lock(other)


def test_stale_lock_file_does_not_lock(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("12345")
    acquire_lock(tmp_path / "lock", "").release()
    assert (tmp_path / "lock").read_text() == "12345"


@posix_only("forks and SIGKILL")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_killed_process_releases_its_lock(tmp_path: Path) -> None:
    path, (out, back) = tmp_path / "lock", os.pipe()

    def hold() -> None:
        _ = acquire_lock(path, "")
        os.write(back, b"!")
        time.sleep(60)

    child = fork(hold)
    assert os.read(out, 1) == b"!"
    assert_locked(path)
    os.kill(child, signal.SIGKILL)
    assert wait_for(child) == -signal.SIGKILL
    os.close(out)
    os.close(back)
    acquire_lock(path, "").release()


@posix_only("forks and SIGKILL")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_child_does_not_share_a_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    lock = acquire_lock(path, "")

    def release() -> None:
        remove_lock(lock)
        assert path.exists()
        assert_locked(path)

    assert wait_for(fork(release)) == 0
    assert_locked(path)
    child = fork(lambda: time.sleep(60))
    lock.release()
    # The child lives on, and does not keep the lock.
    acquire_lock(path, "").release()
    os.kill(child, signal.SIGKILL)
    wait_for(child)


def test_waiting_for_a_lock(tmp_path: Path) -> None:
    lock = acquire_lock(tmp_path / "lock", "")
    acquired: list[float] = []

    def wait() -> None:
        acquire_lock(tmp_path / "lock", "", wait=True).release()
        acquired.append(time.monotonic())

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.2)
    assert not acquired
    released = time.monotonic()
    lock.release()
    thread.join(60)
    assert acquired[0] >= released


def test_a_folder_is_created_once(tmp_path: Path) -> None:
    for _ in range(2):
        create_folder(tmp_path / "own", "an index")
    assert (tmp_path / "own").is_dir()
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError, match="is a file; an index needs a folder of its own"):
        create_folder(tmp_path / "file", "an index")
    with pytest.raises(FileNotFoundError, match=r"absent does not exist\."):
        create_folder(tmp_path / "absent" / "own", "an index")
