"""What the commands print: the same results and cards as the tab."""
