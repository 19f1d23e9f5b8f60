"""Child processes of this package: forked where that is safe, otherwise started as new programs."""
