"""Runs generated kernels: finds devices, compiles programs, brings NumPy's arrays to kernels, launches, waits.

Takes :class:`mdhnp.codegen.program.Program` objects and arrays. It must not know where programs come from. Importing
this package loads nothing: its modules load OpenCL, but for `private.py`, `executors.py`, `layout.py` and, until it
is asked for platforms, `discovery.py`.
"""
