"""What can go wrong with a file of a store: each becomes an OSError with the fact, a way out, and no secrets.

The packages of stores raise any kind of error, with whole addresses in their messages. These are never shown: known
kinds of errors get our own words, others the name of their type.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator, Set

#: Names of the errors that the packages of Amazon, Google and Azure raise where no credentials are found or can be
#: renewed.
_NO_CREDENTIALS = frozenset(
    (
        "NoCredentialsError",
        "PartialCredentialsError",
        "CredentialRetrievalError",
        "ProfileNotFound",
        "TokenRetrievalError",
        "UnauthorizedSSOTokenError",
        "DefaultCredentialsError",
        "RefreshError",
        "ClientAuthenticationError",
    )
)


class RemoteProblem(OSError):
    """fact: one sentence without a full stop; hint: the way out. shown: the file's address, without secrets."""

    #: Whether another try may succeed.
    passing = False

    def __init__(self, number: int, fact: str, hint: str, shown: str) -> None:
        super().__init__(number, fact, shown)
        self.fact, self.hint = fact, hint


class RemoteMissing(RemoteProblem, FileNotFoundError):
    """There is no such file."""


class RemoteRefused(RemoteProblem, PermissionError):
    """The store refuses the request, whether or not it knows the user."""


class RemoteLost(RemoteProblem):
    """The connection or the store failed."""

    passing = True


@contextlib.contextmanager
def as_remote_problems(shown: str) -> Iterator[None]:
    """Turns what a store's package raises into a RemoteProblem."""
    try:
        yield
    except RemoteProblem:
        raise
    except Exception as error:  # noqa: BLE001, each store has its own kinds
        raise problem_of(error, shown) from None


def problem_of(error: Exception, shown: str) -> RemoteProblem:
    status = _status(error)
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if kinds & _NO_CREDENTIALS:
        hint = "Log in with the store's own tool, or set its environment variables, as for its command line."
        return RemoteRefused(errno.EACCES, "No valid credentials for this store were found", hint, shown)
    if isinstance(error, FileNotFoundError) or status == 404:
        return RemoteMissing(errno.ENOENT, "There is no such file", "Check the address.", shown)
    if isinstance(error, PermissionError) or status in (401, 403) or getattr(error, "errno", 0) == errno.EACCES:
        hint = "Check with whose credentials you are logged in, and what they may read and write there."
        return RemoteRefused(errno.EACCES, "The store refused access", hint, shown)
    what = "The connection to the store failed" if _is_of_connection(error, kinds) else "The store's package failed"
    hint = "Check the network and try again; what was written until then stays."
    return RemoteLost(errno.EIO, f"{what} ({type(error).__name__})", hint, shown)


def _is_of_connection(error: Exception, kinds: Set[str]) -> bool:
    words = ("Connection", "Timeout", "Payload")
    return isinstance(error, OSError) or any(word in kind for kind in kinds for word in words)


def _status(error: Exception) -> int | None:
    """Returns the HTTP status of an error, if it has one."""
    for name in ("status", "status_code", "code"):
        value = getattr(error, name, None)
        if isinstance(value, int):
            return value
        if isinstance(value, str) and value.isdecimal():
            return int(value)
    return None
