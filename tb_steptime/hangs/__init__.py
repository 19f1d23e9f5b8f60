"""Why a job of many ranks hangs, according to the dumps of NCCL's flight recorder, read without unpickling anything.

dumps      the files of a job -> what each rank had begun and finished in each of its groups
verdict    which ranks block the others, and what shows it
"""
