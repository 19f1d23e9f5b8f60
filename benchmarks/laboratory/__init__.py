"""The laboratory: small real trainings with one known cause each. Their first card is followed, and its gain is timed.

    python -m benchmarks.laboratory           # needs torch; 50 minutes on two cores; goes on where it stopped
    python -m benchmarks.laboratory --only "slow collate" --again
    python -m benchmarks.laboratory --page docs/laboratory.md      # from the results that are there

    program.py   what a program is, and the list of all
    programs/    the programs, by what makes them slow; `healthy` has those that nothing slows down
    child.py     runs one program in a process of its own: recorded as the README says, or timed without a profiler
    trial.py     records a program, follows its first card, and times it before and after the change, in turns
    results.py   the raw results as one file in the repository, and the page docs/laboratory.md

Half of the programs may be looked at when a rule is written; the others only measure: `Program.measures_only`.
"""
