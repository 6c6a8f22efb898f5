"""Calls on arrays of dask's: each a graph of parts, cut along the chunks, for its schedulers.

`blocks.py` knows which pieces of blocks make a region, and chooses where dimensions are cut, `layer.py` makes
the tasks of one MDH and `graph.py` those of several, `task.py` is what a task does, `calls.py` has the public
functions, `records.py` record linkage, `plugin.py` what workers need. Comes with ``pip install mdhnp[dask]``.
"""

from mdhnp.dask.calls import apply, dot, einsum, fuse, matmul, md_hom, stencil, tensordot
from mdhnp.dask.plugin import Plugin, collect
from mdhnp.dask.records import prl

__all__ = ["Plugin", "apply", "collect", "dot", "einsum", "fuse", "matmul", "md_hom", "prl", "stencil", "tensordot"]
