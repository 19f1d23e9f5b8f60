"""A report: one page with the tab and all its answers, which a browser opens from a file."""
