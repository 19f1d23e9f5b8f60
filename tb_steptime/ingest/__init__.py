"""Log directory -> found spans -> a pool of processes that read them -> measured spans in summary files."""
