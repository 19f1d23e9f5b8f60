"""The project's build backend: setuptools, with the tab's bundle built first. Uses the standard library alone."""
