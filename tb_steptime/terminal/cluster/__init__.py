"""Traces read by the workers of a Dask cluster, where the data is: `tb-steptime index --dask`.

    client   the traces handed out as tasks; what comes back
    there    what a worker does with one: the same process as here, beside it
    releases which release each worker measures with

Dask is an extra: only `client` and `there` import it, when they are asked to.
"""
