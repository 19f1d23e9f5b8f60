"""What was repaired or lost while a file was read, as notes with counts."""

from __future__ import annotations

from dataclasses import dataclass

from tb_steptime.text import Note, agreeing, count, phrase


@dataclass
class Damage:
    """Counts of what had to be repaired or left out; normally zero."""

    lost_count: int = 0
    timeless_count: int = 0
    repaired_value_count: int = 0
    repaired_string_count: int = 0
    missing_duration_count: int = 0
    negative_duration_count: int = 0
    unpaired_end_count: int = 0
    duplicate_count: int = 0
    damaged_metadata_count: int = 0
    cut_short: bool = False
    corrupt: bool = False
    unfinished: bool = False


def notes_of(damage: Damage) -> tuple[Note, ...]:
    return tuple(note for note in (_file_note(damage), *_event_notes(damage)) if note)


def _file_note(damage: Damage) -> Note | None:
    """The file as a whole: one note, the most serious."""
    if damage.corrupt:
        cause, effect = "The compressed file is damaged.", "Events after the damage are missing from every figure."
        return Note("corrupt-file", phrase(cause), phrase(effect))
    if damage.cut_short or damage.unfinished:
        cause = "The file ends before the trace does."
        effect = "It is still being written, or its job ended while it wrote: the last events are missing."
        return Note("truncated-file", phrase(cause), phrase(effect))
    return None


def _event_notes(damage: Damage) -> list[Note | None]:
    return [
        _counted(
            "lost-events",
            damage.lost_count + damage.timeless_count,
            "[{count}] (event|events) could not be read.",
            "(It is|They are) missing from every figure.",
        ),
        _counted(
            "duplicate-events",
            damage.duplicate_count,
            "[{count}] (event was|events were) written twice.",
            "Each is counted once.",
        ),
        _counted(
            "missing-durations",
            damage.missing_duration_count,
            "[{count}] (event has|events have) no duration.",
            "(It counts as an event|They count as events) of no length.",
        ),
        _counted(
            "negative-durations",
            damage.negative_duration_count,
            "[{count}] (event ends before it starts|events end before they start).",
            "(It counts as an event|They count as events) of no length.",
        ),
        _counted(
            "unpaired-ends",
            damage.unpaired_end_count,
            "[{count}] (end of an event has|ends of events have) no beginning.",
            "(That event is|Those events are) missing from every figure.",
        ),
        _counted(
            "bad-values",
            damage.repaired_value_count,
            "[{count}] (value is not a number|values are not numbers).",
            "(It counts|They count) as not recorded.",
        ),
        _counted(
            "bad-strings",
            damage.repaired_string_count,
            "[{count}] (text holds|texts hold) characters that JSON does not allow.",
            "Some names may be shown with a replacement character; times are not affected.",
        ),
        _counted(
            "bad-metadata",
            damage.damaged_metadata_count,
            "[{count}] (entry|entries) about the device or the job could not be read.",
            "Figures that need them are not measurable.",
        ),
    ]


def _counted(id: str, number: int, cause: str, effect: str) -> Note | None:
    """Both sentences agree with the number."""
    if not number:
        return None
    return Note(id, phrase(agreeing(cause, number), count=count(number)), phrase(agreeing(effect, number)))
