"""An address -> the file system of its store, by fsspec and the package that the store needs."""

from __future__ import annotations

import errno
from typing import Any

from tb_steptime.files.problems import RemoteProblem, RemoteRefused, said_plainly

#: The extra of this package that installs what an address needs, by its scheme.
EXTRAS = {
    "s3": "s3",
    "s3a": "s3",
    "gs": "gcs",
    "gcs": "gcs",
    "az": "azure",
    "abfs": "azure",
    "abfss": "azure",
    "adl": "azure",
    "hdfs": "hdfs",
}
#: Schemes of stores in which a written file appears whole; elsewhere it is written under another name and moved.
_PUTS_WHOLE = frozenset(("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "memory"))

#: An `fsspec.AbstractFileSystem`; fsspec has no types, and need not be installed.
System = Any


def scheme_of(url: str) -> str:
    return url.partition("://")[0].lower()


def system_of(url: str, shown: str) -> tuple[System, str]:
    """Returns the file system of an address, and the file's name in it. Raises RemoteProblem."""
    scheme = scheme_of(url)
    try:
        from fsspec.core import url_to_fs

        with said_plainly(shown):
            return _found(url_to_fs, url, shown)
    except ImportError:
        raise _not_installed(scheme, shown) from None


def puts_whole(url: str) -> bool:
    return scheme_of(url) in _PUTS_WHOLE


def limit(system: System, seconds: float) -> dict[str, float]:
    """Returns arguments that limit the time of a call to a store; none for other file systems, which know no limit."""
    return {"timeout": seconds} if getattr(system, "async_impl", False) else {}


def _found(url_to_fs: Any, url: str, shown: str) -> tuple[System, str]:
    try:
        system, inner = url_to_fs(url)
    except ImportError:
        raise _not_installed(scheme_of(url), shown) from None
    except ValueError:
        if scheme_of(url) in EXTRAS:
            hint = "Log in with its own tool, or set its variables, such as AZURE_STORAGE_ACCOUNT_NAME for az://."
            raise RemoteRefused(errno.EACCES, "The store wants an account or a key", hint, shown) from None
        hint = "Known are s3, gs, az, hdfs, and what `fsspec.available_protocols()` lists."
        raise RemoteProblem(errno.EINVAL, f"{scheme_of(url)}:// is no known kind of store", hint, shown) from None
    return system, str(inner)


def _not_installed(scheme: str, shown: str) -> RemoteProblem:
    extra = EXTRAS.get(scheme)
    way = f"pip install 'tb-steptime[{extra}]'" if extra else "pip install fsspec, and what it needs for this store"
    return RemoteProblem(errno.ENOSYS, f"Reading {scheme}:// needs a package that is not installed", f"{way}.", shown)
