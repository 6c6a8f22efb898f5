"""Bad calls: the exception is of NumPy's type, and its message says what is wrong with which argument."""

from operator import attrgetter

import numpy as np
import pytest

import mdhnp

A, B, C, V = np.ones((2, 3)), np.ones((3, 4)), np.ones((4, 2)), np.ones(3)
LOCKED = np.ones((2, 4))
LOCKED.flags.writeable = False

#: Name, arguments, keywords, what the message has.
BAD = [
    ("einsum", (), {}, "subscripts"),
    ("einsum", ("i",), {}, "operands"),
    ("einsum", (A,), {}, "subscripts"),
    ("einsum", ("ij,jk", A), {}, "2 terms for 1 operand"),
    ("einsum", ("ij", A, B), {}, "1 terms for 2 operands"),
    ("einsum", ("ij,", A), {}, "2 terms"),
    ("einsum", ("i", A), {}, "operand 0"),
    ("einsum", ("ijk", A), {}, "operand 0"),
    ("einsum", ("", A), {}, "operand 0"),
    ("einsum", ("ij,jk", A, C), {}, "operand 1: axis 'j'"),
    ("einsum", ("ij,jk->ik", A, np.ones((0, 2))), {}, "operand 1: axis 'j'"),
    ("einsum", ("ij,ij", A, B), {}, "operand 1: axis 'i'"),
    ("einsum", ("ii", A), {}, "operand 0: axes labelled 'i'"),
    ("einsum", ("ii->i", np.ones((3, 1))), {}, "operand 0: axes labelled 'i'"),
    ("einsum", ("ij->ii", A), {}, "output"),
    ("einsum", ("ij->k", A), {}, "'k' in the output"),
    ("einsum", ("ij->ij->", A), {}, "'-' in the output"),
    ("einsum", ("ij->i,j", A), {}, "',' in the output"),
    ("einsum", ("i1", A), {}, "'1' in operand 0"),
    ("einsum", ("i-j", A), {}, "'-' in operand 0"),
    ("einsum", ("ij- >i", A), {}, "'-' in operand 0"),
    ("einsum", ("ij>i", A), {}, "'>' in operand 0"),
    ("einsum", ("i.j", A), {}, "'.' in operand 0"),
    ("einsum", ("i..", A), {}, "'.' in operand 0"),
    ("einsum", ("....", A), {}, "'.' in operand 0"),
    ("einsum", ("...i...", A), {}, "'.' in operand 0"),
    ("einsum", ("...->", A), {}, "output"),
    ("einsum", ("...i->i", A), {}, "output"),
    ("einsum", ("...i,...i", A, np.ones((4, 3))), {}, "operand 1: axis 'α'"),
    ("einsum", ("é", V), {}, "'é' in operand 0"),
    ("einsum", ("ij", None), {}, "operand 0"),
    ("einsum", ("ij", [[1, 2], [3]]), {}, "array"),
    ("einsum", (3, A), {}, "subscript array"),
    ("einsum", (None, A), {}, "subscript"),
    ("einsum", (V, 0), {}, "subscripts of an operand"),
    ("einsum", (V, [52]), {}, "subscript 52"),
    ("einsum", (V, [-1]), {}, "subscript -1"),
    ("einsum", (V, [0.5]), {}, "subscript 0.5"),
    ("einsum", (V, ["a"]), {}, "subscript 'a'"),
    ("einsum", (V, [0], [1]), {}, "output"),
    ("einsum", (V, [0, 1]), {}, "operand 0"),
    ("einsum", ("i", np.array(["a", "b", "c"]), V), {}, "operands"),
    ("einsum", ("i->", V), {"out": np.ones(1)}, "out has 1 axes"),
    ("einsum", ("i", V), {"out": np.ones(4)}, "out of shape"),
    ("einsum", ("i", V), {"out": [0.0] * 3}, "out must be"),
    ("einsum", ("i", V), {"out": np.ones(3, np.float32)}, "out"),
    ("einsum", ("i->", V), {"out": np.ones((), int)}, "out"),
    ("einsum", ("ij,jk", A, B), {"out": LOCKED}, "out is read-only"),
    ("einsum", ("i,i", V, V), {"dtype": np.float32}, "operand 0"),
    ("einsum", ("i->", V), {"dtype": np.int64, "casting": "same_kind"}, "operand 0"),
    ("einsum", ("i", V), {"dtype": "nonsense"}, "nonsense"),
    ("einsum", ("i", V), {"order": "X"}, "order"),
    ("einsum", ("i", V), {"casting": "X"}, "casting"),
    ("einsum", ("i", V), {"nonsense": 1}, "nonsense"),
    ("einsum", ("i,i", V, V.astype(np.float32)), {"casting": "no"}, "operand 1"),
    ("einsum", ("ij,jk,kl", A, B, C), {"optimize": "nonsense"}, "nonsense"),
    ("einsum", ("ij,jk,kl", A, B, C), {"optimize": 3}, "optimize is True, False"),
    ("einsum", ("ij,jk,kl", A, B, C), {"optimize": ["einsum_path", (0, 1)]}, "path"),
    ("einsum", ("ij,jk,kl", A, B, B), {}, "operand 2: axis 'k'"),
    ("einsum", ("i,i", np.array(["2020"], "M8[D]"), V[:1]), {}, "DateTime64"),
    ("matmul", (V, 2), {}, "operand 1"),
    ("matmul", (2, V), {}, "operand 0"),
    ("matmul", (V, np.ones(4)), {}, "operands of shapes"),
    ("matmul", (np.ones(1), np.ones(4)), {}, "operands of shapes"),
    ("matmul", (A, A), {}, "operands of shapes"),
    ("matmul", (np.ones((2, 1)), np.ones((4, 1))), {}, "operands of shapes"),
    ("matmul", (np.ones((2, 3, 3)), np.ones((3, 3, 3))), {}, "operand 1: axis 'α'"),
    ("matmul", (None, V), {}, "operand 0"),
    ("matmul", ("a", V), {}, "matmul"),
    ("matmul", (V,), {}, "x2"),
    ("matmul", (A, B), {"out": np.ones((2, 4), int)}, "output .* of out"),
    ("matmul", (A, B), {"out": np.ones((3, 4))}, "out of shape"),
    ("matmul", (V[np.newaxis], B), {"out": np.ones((3, 4))}, "out of shape"),
    ("matmul", (A, B), {"out": np.ones(4)}, "out of shape"),
    ("matmul", (A, B), {"out": []}, "out must be"),
    ("matmul", (A, B), {"out": ()}, "out has 0 entries"),
    ("matmul", (A, B), {"out": LOCKED}, "out is read-only"),
    ("matmul", (A, B), {"dtype": int}, "operand 0"),
    ("matmul", (A, B.astype("f4")), {"casting": "no"}, "operand 1"),
    ("matmul", (A, B), {"casting": "X"}, "casting"),
    ("matmul", (V, np.ones(4, "f4")), {"casting": "no"}, "operand 1"),
    ("vecmat", (V, C), {"out": np.ones(2, int)}, "output .* of out"),
    ("matmul", (A, B), {"order": "X"}, "order"),
    ("matmul", (A, B), {"nonsense": 1}, "nonsense"),
    ("matmul", (A, B), {"keepdims": True}, "keepdims"),
    ("matmul", (A, B), {"axis": 0}, "axis"),
    ("matmul", (A, B), {"axes": 3}, "axes must be"),
    ("matmul", (A, B), {"axes": [(0, 1), (0, 1)]}, "axes has 2 entries"),
    ("matmul", (A, B), {"axes": [(0, 2), (0, 1), (0, 1)]}, "axes: axis 2"),
    ("matmul", (A, B), {"axes": [(0, 0), (0, 1), (0, 1)]}, "axes"),
    ("matmul", (A, B), {"axes": [(0,), (0, 1), (0, 1)]}, "axes: entry 0"),
    ("matmul", (A, B), {"axes": [(0, 1), (0, 1), (0, 2)]}, "axes: axis 2"),
    ("matmul", (A, B), {"axes": [(0, 1), (0, "x"), (0, 1)]}, "no integer"),
    ("vecdot", (A, C), {}, "operands of shapes"),
    ("vecdot", (A, 2), {}, "operand 1"),
    ("vecdot", (A, A), {"axis": 2}, "axis 2"),
    ("vecdot", (A, A), {"axis": (0, 0)}, "axis must be int"),
    ("vecdot", (A, A), {"axis": 0, "axes": [0, 0]}, "axis and axes"),
    ("vecdot", (A, V), {"out": np.ones(3)}, "out of shape"),
    ("matvec", (V, V), {}, "operand 0"),
    ("matvec", (A, np.ones(2)), {}, "operands of shapes"),
    ("vecmat", (V, V), {}, "operand 1"),
    ("vecmat", (V, A), {}, "operands of shapes"),
    ("dot", (V, np.ones(4)), {}, "a of shape .* and b of shape"),
    ("dot", (A, A), {}, "a of shape"),
    ("dot", (np.ones((2, 1)), A), {}, "a of shape"),
    ("dot", (None, V), {}, "NoneType"),
    ("dot", ("a", V), {}, "str|dtype"),
    ("dot", (V, V), {"out": np.ones(1)}, "out must be"),
    ("dot", (V, V), {"out": np.ones((), "f4")}, "out must be"),
    ("dot", (C, A), {"out": np.ones((4, 3), order="F")}, "out must be"),
    ("dot", (C, A), {"out": []}, "out must be"),
    ("vdot", (V, np.ones(4)), {}, "a has 3 elements, b has 4"),
    ("inner", (A, B), {}, "a of shape"),
    ("outer", (V, V), {"out": np.ones((2, 2))}, "out of shape"),
    ("outer", (V, V), {"out": np.ones((3, 3), int)}, "out"),
    ("outer", (V, V), {"out": []}, "out must be"),
    ("tensordot", (A, A), {"axes": 1}, "axes"),
    ("tensordot", (A, A), {"axes": 3}, "axes"),
    ("tensordot", (A, A), {"axes": (0, 2)}, "axes"),
    ("tensordot", (A, A), {"axes": ((0, 0), (0, 0))}, "axes"),
    ("tensordot", (C, C), {"axes": ((0, -2), (0, 1))}, "axes"),
    ("tensordot", (A, A), {"axes": ((0,), (0, 1))}, "axes"),
    ("tensordot", (A, A), {"axes": "ab"}, "axes"),
    ("tensordot", (A, A), {"axes": 1.5}, "axes"),
    ("tensordot", (A, A), {"axes": (1, 2, 3)}, "axes"),
    ("tensordot", (np.ones((2, 1)), A), {"axes": ((1,), (1,))}, "axes"),
    ("kron", (V, None), {}, "NoneType"),
    ("trace", (V,), {}, "two dimensions"),
    ("trace", (A,), {"axis1": 2}, "axis1"),
    ("trace", (A,), {"axis1": 1}, "axis1"),
    ("trace", (A,), {"offset": 0.5}, "offset"),
    ("trace", (A,), {"out": []}, "out must be"),
    ("trace", (A,), {"out": np.ones(2)}, "out of shape"),
    ("linalg.multi_dot", ([A],), {}, "arrays has 1"),
    ("linalg.multi_dot", (3,), {}, "iterable"),
    ("linalg.multi_dot", ([V, np.ones((3, 3, 3)), V],), {}, "arrays: number 1"),
    ("linalg.multi_dot", ([V, V, V],), {}, "arrays: number 1"),
    ("linalg.multi_dot", ([V, C, V],), {}, "arrays: number 1"),
    ("linalg.multi_dot", ([A, B, C],), {"out": np.ones((2, 2), int)}, "out must be"),
    ("linalg.multi_dot", ([A, B, C],), {"out": []}, "out must be"),
    ("linalg.outer", (A, V), {}, "x1"),
    *[(f"cumulative_{name}", (A,), {"axis": axis}, "an array of 2 axes; name one by axis") for name in ("sum", "prod")
      for axis in ((0, 1), (), None)],
    *[(name, (A,), {"axis": axis}, "axis must be") for name in ("sum", "max", "mean", "var", "any", "argmin")
      for axis in (0.5, "a", True, (0, 1.0), [0, 1]) if not (name == "argmin" and axis is True)],
    *[(name, (A,), {"keepdims": keep}, "keepdims must be") for name in ("sum", "min", "mean", "std", "all")
      for keep in ("no", None, 1.0, [])],
    *[(name, (A,), {"axis": 0.5}, "axis must be") for name in ("cumulative_sum", "diff", "sort", "argsort", "flip",
      "squeeze", "expand_dims", "fft.fft", "unstack")],
    *[(name, (A,), {"correction": "a"}, "correction must be") for name in ("var", "std")],
    *[(name, (A,), {"initial": [1, 2]}, "initial must be") for name in ("sum", "max")],
    *[(name, (A,), {"axis": [0, 1]}, "axis must be") for name in ("prod", "std", "squeeze", "linalg.vector_norm")],
    ("flip", (A,), {"axis": [0, 0.5]}, "axis must be"),
    ("permute_dims", (A, [0, 0.5]), {}, "axes must be"),
    ("zeros", ([2, 3],), {"dtype": 0.5}, "Cannot interpret '0.5'"),
    ("concat", ([A, A],), {"axis": 0.5}, "axis must be"),
    ("stack", ([A, A],), {"axis": "a"}, "axis must be"),
    ("take", (A, [0]), {"axis": 0.5}, "axis must be"),
    ("take", (A, [0.5]), {"axis": 5}, "axis 5"),
    ("repeat", (A, 2), {"axis": 0.5}, "axis must be"),
    ("roll", (A, 1), {"axis": 0.5}, "axis must be"),
    ("moveaxis", (A, 0.5, 1), {}, "source must be"),
    ("swapaxes", (A, 0, "a"), {}, "axis2 must be"),
    ("diff", (A,), {"n": 0.5}, "n must be"),
    ("sort", (A, -1, "best"), {}, "kind must be"),
    ("argsort", (A,), {"kind": 3}, "kind must be"),
    ("eye", (0.5,), {}, "n_rows must be"),
    ("zeros", ((2, 0.5),), {}, "shape must be"),
    ("reshape", (A, 0.5), {}, "shape must be"),
]  # fmt: skip
KINDS = (np.exceptions.AxisError, np.linalg.LinAlgError, KeyError, IndexError, TypeError, ValueError, RuntimeError)


