"""Traces read by the workers of a Dask cluster, where the data is: `tb-steptime index --dask`.

    client   the traces handed out as tasks; what comes back
    there    what a worker does with a trace: it has a process of its own read the trace, as on this machine
    releases which release each worker measures with

Dask is an optional dependency: only `client` and `there` import it, and only when they use a cluster.
"""
