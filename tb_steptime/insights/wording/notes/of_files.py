"""Notes on the files of one recording: what was repaired or lost while they were read, the recorder's among them."""

from __future__ import annotations

from tb_steptime.insights.base import NoteWords

FILE_NOTES: dict[str, NoteWords] = {
    "view-not-computed": NoteWords(
        "The view {view} could not be computed: its analysis failed on this file ({error}).",
        "The others stand. Cards that need its figures are missing.",
    ),
    "cards-not-computed": NoteWords(
        "[{count}] (rule|rules) failed on this file ({names}).",
        "(Its card is|Their cards are) missing; the others stand.",
    ),
    "corrupt-file": NoteWords(
        "The compressed file is damaged.", "Every figure is partial: events after the damage are missing."
    ),
    "truncated-file": NoteWords(
        "The file ends before the trace does.",
        "Every figure is partial: what stood behind the cut is missing.",
        more="It is still being written, or the job ended while it wrote.",
    ),
    "lost-events": NoteWords(
        "[{count}] (event|events) could not be read.", "(It is|They are) missing from every figure."
    ),
    "duplicate-events": NoteWords("[{count}] (event was|events were) written twice.", "Each is counted once."),
    "missing-durations": NoteWords("[{count}] (event has|events have) no duration.", "(Its|Their) length counts as 0."),
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
        "Each time PyTorch raised OutOfMemoryError; the largest request was {most}.",
        more="Steps in which it was caught and tried again are longer than others.",
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
        "[{count}] (event is|events are) more than a day long, or as far from the others, or at 0 long before them.",
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
    "mended-properties": NoteWords(
        "[{count}] (device's|devices') properties hold the number of SMs as the threads of an SM.",
        "It is read as the number of SMs.",
        more="PyTorch 2.13 and 2.14 write this when a trace is exported with Python. The limits of an SM are those of "
        "its compute capability.",
    ),
    "kernel-metrics": NoteWords(
        "[{count}] (kernel is|kernels are) written twice: once as it ran, and once with what was measured of it.",
        "(It counts|Each counts) once in the GPU's time.",
    ),
    "long-names": NoteWords(
        "[{count}] (name is|names are) longer than any that PyTorch writes.",
        "(It is|They are) cut short here.",
    ),
    "many-kernels": NoteWords(
        "[{count}] (name of a kernel is|names of kernels are) more than any program has.",
        "These kernels share one name here.",
    ),
    "several-processes": NoteWords(
        "The file holds the recordings of {count} processes.",
        "The figures are of process {name} alone.",
        more="The file was merged from one file for each process. Open those files to see the others.",
    ),
    "cut-to-next": NoteWords(
        "[{count}] (activity ends|activities end) in the very moment when the next one of (its|their) lane begins.",
        "Sums of kernel times are lower than in the JSON of the same recording.",
        more="A .pftrace file holds one activity of a lane at a time: its writer cuts those that overlap short.",
    ),
    "no-static-shared-memory": NoteWords(
        "A .pftrace file holds only the dynamic part of a kernel's shared memory.",
        "Est. achieved occupancy may be too high where kernels declare static shared memory.",
    ),
    "devices-by-architecture": NoteWords(
        "The file does not describe its GPU, except that its architecture is {architecture}.",
        "The limits of its SMs are known by that; its name, its memory and its number of SMs are not.",
    ),
    "devices-from-beside": NoteWords(
        "The file does not describe its GPU.",
        "Its description is that of a JSON trace in the same folder, whose GPU has the same architecture.",
    ),
    "devices-not-described": NoteWords(
        "The file does not describe its GPU.",
        "Figures that need its limits, such as est. achieved occupancy, are not measurable.",
    ),
    "rank-in-name": NoteWords(
        "The file's name is that of rank {named}, and the file says that it is of rank {rank}.",
        "It is taken for rank {rank}.",
    ),
}


RECORDER_NOTES: dict[str, NoteWords] = {
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
}
