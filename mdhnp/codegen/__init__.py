"""From (MdHom, Schedule, DeviceCaps) to OpenCL C text: one emitter for every MDH, and no device in sight.

Read `generate.py` first, then `kernel.py` (the schema) and `layers.py` (its loops). `nest.py` holds the numbers and
names behind it, `tiles.py` the copies to local memory, `reduce.py` the partial results, `store.py` what becomes of
them, `scan.py` the schema of scans, `access.py` loads and stores, `scalar.py` and `ctypes.py` expressions, `prelude.py`
helper functions, `writer.py` lines and barriers, `program.py` what comes out.
"""

from mdhnp.codegen.generate import generate, generate_general, resized
from mdhnp.codegen.program import Argument, Kernel, Program

__all__ = ["Argument", "Kernel", "Program", "generate", "generate_general", "resized"]
