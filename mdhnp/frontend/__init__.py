"""The calls: NumPy-like functions that describe what they compute.

Take array-likes and Arrays, give ndarrays or Arrays, by the one way of every call (`mdhnp.calls`). `contraction.py`
turns labelled axes into an MDH, `pairwise.py` into several, `semirings.py` with any functions for product and sum. The
calls made of them are in `einsum.py`, `gufuncs.py` (matmul and its like), `products.py` (dot and its
like), `linalg.py` and `blas.py`; others in `stencil.py`, `prl.py` and `computation.py` (users' own MDHs), of which
`blas1.py`, `blas2.py` and `convolutions.py` make functions with names. `fuse.py` makes one call of several. The array
API's functions are in `creation.py` and `generators.py`, `types.py`, `elementwise.py`, `reductions.py`, `scans.py`,
`manipulation.py` and `joining.py`; `map_reduce.py` turns functions of elements into MDHs, and reduces these.
"""
