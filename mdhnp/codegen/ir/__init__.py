"""The loop-level IR of kernels: what stands between an MDH with its schedule and OpenCL C.

`statements.py` declares statements, `values.py` what they compute with, `index.py` index arithmetic. `builder.py` makes
them, `passes.py` lists what happens to them, `show.py` prints them.
"""
