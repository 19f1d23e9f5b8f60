"""Blocks of plain events read by a small C extension, where it could be built; the others by `trace.kineto.rows`.

    text of a block --- Scanner (C) ---> columns of bytes ---> Columns
                    \\-- odd: None ----> RowDecoder -> rows --/

What C takes it reads to the bit as the rows would be: it declines a whole block for anything that it does not know.
"""
