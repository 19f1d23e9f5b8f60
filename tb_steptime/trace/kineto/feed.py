"""The text of a file that has been read but not yet consumed."""

from __future__ import annotations

from collections.abc import Iterator

from tb_steptime.trace.kineto.scanning import skip_space


class Feed:
    """Grows by chunks at its end and is consumed from its beginning.

    goes_on     the chunks are a part of a file, and end with the brace that opens the next part
    end_count   how often more text was requested after the last chunk
    """

    def __init__(self, chunks: Iterator[bytes] | Iterator[memoryview], goes_on: bool = False) -> None:
        self.text = b""
        self.goes_on = goes_on
        self.end_count = 0
        self._chunks = chunks

    def more(self) -> bool:
        """Add the next chunk; False at the end of the file, or of the part."""
        chunk = next(self._chunks, None)
        self.text += chunk or b""
        self.end_count += chunk is None
        return chunk is not None

    def double(self) -> bool:
        """Read until the text is twice as long, so that rescanning after each doubling costs no more than twice the
        length.

        False at the end of the file.
        """
        size = len(self.text)
        while len(self.text) < 2 * size and self.more():
            pass
        return len(self.text) > size

    def take(self, size: int) -> bytes:
        taken, self.text = self.text[:size], self.text[size:]
        return taken

    def drop(self, size: int) -> None:
        """As `take`, without a copy of the removed text."""
        self.text = self.text[size:]

    def next_sign(self) -> bytes:
        """The next byte that is not a space, comma or zero; empty at the end of the file."""
        while True:
            self.drop(skip_space(self.text))
            if self.text or not self.more():
                return self.text[:1]
