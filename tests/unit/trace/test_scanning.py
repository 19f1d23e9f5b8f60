"""Where the text of events is cut."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_steptime.trace.kineto import scanning

#: Pieces of which cuts, braces that are no cuts, and long space between events are made.
PIECES = st.sampled_from(["{", "}", ",", " ", "\n", '"', "x", "},{", '"args": {', "}, " + " " * 70])


@given(st.lists(PIECES, max_size=40).map("".join), st.sampled_from([8, 100, scanning.TAIL_BYTES]))
def test_text_is_cut_at_the_last_brace_behind_a_brace_and_a_comma(text: str, tail_bytes: int) -> None:
    braces = [place for place, sign in enumerate(text) if sign == "{"]
    cuts = [cut.span() for place in braces if (cut := re.search(r"\}\s*,\s*\Z", text[:place]))]
    in_tail = [cut for cut in cuts if cut[0] >= len(text) - tail_bytes]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scanning, "TAIL_BYTES", tail_bytes)
        found = scanning.last_cut(text.encode())
    assert found == next(((start + 1, end) for start, end in reversed(in_tail or cuts)), None)
