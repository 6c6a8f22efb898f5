"""The renderer: OpenCL C's syntax stands here and nowhere else.

`render.py` writes procedures and statements, `values.py` values, loads and index arithmetic, `operations.py` NumPy's
operations, `ctypes.py` types and conversions, `prelude.py` helper functions.
"""

from mdhnp.codegen.opencl.render import source

__all__ = ["source"]
