"""Notes in words: what is the case, and which figures it touches or what to do; one entry for each id."""

from __future__ import annotations

import re

from tb_steptime.insights.base import NoteText
from tb_steptime.insights.wording.rank_notes import RANK_NOTE_WORDS, NoteWords
from tb_steptime.text import Note, Phrase, Quantity, Unit, agreeing, code, text

NOTE_WORDS: dict[str, NoteWords] = {
    # what was repaired or lost while the file was read
    "corrupt-file": NoteWords(
        "The compressed file is damaged.",
        "Every figure is partial: events after the damage are missing.",
    ),
    "truncated-file": NoteWords(
        "The file ends before the trace does.",
        "It is still being written, or the job ended while it wrote. Every figure is partial: of the steps before the "
        "cut alone.",
    ),
    "lost-events": NoteWords(
        "[{count}] (event|events) could not be read.",
        "(It is|They are) missing from every figure.",
    ),
    "duplicate-events": NoteWords(
        "[{count}] (event was|events were) written twice.",
        "Each is counted once.",
    ),
    "missing-durations": NoteWords(
        "[{count}] (event has|events have) no duration.",
        "(Its|Their) length counts as 0.",
    ),
    "negative-durations": NoteWords(
        "[{count}] (event ends before it starts|events end before they start).",
        "(Its|Their) length counts as 0.",
    ),
    "unpaired-ends": NoteWords(
        "[{count}] (end of an event has|ends of events have) no beginning.",
        "(That event is|Those events are) missing from every figure.",
    ),
    "out-of-memory": NoteWords(
        "Memory ran out [{count}] (time|times).",
        "Each time PyTorch raised OutOfMemoryError; the largest request was {most}. Steps in which it was caught and "
        "tried again are longer than others.",
    ),
    "bad-values": NoteWords(
        "[{count}] (value is not a number|values are not numbers).",
        "(It counts|They count) as not recorded.",
    ),
    "bad-strings": NoteWords(
        "[{count}] (text holds|texts hold) characters that JSON does not allow.",
        "Some names may be shown with a replacement character; times are not affected.",
    ),
    "bad-metadata": NoteWords(
        "[{count}] (entry|entries) about the device or the job could not be read.",
        "Figures that need them are not measurable.",
    ),
    "impossible-times": NoteWords(
        "[{count}] (event is|events are) more than a day long, or as far from the others.",
        "(It is left out|They are left out), or (its|their) length counts as 0.",
    ),
    "impossible-ids": NoteWords(
        "[{count}] (number of a device, stream or launch is|numbers of devices, streams or launches are) not possible.",
        "(It counts|They count) as not recorded.",
    ),
    "impossible-sizes": NoteWords(
        "[{count}] (size of a copy or of a collective is|sizes of copies or of collectives are) not possible.",
        "(It counts|They count) as not recorded.",
    ),
    "impossible-launches": NoteWords(
        "[{count}] (value|values) of kernel launches (is|are) not possible: blocks, threads, registers, occupancy.",
        "(It counts|They count) as not recorded.",
    ),
    # what the recording is like
    "cpu_only": NoteWords(
        "CPU only.",
        "What the job does on a GPU, if it uses one, is not recorded: record with {code}.",
        code="ProfilerActivity.CUDA",
    ),
    "cpu_job": NoteWords(
        "A job on the CPU.",
        "There are no figures of a GPU; the Host view shows what the CPU computes.",
    ),
    "cut_before_device": NoteWords(
        "Nothing that ran on a GPU is in what is left of the file.",
        "The profiler writes it last, so the cut took it if the job used one. What is shown is the part of the CPU.",
    ),
    "kernels_missing": NoteWords(
        "Calls of the GPU's runtime are recorded, but nothing that they launched.",
        "So there are no figures of the GPU. Is another profiler attached to the process, or did the recording end "
        "before its kernels ran?",
    ),
    "no_steps": NoteWords(
        "No step marks.",
        "The whole recording counts as one step. Call {code} after each batch.",
        code="prof.step()",
    ),
    "inferred_steps": NoteWords(
        "Steps are inferred from {count} calls of {name}.",
        "The recording has no step marks. Call {code} after each batch to mark steps.",
        code="prof.step()",
    ),
    "whole_recording": NoteWords(
        "The whole recording is one step.",
        "Its step marks are not used.",
    ),
    "incomplete_steps": NoteWords(
        "The recording ends inside a step.",
        "Incomplete steps at the end are left out: {dropped}.",
    ),
    "before_recording": NoteWords(
        "Step {step} still runs [{time}] of work that was launched before the recording began.",
        "It is a part of the step, and left out of the verdict, of gains and of slow steps.",
    ),
    "before_first_work": NoteWords(
        "What the GPU does in the first [{time}] of step {step} is not known: no launch calls are recorded.",
        "That time is a part of the step, and left out of the verdict, of gains and of slow steps.",
    ),
    "once": NoteWords(
        "[{time}] of these steps come only once: {longest} in the first {name}, above all.",
        "They are left out of the verdict, of gains and of slow steps. Begin the recording after a warm-up.",
    ),
    "after_recording": NoteWords(
        "The recording ends [{time}] after the GPU's last work in it.",
        "That time is a part of step {step}, and left out of the verdict, of gains and of slow steps.",
    ),
    "profiling_slows": NoteWords(
        "The profiler slows the CPU by 1.5 to 2 times.",
        "Without the profiler a step is shorter, and the GPU is idle for less of it. The order of the causes "
        "stays the same.",
    ),
    # what makes a comparison unfair
    "one_simulated": NoteWords(
        "One of the two is simulated, the other recorded.",
        "Their times say nothing about each other.",
    ),
    "one_without_gpu": NoteWords(
        "Only one of the two recorded a GPU.",
        "Compare how the steps are divided, not how fast they are.",
    ),
    "other_gpus": NoteWords(
        "The GPUs differ: [{base}] and [{candidate}].",
        "Part of the difference is the hardware's.",
    ),
    "other_ranks": NoteWords(
        "The number of ranks differs: [{base}] and [{candidate}].",
        "A step does another share of the work.",
    ),
    "other_runtime": NoteWords(
        "The versions of the runtime differ: [{base}] and [{candidate}].",
        "Libraries and kernels differ with it.",
    ),
    "other_shapes": NoteWords(
        "The first product of a step has other shapes: [{base}] and [{candidate}].",
        "A step does another amount of work: compare times per sample.",
    ),
    "other_dtypes": NoteWords(
        "The first product of a step has another type: [{base}] and [{candidate}].",
        "Fine if that is the change which you test.",
    ),
    "other_purpose": NoteWords(
        "The base is a job of [{base}], the candidate of [{candidate}].",
        "They do different work.",
    ),
    "other_ops": NoteWords(
        "The two have hardly an op in common, and the shapes of their inputs are not recorded.",
        "Steps may do other work: record both with record_shapes=True.",
    ),
    "other_options": NoteWords(
        "Only one of the two was recorded with [{options}].",
        "Recording more slows the host: record both alike.",
    ),
    "few_steps": NoteWords(
        "One side has [{count}] (step|steps).",
        "Record at least 5, better 20: the interval is wide.",
    ),
    "steps_left_out": NoteWords(
        "[{count}] (step|steps) of {run} (is|are) not compared: {steps}.",
        "(It holds|They hold) what comes once, or work from before or after the recording.",
    ),
    "with_stack": NoteWords(
        "Recorded with call stacks.",
        "They slow the host, so Data loading, Runtime and CPU exec are upper bounds here; Kernel is not affected.",
    ),
    "with_memory": NoteWords(
        "Recorded with memory profiling.",
        "It slows every op that allocates, so times of the host are upper bounds here; Kernel is not affected.",
    ),
    "several_devices": NoteWords(
        "This process drives {number} GPUs.",
        "GPU figures are those of GPU {main}, which is busy longest. The parts of the step count the GPU as working "
        "while any of them works.",
    ),
    "kineto_occupancy": NoteWords(
        "Occupancy differs from the PyTorch Profiler tab.",
        "The profiler writes 0 for kernels with more than 48 KiB of shared memory, {share} of kernel time here. "
        "Occupancy is recomputed from each launch instead.",
    ),
    # recorder files
    "recorder_file_unreadable": NoteWords(
        "A recorder file cannot be read.",
        "Files left out: {files}, for example {file}. The copy is damaged, or another version of tb-steptime wrote it.",
    ),
    "recorder_file_unfinished": NoteWords(
        "A recorder file holds nothing yet.",
        "Files left out: {files}. The process has just created them, or was killed or had no disk space as it started.",
    ),
    "recorder_file_damaged": NoteWords(
        "A recorder file is damaged.",
        "{lost} of it cannot be read and are left out. The rest is valid.",
    ),
    "worker_killed": NoteWords(
        "A worker process was killed.",
        "Workers that did not exit normally: {killed}. Their last batches may be missing. Was memory short?",
    ),
    "recorder_ended_early": NoteWords(
        "The recorder files end before this span does.",
        "Steps without recorded batches: {missing}. Was the disk full, or the recorder closed too early?",
    ),
    "recorder_worker_missing": NoteWords(
        "A worker's recorder file is missing or incomplete.",
        "How {missing} of {batches} batches were produced is not recorded; means are over the others.",
    ),
    "recorder_main_missing": NoteWords(
        "The main process's recorder file is missing.",
        "Which steps received the batches that the workers produced is not known. Copy the file {code}, too.",
        code="*.main.loader",
    ),
    "recorder_of_several_machines": NoteWords(
        "Recorder files of several machines have the same process ID.",
        "Which of them belong to this trace is not known, so {files} are left out. Keep the trace's name as torch "
        "writes it: it begins with the machine's.",
    ),
    "recorder_not_then": NoteWords(
        "The recorder files do not cover this span.",
        "They are of this process, but of another time.",
    ),
    "recorder_full": NoteWords(
        "A recorder file was full.",
        "Batches of this span are missing: the first ones of the job and the latest are kept.",
    ),
    "clock_step": NoteWords(
        "The machine's clock was set during the recording.",
        "Batches before or after that may be missing, or be shifted against the steps.",
    ),
    **RANK_NOTE_WORDS,
}


