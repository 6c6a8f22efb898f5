"""From (MdHom, Schedule, DeviceCaps) to OpenCL C text: one emitter for every MDH, and no device in sight.

Three parts: an emitter (the modules here) builds each kernel in the loop-level IR (`ir/`), passes change it
(`ir/passes.py`), and the renderer (`opencl/`) writes it.

Read `ir/statements.py` first, then `generate.py`, `kernel.py` (the schema) and `layers.py` (its loops). `nest.py` holds
the numbers and names behind it, `tiles.py` the copies to local memory, `reduce.py` the partial results, `store.py` what
becomes of them, `scan.py` the schema of scans, `fused.py` kernels of several MDHs, `access.py` loads and stores,
`scalar.py` scalar functions, `program.py` what comes out.
"""

from mdhnp.codegen.generate import generate, procedures, resized
from mdhnp.codegen.program import Kernel, Program
from mdhnp.mdh.stages import Argument

__all__ = ["Argument", "Kernel", "Program", "generate", "procedures", "resized"]
