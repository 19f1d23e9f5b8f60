"""Child processes of this package: forked where that is safe, otherwise started as new programs.

children    one that runs a function or a module of the package, with some open files, and answers on its stdout
"""