_PLACE = re.compile(r"\{(\w+)\}")
_UNKNOWN = Quantity(None, Unit.NUMBER)


def worded(note: Note) -> NoteText:
    """KeyError where there are no words for its id."""
    if note.id == "simulated":
        return NoteText(note.id, Phrase("Simulated, not recorded."), _with_code(str(note.values["statement"].value)))
    words = NOTE_WORDS[note.id]
    values = note.values | ({"code": code(words.code)} if words.code else {})
    return NoteText(note.id, _filled(words.cause, values), _filled(words.effect, values))


def _filled(template: str, values: dict[str, Quantity]) -> Phrase:
    """A dash for what an older release did not keep."""
    count = values["count"].value if "count" in values else None
    agreed = agreeing(template, count) if isinstance(count, int) else template
    return Phrase(agreed, {key: values.get(key, _UNKNOWN) for key in _PLACE.findall(agreed)})


def _with_code(statement: str) -> Phrase:
    """Backticks mark code, as in every text of ours.

    >>> _with_code("Written by `make demo`.").template
    '{part_0}{part_1}{part_2}'
    """
    parts = {f"part_{n}": (code if n % 2 else text)(part) for n, part in enumerate(statement.split("`")) if part}
    return Phrase("".join(f"{{{key}}}" for key in parts), parts)
