"""Files that a reader sees either as they were or whole, and temporary folders. A process removes what it holds when it
ends; what a killed process left, the next one removes.

    a process   |--- holds a lock on its folder ---|  killed: the lock is gone, the folder is not
    the next                                           |- takes the lock -|- removes the folder -|

The kernel gives up a lock with its process, however that ended; process IDs are not used, since they are reused and
mean nothing in another container. Where a file system has no locks, nothing of another process is removed.
"""

from __future__ import annotations

import atexit
import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows: files cannot be removed while they are open
    fcntl = None  # type: ignore[assignment]

#: Prefix of the folders' names, which nothing else has: a user may unpack `tb_steptime-0.3.0.tar.gz` beside them.
#: Releases up to 0.2 wrote "tb_steptime." and held no lock.
PREFIX = "tb_steptime-temporary-"


def unnamed_file(*, in_memory: bool) -> IO[bytes]:
    """Opens an unbuffered file without a name, in memory if wanted and supported by the system. Raises OSError."""
    if in_memory and hasattr(os, "memfd_create"):
        return open(os.memfd_create("tb_steptime"), "w+b", 0)
    import tempfile  # slow to import, and not every process needs a file

    return tempfile.TemporaryFile(prefix="tb_steptime.", buffering=0)


class OwnFolder:
    """A new folder below the temporary one, until `remove` or the end of the process. Raises OSError."""

    def __init__(self, purpose: str) -> None:
        import tempfile  # slow to import, and not every process needs a folder

        while True:
            self.path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{purpose}."))
            self._lock = _opened(self.path)
            if self._lock is None or (_locked(self._lock) and self.path.exists()):
                break
            os.close(self._lock)  # another process took it as a leftover
        atexit.register(self.remove)

    def remove(self) -> None:
        """Remove the folder; a second call does nothing."""
        import shutil

        shutil.rmtree(self.path, ignore_errors=True)
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)
        atexit.unregister(self.remove)


def remove_left_folders() -> None:
    """Removes the folders of this user's processes that were killed."""
    import shutil
    import tempfile

    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if _is_own(folder):
            with _locked_if_unused(folder) as unused:
                if unused:
                    shutil.rmtree(folder, ignore_errors=True)


def remove_left_files(folder: Path, pattern: str) -> None:
    """Removes the files of this pattern in a folder that nobody holds with `hold`."""
    for file in folder.glob(pattern):
        with _locked_if_unused(file) as unused:
            if unused:
                file.unlink(missing_ok=True)


def hold(file: int) -> bool:
    """Hold an open file until it is closed. Returns False if another process has just removed it."""
    return fcntl is None or (_locked(file) and os.fstat(file).st_nlink > 0)


@contextlib.contextmanager
def _locked_if_unused(path: Path) -> Iterator[bool]:
    """Yields whether no process holds this file or folder; the lock is held meanwhile."""
    lock = _opened(path)
    try:
        yield lock is not None and _locked(lock, unknown=False)
    except OSError:
        return  # the file is gone, or not ours to remove
    finally:
        if lock is not None:
            os.close(lock)


def _opened(path: Path) -> int | None:
    if fcntl is None:
        return None
    try:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None


def _locked(file: int, *, unknown: bool = True) -> bool:
    """Returns whether this process has the lock now. unknown: the result where the file system has no locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return unknown
    return True


def _is_own(folder: Path) -> bool:
    try:
        return folder.lstat().st_uid == os.getuid() and not folder.is_symlink()
    except (OSError, AttributeError):
        return False


@contextlib.contextmanager
def atomic_file(place: Path, suffix: str = "", mode: int = 0o666) -> Iterator[IO[bytes]]:
    """Yields a file to write to, which is moved to its place when the block ends, and removed when the block raises.
    suffix: the end of its temporary name. mode: who may read and write it, as far as the user's umask allows. Raises
    OSError."""
    is_locked = False
    while not is_locked:  # if another process removes the new file as a leftover, try the next name
        temporary = place.parent / f".{os.urandom(8).hex()}{suffix}.tmp"
        try:  # an interrupt may come as soon as the file is there
            with open(temporary, "xb", opener=lambda path, flags: os.open(path, flags, mode)) as file:
                is_locked = hold(file.fileno())
                if is_locked:
                    yield file
            if is_locked:
                os.replace(temporary, place)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise


def remove_left_behind(folder: Path, suffix: str) -> None:
    """Removes files with this suffix that killed processes left unfinished in this folder. No other program uses the
    suffix."""
    remove_left_files(folder, f".{'[0-9a-f]' * 16}{suffix}.tmp")
