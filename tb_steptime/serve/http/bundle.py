"""The built front end: the entry that TensorBoard imports, and the parts that it loads when a view is opened.

static/index.js                 the entry
static/parts/NAME-HASH.js       what several views share, and each view by itself
"""

from __future__ import annotations

import re
from pathlib import Path

STATIC = Path(__file__).resolve().parents[2] / "static"
#: The folder of the parts, in addresses as on disk.
PARTS = "parts"

#: Nothing else is served: no folder, no other file.
_PART_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}\.js", re.ASCII)


def entry() -> bytes:
    file = STATIC / "index.js"
    return file.read_bytes() if file.is_file() else _NOT_BUILT


def part(name: str) -> bytes | None:
    """None where there is no such part: a page that was opened before an update asks for those of another release."""
    file = STATIC / PARTS / name
    return file.read_bytes() if _PART_NAME.fullmatch(name) and file.is_file() else None


def report_program() -> bytes | None:
    file = STATIC / "report.js"
    return file.read_bytes() if file.is_file() else None


#: What a source checkout shows before its front end was built.
_NOT_BUILT = b"""\
export function render() {
  const message = document.createElement("p");
  message.style.cssText = "font: 16px/1.5 system-ui, sans-serif; margin: 48px; max-width: 40em";
  message.textContent =
    "Step Insights is installed without its front end. In the source folder, run `make demo` or `pip install .`, " +
    "which build it, and reload this page.";
  document.body.append(message);
}
"""
