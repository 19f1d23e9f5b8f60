"""Files wherever they are: in a local or mounted folder, or in a store that fsspec opens (s3://, gs://, az://, hdfs://).

    paths            what a user names -> a `Path` or a `RemotePath`, which answer the same questions, many at once
    remote           a file of a store: its size and time, reading and writing it; fsspec, imported for the first one
    problems         what went wrong in a store, as an OSError that a user can act upon
    temporary        files that are seen as they were, or whole; temporary folders, and what killed processes left
    packing          gzip, by isal or by the standard library
    decoders         decoders of JSON, usable from any thread
    version_control  whether git tracks a file

fsspec and the packages of stores are extras: nothing here imports them before an address is opened.
"""
