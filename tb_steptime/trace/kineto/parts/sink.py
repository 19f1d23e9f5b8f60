"""Events of a file, or of a part of it -> columns, and counts of what was wrong with them."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from tb_steptime.trace.kineto.categories import arrows_to_devices
from tb_steptime.trace.kineto.columns import Columns
from tb_steptime.trace.kineto.metadata import Metadata
from tb_steptime.trace.kineto.native.blocks import ScannedBlocks, scanner_type
from tb_steptime.trace.kineto.notes import Damage
from tb_steptime.trace.kineto.rows import EventBlock, RowDecoder, only_wanted


class ReadEvents(msgspec.Struct):
    """The result of a walk. damage: without what only tables reveal; event_count: of every phase."""

    columns: Columns
    metadata: Metadata
    damage: Damage
    event_count: int


class Damaged(Exception):
    """The first damage in a file that is not trusted beyond it."""


class EventSink:
    """The sink of a walk. Unless `trusting`, it stops at the first damaged event.

    wanted         which events are kept, by category and name; None for all
    on_events      is called after each block
    first_exact    whether times are read as written, after the first block; None before it
    """

    def __init__(
        self,
        wanted: Callable[[object, str], bool] | None = None,
        trusting: bool = True,
        on_events: Callable[[], None] = lambda: None,
    ) -> None:
        self._wanted = wanted
        self._trusting = trusting
        self._on_events = on_events
        self.decoder = RowDecoder(repairs=trusting)
        self.columns = Columns(times_only=wanted is not None)
        make_scanner = None if wanted else scanner_type()
        self._scanned = ScannedBlocks(make_scanner, self.columns, self.decoder) if make_scanner else None
        self.begin()

    def begin(self) -> None:
        """Resets for another part. Columns and decoder keep what they know from earlier ones."""
        self._metadata = Metadata()
        self._damage = Damage()
        self.event_count = 0
        self.first_exact: bool | None = None
        self.columns.begin()
        self.decoder.repaired_value_count = self.decoder.repaired_string_count = 0

    def result(self) -> ReadEvents:
        damage, columns, decoder = self._damage, self.columns, self.decoder
        damage.timeless_count = columns.timeless_count
        damage.unpaired_end_count = columns.pairs.stray_count
        damage.repaired_value_count = decoder.repaired_value_count
        damage.repaired_string_count = decoder.repaired_string_count
        self._metadata.has_stacks = columns.has_stacks()
        return ReadEvents(columns, self._metadata, damage, self.event_count)

    def events(self, text: bytes) -> bool:
        count = self._scanned.add(text) if self._scanned else None
        if count is None:
            decoded = self.decoder.decode(text) if self._wanted else decoded_for(self.columns, self.decoder, text)
            if not self._take(decoded):
                return False
        else:
            self._count(count)
        if self.columns.labels.of_autograd:
            self.columns.labels.categories |= arrows_to_devices(text)
        return True

    def event(self, text: bytes) -> bool:
        return self._take(self.decoder.decode_loosely(text))

    def lost(self) -> None:
        if not self._trusting:
            raise Damaged
        self._damage.lost_count += 1

    def value(self, key: str, text: bytes) -> None:
        if not self._metadata.add(key, text):
            self._damage.damaged_metadata_count += 1

    def _take(self, block: EventBlock | None) -> bool:
        if block is None:
            return False
        self.columns.add(only_wanted(block, self._wanted) if self._wanted else block)
        self._count(block.event_count)
        return True

    def _count(self, count: int) -> None:
        if self.first_exact is None:
            self.first_exact = self.decoder.exact
        self.event_count += count
        self._on_events()


def decoded_for(columns: Columns, decoder: RowDecoder, text: bytes) -> EventBlock | None:
    """Returns a block of events with everything that its writer recorded, or None as `decode` does."""
    block = decoder.decode(text)
    again = block is not None and not block.full and columns.may_have_more_args(block)
    return decoder.decode_again(text) if again else block
