"""Traces of trainings that never ran, from a declared cause, with the truth about them.

    causes.py    what is declared: a GPU, a loader, the calls and activities of one step
    loading.py   when a batch is ready: workers, prefetching, order
    machine.py   the discrete model: one host, one stream, a queue between them
    truth.py     what an analysis should find, computed from the model's own records
    chrome.py    the same records as a Chrome trace in Kineto's format of 2024 and later
    kernels.py, layers.py, networks.py   plausible kernels and ops of two networks
    demo.py      the five experiments of the demo; `python -m tests.simulate demo_logs` writes them

Nothing here uses the package that it tests. Every file that is written says that it is simulated.
"""
