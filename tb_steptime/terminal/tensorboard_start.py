"""Whether the installed TensorBoard can start: its releases up to 2.20 need what newer setuptools no longer have.

Without `pkg_resources` such a TensorBoard ends with a ModuleNotFoundError before it looks for any plugin, so only the
command line can say why.
"""

from __future__ import annotations

import importlib.util
import re
from importlib import metadata

#: The first release of TensorBoard that does without `pkg_resources`.
_INDEPENDENT = (2, 21)


def why_it_cannot_start() -> str | None:
    """Returns what is wrong and how to fix it, or None where no problem is known or TensorBoard is not installed."""
    try:
        installed = metadata.version("tensorboard")
    except metadata.PackageNotFoundError:
        return None
    numbers = re.match(r"(\d+)\.(\d+)", installed)
    independent = numbers is None or (int(numbers[1]), int(numbers[2])) >= _INDEPENDENT
    if independent or importlib.util.find_spec("pkg_resources") is not None:
        return None
    return (
        f"TensorBoard {installed} cannot start here: it imports pkg_resources, which setuptools 82 and later do not "
        "have. Either pip install 'tensorboard>=2.21' or pip install 'setuptools<82'."
    )
