"""The laboratory on a GPU: programs with a known cause, recorded and timed without and with each change.

    python -m benchmarks.laboratory.on_gpu.measuring time FOLDER      # needs a GPU: a few minutes
    python -m benchmarks.laboratory.on_gpu.measuring record FOLDER
    python -m benchmarks.laboratory.on_gpu                            # judges the kept recordings; needs no GPU

The recordings are kept, so that later rules are judged on the same steps.

    program.py           what a program is, and the list of all
    kernels.py, host.py, loading.py, healthy.py     the programs, by what makes them slow
    measuring.py         times and records them
    counters.py          kernels of many kinds under the profiler, and under Nsight Compute
    memory.py            trainings with their memory, and their peaks at other batch sizes; one runs out of memory
    names.py, judging.py, fitting.py     judge without torch what is kept: the cards, and memory at other batch sizes
    recorded/            what one H200 with torch 2.11 wrote: programs/, times.jsonl, counters/, memory/

Nothing here is simulated. Names of the machine and of files are removed from the recordings.
"""
