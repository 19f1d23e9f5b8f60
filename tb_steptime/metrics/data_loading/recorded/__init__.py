"""The recorder's data about each batch and worker."""
