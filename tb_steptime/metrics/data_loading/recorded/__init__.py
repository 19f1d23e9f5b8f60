"""What the recorder's files say of each batch and worker."""
