"""Traces of trainings that never ran, from a declared cause, with the truth about them.

    causes.py    what is declared: a GPU, a loader, the calls and activities of one step
    loading.py   when a batch is ready: workers, prefetching, order
    machine.py   the discrete model: one host, a stream on each device, a queue between them
    truth.py     what an analysis should find, computed from the model's own records
    reasons.py   the same in full: why each device is idle, and what each blocking call costs
    chrome.py    the same records as a Chrome trace in Kineto's format of 2024 and later
    events.py, occupancy.py   its events, and Kineto's occupancy of a kernel
    kernels.py, layers.py, networks.py   plausible kernels and ops of two networks
    jobs/        transformers, compiled and captured steps, inference, ranks, copies, edges of a recording, CPU jobs
    demo.py      the five experiments of the demo; `python -m tests.truth.simulate demo_logs` writes them and forum.py's
    forum.py     two questions from forums, in nine trainings
    rank_jobs.py jobs of many ranks that meet at collectives: who is late, links, clocks
    mixtures.py  trainings with each cause alone and with every two of them, and what a cause costs
    judging.py   what the package says of those; `python -m tests.truth.simulate causes` prints it beside the truth

Nothing but the last of these uses the package that is tested. Every file that is written says that it is simulated.
"""