@pytest.mark.parametrize(("name", "args", "kwargs", "words"), BAD, ids=lambda x: str(x)[:50])
def test_bad_call(name, args, kwargs, words):
    with pytest.raises(Exception) as expected:
        attrgetter(name)(np)(*args, **kwargs)
    kind = next(t for t in KINDS if issubclass(expected.type, t))
    with pytest.raises(kind, match=words):
        attrgetter(name)(mdhnp)(*args, **kwargs)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda a: mdhnp.attention(a, a, a, causal="no"), "attention: causal must be True or False, not 'no'"),
        (lambda a: mdhnp.attention(a, a, a, scale="a"), "attention: scale must be a number, not 'a'"),
        (lambda a: mdhnp.argkmin(a, 2.0), "argkmin: k must be int, not 2.0"),
        (lambda a: mdhnp.gemm(1, a, a, trans_a="no"), "gemm: trans_a must be True or False"),
        (lambda a: mdhnp.sort(a, descending=None), "sort: descending must be True or False"),
        (lambda a: mdhnp.distribute(a, "overlap", halo=0.5, devices="cpu"), "distribute: halo must be int, not 0.5"),
        (lambda a: a.ravel(order=3), "order must be str"),
        (lambda a: a.std(ddof="a"), "std: ddof must be a number"),
        (lambda a: np.sum(a, axis=0.5), "sum: axis must be int or tuple of int, not 0.5"),
        (mdhnp.skeletons.reduce("add", axis=0.5), "reduce: axis must be int or tuple of int, not 0.5"),
        (mdhnp.skeletons.scan("add", axis=(0,)), "scan: axis: (0,) is no integer"),
        (lambda a: mdhnp.subtract.at(a > 0, [0], a[:1] > 0), "subtract.at: numpy boolean subtract"),
        (
            lambda _: mdhnp.md_hom(np.abs, {"i": mdhnp.cc}, "x[i] -> y[i]", boundary=3),
            "md_hom: boundary: takes modes by",
        ),
        (
            lambda _: mdhnp.md_hom(np.abs, {"i": mdhnp.cc}, "x[i] -> y[i]", segments=3),
            "md_hom: segments: takes text by",
        ),
        (lambda _: mdhnp.pw("add", name=3), "name: takes text, not 3"),
    ],
)
def test_arguments_of_other_types_are_named(call, words):
    with pytest.raises(TypeError) as raised:
        call(mdhnp.asarray(A, device="cpu"))
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("name", "args", "kwargs"),
    [
        ("matmul", (A, B), {"keepdims": True}),
        ("matmul", (A, B), {"dtype": int}),
        ("matmul", (A, B), {"out": np.ones((2, 4), int)}),
        ("vecdot", (A, A), {"dtype": int}),
        ("einsum", ("ij,jk", A, B), {"dtype": int}),
        ("linalg.outer", (V, V), {"out": np.ones((3, 3), int)}),
    ],
)
def test_errors_name_the_function_once(name, args, kwargs):
    with pytest.raises(TypeError) as raised:
        attrgetter(name)(mdhnp)(*args, **kwargs)
    name = name.rpartition(".")[2]
    assert str(raised.value).startswith(name)
    assert str(raised.value).count(name) == 1
