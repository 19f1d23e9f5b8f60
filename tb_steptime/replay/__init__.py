"""What a recording would take if something in it were different: a graph of what waits for what, and its replay."""
