"""Why a job of many ranks hangs, by the dumps of the flight recorder of NCCL, without unpickling anything.

dumps      the files of a job -> what each rank had begun and finished in each of its groups
verdict    which ranks block the others, and what shows it
"""
