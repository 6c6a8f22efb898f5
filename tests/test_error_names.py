"""Wrong arguments of every public function: the error begins with the function's name."""

from inspect import signature
from operator import attrgetter

import numpy as np
import pytest

import mdhnp
from mdhnp.errors import ARGUMENTS

A, B, C, V = np.ones((2, 3)), np.ones((3, 4)), np.ones((4, 2)), np.ones(3)
ARRAY = mdhnp.asarray(np.ones((2, 3)), device="cpu")
MATRIX = np.ones((2, 3))
ELEMENTWISE = [name for name, module in mdhnp.namespace.MODULES.items() if module.endswith(".elementwise")]
PAIRS = [name for name in ELEMENTWISE if [*signature(getattr(mdhnp, name)).parameters] == ["x1", "x2"]]
assert PAIRS
#: Wrong arguments of every public function.
WRONG = (
    dict.fromkeys(ELEMENTWISE, ("a",))
    | dict.fromkeys(PAIRS, (ARRAY, "a"))
    | {
        "__array_namespace_info__": (1,),
        "all": (MATRIX, 2),
        "any": (MATRIX, 2),
        "arange": (0, 1, 0),
        "argmax": (MATRIX, 2),
        "argmin": ([],),
        "array": (None,),
        "asarray": ("a",),
        "astype": (ARRAY, "M8"),
        "asum": (MATRIX,),
        "axpy": (MATRIX, V),
        "broadcast_arrays": (ARRAY, np.ones(7)),
        "broadcast_shapes": (),
        "broadcast_to": (ARRAY, (5,)),
        "can_cast": (),
        "cc": (),
        "clip": (ARRAY, np.ones(7), 2),
        "concat": ([ARRAY], 3),
        "conv1d": (V, V),
        "conv2d": (V, V),
        "conv3d": (V, V),
        "count_nonzero": (MATRIX, 2),
        "cumulative_prod": (MATRIX,),
        "cumulative_sum": (MATRIX,),
        "diff": (V, -1),
        "dot": (A, A),
        "device": (),
        "devices": (1,),
        "distribute": (V, "everywhere"),
        "einsum": ("ij", V),
        "einsum_path": (),
        "empty": (-1,),
        "empty_like": ("a",),
        "expand_dims": (ARRAY, 7),
        "explain": (3,),
        "eye": (-1,),
        "fallback_counts": (1,),
        "finfo": ("i4",),
        "flip": (ARRAY, 7),
        "from_buffer": (3, 4, "f4"),
        "from_dlpack": (3,),
        "full": ("a", 1),
        "full_like": ("a", 1),
        "fuse": (3,),
        "gemm": (A, A),
        "gemv": (A, A),
        "ger": (A, A),
        "host_counts": (1,),
        "iamax": ([],),
        "iinfo": ("f4",),
        "imag": ("a",),
        "index": (),
        "inner": (A, B),
        "interpret": (3,),
        "isdtype": (),
        "kron": (V, None),
        "linspace": (0, 1, -1),
        "matmul": (A, A),
        "matrix_transpose": (mdhnp.asarray(V, device="cpu"),),
        "matvec": (V, V),
        "max": (MATRIX, 2),
        "mean": (MATRIX, 2),
        "md_hom": (3, {}, ""),
        "memory_info": (1, 2),
        "meshgrid": ([[1], [1, 2]],),
        "min": ([],),
        "moveaxis": (ARRAY, 7, 0),
        "nrm2": (MATRIX,),
        "ones": (-1,),
        "ones_like": ("a",),
        "outer": (V, V, 3),
        "pad": (ARRAY, -1),
        "patch": (1,),
        "permute_dims": (ARRAY, (0,)),
        "prepare": (3,),
        "prl": (3, 4),
        "prod": (MATRIX, 2),
        "ps": (),
        "pw": (),
        "real": ("a",),
        "repeat": (ARRAY, -1),
        "reshape": (ARRAY, (5,)),
        "result_type": (),
        "roll": (ARRAY, 1, 7),
        "round": (ARRAY, "a"),
        "scal": (V, V),
        "squeeze": (ARRAY, 0),
        "stack": ([ARRAY], 7),
        "std": (MATRIX, 2),
        "stencil": (V, V, "nowhere"),
        "sum": (MATRIX, 2),
        "swapaxes": (ARRAY, 0, 7),
        "symv": (V, V),
        "synchronize": (1, 2),
        "syrk": (V,),
        "tensordot": (A, A, 3),
        "tile": (ARRAY, -1),
        "trace": (V,),
        "tril": (mdhnp.asarray(3.0, device="cpu"),),
        "triu": (mdhnp.asarray(3.0, device="cpu"),),
        "trmv": (V, V),
        "tune": (3,),
        "unstack": (ARRAY, 7),
        "var": (MATRIX, 2),
        "vdot": (V, A),
        "vecdot": (A, C),
        "vecmat": (V, V),
        "where": (1, 2, 3),
        "zeros": (-1,),
        "zeros_like": ("a",),
        "linalg.cholesky": (V,),
        "linalg.cross": (A, C),
        "linalg.det": (V,),
        "linalg.diagonal": (V,),
        "linalg.eigh": (V,),
        "linalg.eigvalsh": (V,),
        "linalg.inv": (V,),
        "linalg.matrix_norm": (V,),
        "linalg.matrix_power": (V, 2),
        "linalg.matrix_rank": (A * np.nan,),
        "linalg.matrix_transpose": (V,),
        "linalg.pinv": (V,),
        "linalg.qr": (V,),
        "linalg.slogdet": (V,),
        "linalg.solve": (V, V),
        "linalg.svd": (V,),
        "linalg.svdvals": (V,),
        "linalg.vector_norm": ("a",),
        "linalg.matmul": (A, A),
        "linalg.multi_dot": ([A],),
        "linalg.outer": (A, V),
        "linalg.tensordot": (A, A, A),
        "linalg.trace": (V,),
        "linalg.vecdot": (A, C),
        "skeletons.allpairs": (3,),
        "skeletons.iterate": (3,),
        "skeletons.map": (3,),
        "skeletons.reduce": (3,),
        "skeletons.scan": (3,),
        "skeletons.stencil": ("float f(float x) { return x; }",),
        "skeletons.zip": (3,),
    }
)
#: NumPy's own, a factory of rules and what never fails.
NUMPYS = {"broadcast_shapes", "einsum_path", "isdtype", "cc"}
PLACES = {"": mdhnp.__all__, "linalg.": mdhnp.linalg.__all__, "skeletons.": mdhnp.skeletons.__all__}
FUNCTIONS = [
    place + name
    for place, names in PLACES.items()
    for name in names
    if callable(attrgetter(place + name)(mdhnp)) and (name[0].islower() or name[0] == "_")
    if str(attrgetter(place + name)(mdhnp).__module__).startswith("mdhnp")
]


@pytest.mark.parametrize("name", sorted({*FUNCTIONS} - NUMPYS - {"config"}))
def test_errors_begin_with_the_functions_name(name):
    with pytest.raises(ARGUMENTS) as raised:
        found = attrgetter(name)(mdhnp)(*WRONG[name])
        found(V) if name.startswith("skeletons.") else found.__enter__()
    text = raised.value.args[0] if isinstance(raised.value, KeyError) else str(raised.value)
    assert text.startswith(name.rpartition(".")[2]), text
