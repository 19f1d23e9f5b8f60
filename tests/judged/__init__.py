"""The labelled corpus: jobs, and what an experienced performance engineer concludes about each from its raw events.

    labels.py    what a label says, in a line or two each
    found.py     the conclusions of the package on a recording, as far as labels cover them
    scores.py    the two compared: verdicts, cards that are missing, cards that should not be there
    faults.py    the two compared part by part, for the tests of each job
    simulated.py all labels of simulated jobs with their recordings
    real.py      those of real traces
    report.py    how often each card is right; `python -m tests.judged` prints it
    page.py      the results in docs/judgement.md, which `python -m tests.judged docs/judgement.md` writes
    world.py     other people's jobs with an expert's judgements, which are counted apart
    variants.py  recordings rewritten in ways that change nothing about the job
    stability.py conclusions that differ for these variants
    conclusions.py  every conclusion on every recording at hand, and which of them moved since
    not_yet.py   what is known to be still wrong: its tests have to fail, and report when they no longer do
    jobs/        the labels, by kind of job

A label is written from the raw events of a trace, or from what a simulated job declares, and never from the package's
own conclusions.
"""
