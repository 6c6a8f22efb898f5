"""NumPy's and opt_einsum's own tests, on our calls.

The modules of tests that come with the installed packages are executed once more, with a proxy for `numpy` that has
our functions in place of those under test; pytest collects the tests from here. Only tests that demand a view of the
operand are left out: our results are new memory.
"""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from operator import attrgetter
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np
import opt_einsum
import pytest
from opt_einsum import parser

import mdhnp
from examples import meeting
from mdhnp.calls.observe import observe
from mdhnp.calls.operands import SUPPORTED

#: Modules, our functions in them, their tests.
SUITES = (
    ("numpy._core.tests.test_einsum", "einsum einsum_path",
     "TestEinsum TestEinsumPath test_overlap test_einsum_chunking_precision"),
    ("numpy._core.tests.test_multiarray", "matmul dot vdot inner",
     "TestMatmul TestDot TestVdot TestInner test_matmul_axes"),
    ("numpy._core.tests.test_numeric", "tensordot outer", "TestTensordot test_outer_out_param"),
    ("numpy.lib.tests.test_shape_base", "kron", "TestKron"),
    ("numpy.linalg.tests.test_linalg", "linalg.multi_dot linalg.trace linalg.tensordot linalg.matmul",
     "TestMultiDot test_trace test_tensordot test_matmul"),
)  # fmt: skip
#: What `numpy._core.tests.test_ufunc` has about the products, among much else.
UFUNCS = ("test_vecdot", "test_matvec", "test_vecmatvec_identity", "test_vecdot_matvec_vecmat_complex",
          "test_matvec_vecmat_out", "test_vecdot_subclass", "test_vecdot_object_no_conjugate",
          "test_vecdot_object_breaks_outer_loop_on_error")  # fmt: skip

#: Tests that differ from others in a type only, or in a keyword that means nothing here; `--long` runs them.
#: Others compute what opt_einsum's tests do, or an inner product of every type.
SLOW = {
    "test_compare_blas", "test_compare_blas_greek", "test_complex", "test_edge_cases", "test_random_cases",
    "test_inner_product_with_various_contiguities", "test_3d_tensor",
} | {
    f"test_einsum_sums_{t}"
    for t in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16",
              "float64", "cfloat64", "cfloat128")
}  # fmt: skip
#: Who finds opt_einsum's paths; of the others `--long` runs tests, too: whoever found it, a path is pairs of operands.
PATHS = ("greedy", "optimal")


class Routed:
    """A function that counts its calls; like NumPy's ufuncs it does not become a method in a class."""

    ran = 0  #: calls that kernels computed
    strayed = 0  #: calls that NumPy computed, though kernels compute with all their types

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        before = sum(mdhnp.fallback_counts().values())
        with observe() as seen:
            result = self.function(*args, **kwargs)
        if sum(mdhnp.fallback_counts().values()) == before:
            Routed.ran += bool(seen)
        else:
            types = [x.dtype for x in (*args, *kwargs.values()) if isinstance(x, np.ndarray | np.generic)]
            types += [np.dtype(kwargs["dtype"])] if kwargs.get("dtype") is not None else []
            Routed.strayed += {t.newbyteorder("=") for t in types} <= SUPPORTED
        return result


class Proxy(ModuleType):
    """A module, but for some attributes."""

    def __init__(self, module: ModuleType, **replaced: Any) -> None:
        super().__init__(module.__name__)
        self.module = module
        vars(self).update(replaced)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)


def load(name: str, **replaced: ModuleType) -> ModuleType:
    """Execute a module once more, with some modules replaced for its imports."""
    spec = importlib.util.find_spec(name)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    with mock.patch.dict(sys.modules, replaced):
        spec.loader.exec_module(module)
    return module


def load_numpy(name: str, functions: str) -> ModuleType:
    """Execute a module of NumPy's tests with our functions, also where it imports them by name."""
    routed = {f: Routed(attrgetter(f)(mdhnp)) for f in functions.split()}
    linalg = {f.removeprefix("linalg."): call for f, call in routed.items() if f.startswith("linalg.")}
    main = {f: call for f, call in routed.items() if not f.startswith("linalg.")}
    module = load(name, numpy=Proxy(np, linalg=Proxy(np.linalg, **linalg), **main))
    vars(module).update({f: call for f, call in (linalg | main).items() if f in vars(module)})
    return module


