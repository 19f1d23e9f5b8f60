"""Files wherever they are: in a local or mounted folder, or in a store that fsspec opens (s3://, gs://, az://, hdfs://).

    paths       what a user names -> a `Path` or a `RemotePath`, which answer the same questions
    remote      one file of a store: its size and time, reading and writing it
    reading     its bytes in order, fetched ahead, tried again where a connection fails
    at_once     many questions, of files in a store at the same time
    systems     fsspec and its packages, imported when the first address needs them
    problems    what went wrong in a store, as an OSError that a user can act upon
    plain       a pickle that holds nothing but plain values -> these values, or one error
    whole_file  files that are seen as they were, or whole
    own_folder  temporary folders, and what killed processes left of theirs

fsspec and the packages of stores are extras: nothing here imports them before an address is opened.
"""
