"""A process that reads parts: `python -m tb_steptime.trace.kineto.parts.worker PROCESS TEXT ORDERS FREE FILE`.

The arguments are its number, then numbers of open files: the text, the pipe of orders, the pipe that takes the numbers
of free slots (-1: none), the file for columns. It writes each part that it read to stdout, pickled, and ends when there
are no more orders or nobody listens. An exception ends it too; the process that started it then reads the file alone,
and reports what is wrong.
"""

from __future__ import annotations

import os
import pickle
import sys

from tb_steptime.trace.allocator import give_back_large_blocks
from tb_steptime.trace.kineto.parts import orders
from tb_steptime.trace.kineto.parts.reading import PartReader


def main(arguments: list[str]) -> None:
    process, text, pipe, free, place = map(int, arguments)
    give_back_large_blocks()
    with os.fdopen(place, "wb") as file, os.fdopen(os.dup(1), "wb") as out:
        reader = PartReader(process, text, file)
        while order := orders.take(pipe):
            part = reader.read(order)
            orders.give_back(free, order)
            pickle.dump(part, out)
            out.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