def contract(*operands: Any, use_blas: bool = True, **kwargs: Any) -> Any:
    """Stand for opt_einsum's `contract`: any sortable objects and letters may be labels there."""
    if operands and not isinstance(operands[0], str):
        subscripts, arrays = parser.convert_interleaved_input(operands)
    else:
        subscripts, *arrays = operands
    if not subscripts.isascii():
        explicit = subscripts if "->" in subscripts else f"{subscripts}->{parser.find_output_str(subscripts)}"
        subscripts = parser.convert_to_valid_einsum_chars(explicit)
    return einsum(subscripts, *arrays, **kwargs)


class Expression:
    """Stands for what opt_einsum's `contract_expression` gives: it runs on us as its backend."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.inner = opt_einsum.contract_expression(*args, **kwargs)

    def __call__(self, *arrays: Any, **kwargs: Any) -> Any:
        return Routed(partial(self.inner, backend="mdhnp"))(*arrays, **kwargs)

    def __repr__(self) -> str:
        return repr(self.inner)

    def __str__(self) -> str:
        return str(self.inner)


def by_few_cases(test: Any) -> None:
    """Have the cases with other paths than `PATHS` take part with `--long` only, and of the others some are drawn.

    Of three arguments or more, they are drawn of those in which any two values meet.
    """
    marks = [mark for mark in test.pytestmark if mark.name == "parametrize"]
    names = [name.strip() for mark in marks for name in mark.args[0].split(",")]
    looked_at = [[v for v in mark.args[1] if mark.args[0] != "optimize" or v in PATHS] for mark in marks]
    few = meeting([len(values) for values in looked_at])
    taken = [[values[n] for n, values in zip(case, looked_at, strict=True)] for case in few]
    cases = []
    for chosen in product(*(mark.args[1] for mark in marks)):
        values = [v for value, mark in zip(chosen, marks, strict=True) for v in _values(value, mark)]
        cases.append(pytest.param(*values, marks=[] if [*chosen] in taken else pytest.mark.slow))
    test.pytestmark = [m for m in test.pytestmark if m.name != "parametrize"]
    pytest.mark.parametrize(names, cases)(test)


def _values(value: Any, mark: pytest.Mark) -> tuple[Any, ...]:
    return tuple(value) if "," in mark.args[0] else (value,)


einsum = Routed(mdhnp.einsum)
for module_name, function_names, tests in SUITES:
    loaded = load_numpy(module_name, function_names)
    globals().update({test: getattr(loaded, test) for test in tests.split()})
TestEinsum = globals()["TestEinsum"]
del TestEinsum.test_einsum_views  # asserts of every result that it is a view of the operand
ufuncs = load_numpy("numpy._core.tests.test_ufunc", "matmul vecdot matvec vecmat").TestUfunc
TestUfunc = type("TestUfunc", (), {name: vars(ufuncs)[name] for name in UFUNCS})

proxy = Proxy(opt_einsum, contract=contract, contract_expression=Expression)
for module_name in ("test_contract", "test_input"):
    loaded = load(f"opt_einsum.tests.{module_name}", opt_einsum=proxy)
    globals().update({f"{module_name}_{n[5:]}": f for n, f in vars(loaded).items() if n.startswith("test_")})
    for name, test in vars(loaded).items():
        if name.startswith("test_") and hasattr(test, "pytestmark"):
            by_few_cases(test)

for found in (*vars(TestEinsum).values(), *vars(globals()["TestInner"]).values(), *list(globals().values())):
    if getattr(found, "__name__", "") in SLOW:
        pytest.mark.slow(found)

pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass")


@pytest.fixture(scope="module", autouse=True)
def nearly_all_calls_run_on_the_device() -> Iterator[None]:
    yield
    assert Routed.strayed <= 0.05 * (Routed.ran + Routed.strayed), f"{Routed.strayed} strayed, {Routed.ran} did not"
