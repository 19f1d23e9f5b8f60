"""Is a tag a release? Its version is that of the package, the changelog describes it, and nothing waits as unreleased.

python -m tools.release v0.3.0    prints what the changelog says of the release, or what is wrong
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from build_backend.description import version

ROOT = Path(__file__).resolve().parent.parent


def section(changelog: str, title: str) -> str:
    """What stands under a heading of the second level, without it; empty where there is no such heading.

    >>> section("# Changelog\\n\\n## 2.0\\n\\n- New.\\n\\n## 1.0\\n\\n- First.\\n", "2.0")
    '- New.'
    """
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else ""


def problems(tag: str) -> list[str]:
    """The reasons why this tag must not be released, one sentence each."""
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    wrong = {
        f"The tag is {tag}, and the version in tb_steptime/__init__.py is {version()}.": tag != f"v{version()}",
        f"CITATION.cff has another version than {version()}.": not cited or cited[1] != version(),
        f"CHANGELOG.md has nothing under {version()}.": not section(changelog, version()),
        "CHANGELOG.md has lines under Unreleased: move them under the version.": bool(section(changelog, "Unreleased")),
    }
    return [sentence for sentence, is_wrong in wrong.items() if is_wrong]


def main(arguments: list[str]) -> int:
    (tag,) = arguments
    wrong = problems(tag)
    if wrong:
        print("\n".join(wrong), file=sys.stderr)
        return 1
    print(section((ROOT / "CHANGELOG.md").read_text("utf-8"), version()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
