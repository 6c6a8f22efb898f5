"""OpenCL C text: which function is called, with which parameters: values, and slices of arrays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from ir_verify import verify
from kernels import TEXTS as WALKING
from kernels import plain
from running import run_plain
from schedules import CAPS

import mdhnp
from mdhnp import cc, config, md_hom, pw
from mdhnp.codegen.generate import procedures
from mdhnp.codegen.ir.show import show
from mdhnp.mdh import cut, interpret
from mdhnp.mdh.ctext import Definition, last_definition
from mdhnp.runtime.devices import Device
from mdhnp.schedule.check import check
from mdhnp.schedule.default import default
from mdhnp.schedule.schedule import IllegalSchedule, LocalCopy, Schedule

PRODUCT = Definition("f", ("float a", "float b"), "float")

#: Text of products, with all that looks like a function beside it.
TEXTS: dict[str, str] = {
    "plain": "float f(float a, float b) { return a * b; }",
    "comment": "/* like max(a, b) */ float f(float a, float b) { return a * b; }",
    "comment at the end": "float f(float a, float b) { return a * b; } // not float g(float a) { return a; }",
    "line comment": "// float g(float a) {\nfloat f(float a, float b) // f(\n{ return a * b; /* } */ }",
    "comment of a sign": "float f(float a, float b) { //@ twice\n return a * b; } //@ to here",
    "helper": "float twice(float a) { return 2 * a; }\nfloat f(float a, float b) { return twice(a) * b / 2; }",
    "prototype": "float g(float a);\nfloat f(float a, float b) { return g(a) * b; }\nfloat g(float a);",
    "macro": "#define TIMES(x, y) \\\n  ((x) * (y))\nfloat f(float a, float b) { return TIMES(a, b); }\n  # undef X",
    "attribute": "__attribute__((always_inline)) static float f(float a, float b) { return a * b; }",
    "attribute behind": "float __attribute__((const)) f(float a, float b) { return a * b; }",
    "nested braces": "float f(float a, float b) { if (a > b) { return a * b; } else { return b * a; } }",
    "structure": "typedef struct { float x; } one;\nfloat f(float a, float b) { one o = {a}; return o.x * b; }",
    "table": "__constant float T[] = {1, 2};\nfloat f(float a, float b) { return a * b * T[0]; }",
    "lines": "static\r\nfloat\r\nf\r\n(float a,\r\n float b)\r\n{ return a * b; }\r\n",
    "characters": "float f(float a, float b) { return '{' == '\\'' ? a : a * b; }",
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_last_definition_is_found(name: str) -> None:
    assert last_definition(TEXTS[name]) == PRODUCT


def test_parameters_are_counted() -> None:
    for text, count in (("()", 0), ("(void)", 0), ("(float4 a)", 1), ("(int a, __private float (*p)[2], int *q)", 3)):
        found = last_definition(f"int f{text} {{ return 0; }}")
        assert (found.name, len(found.parameters), found.returns) == ("f", count, "int")
    assert last_definition("void f(int a, int  *p) { }") == Definition("f", ("int a", "int *p"), "")
    assert last_definition("void *f(int a) { }").returns


X = np.ones(3, np.float32)


@pytest.mark.parametrize(
    ("message", "text", "results"),
    [
        ("must define a function", "float f(float a, float b);", "f4"),
        ("must define a function", "/* float f(float a, float b) { return a; } */", "f4"),
        ("must define a function", "a * b", "f4"),
        ("braces that do not match", "float f(float a, float b) { return a * b;", "f4"),
        ("braces that do not match", "float f(float a, float b) { return a * b; }}", "f4"),
        ("f takes 1 parameters, there are 2 accesses of inputs", "float f(float a) { return a; }", "f4"),
        ("f takes 3 parameters, there are 2", "float f(float a, float b, float c) { return a; }", "f4"),
        ("f must return its result", "void f(float a, float b) { }", "f4"),
        ("2 accesses of inputs and 2 pointers to results", "void f(float a, float b) { }", ("f4", "f4")),
        ("f must return nothing", "float f(float a, float b, float *p, float *q) { return a; }", ("f4", "f4")),
        ("results, the types .* must be given", "void f(float a, float b, float *p) { }", None),
    ],
)
def test_what_cannot_be_called_is_refused(message: str, text: str, results: Any) -> None:
    outputs = "z[i], w[i]" if isinstance(results, tuple) else "z[i]"
    with pytest.raises(ValueError, match=message):
        md_hom(text, {"i": cc}, f"x[i], y[i] -> {outputs}", results=results).bind(X, X)


@pytest.mark.parametrize("name", ["comment", "comment of a sign", "helper", "macro", "structure", "table", "lines"])
def test_the_last_definition_is_called(device: Device, name: str) -> None:
    x, y = np.arange(5, dtype="f4"), np.arange(1, 6, dtype="f4")
    z = md_hom(TEXTS[name], {"i": cc}, "x[i], y[i] -> z[i]", results="f4")(x, y)
    np.testing.assert_array_equal(z, x * y)


#: Names of kernels' variables.
VARIABLES = ("g", "i", "j", "I0", "o0", "I1", "O0", "n0")


@pytest.mark.parametrize("settings", ["auto", "always"])
def test_functions_and_macros_may_have_names_of_variables(device: Device, settings: str) -> None:
    x = np.arange(6, dtype="f4").reshape(2, 3)
    macros = "".join([f"# define  {name} {n}\n" for n, name in enumerate(VARIABLES)])
    texts = [f"float {name}(float x) {{ return 2 * x; }}" for name in VARIABLES]
    with config(specialise=settings):
        for text in (*texts, f"{macros}float f(float x) {{ return {VARIABLES[2]} * x; }}"):
            np.testing.assert_array_equal(md_hom(text, {"i": cc, "j": cc}, "x[i,j] -> y[j,i]")(x), 2 * x.T)


#: Walks over two rows, whose order counts.
HORNER = """
#define MOST(x, y) ((x) > (y) ? (x) : (y))
TYPE f(const global TYPE *row, int d, int across, const global TYPE *restrict column, const int e, int down) {
    TYPE value = d;
    for (int k = 0; k < MOST(d, e); ++k)
        value = 2 * value + row[k * across] * column[k * down];
    return value;
}"""


def horner(a: Any, b: Any) -> Any:
    """The same of NumPy's arrays."""
    value = np.full((len(a), b.shape[1]), a.shape[1], a.dtype)
    for k in range(a.shape[1]):
        value = 2 * value + a[:, k, np.newaxis] * b[k]
    return value


def whole(shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    return np.random.default_rng(seed).integers(0, 4, shape).astype(dtype)


LAYOUTS: dict[str, tuple[Any, Any]] = {
    "plain": (whole((6, 5), "f4", 0), whole((5, 7), "f4", 1)),
    "transposed": (whole((5, 6), "f4", 0).T, whole((7, 5), "f4", 1).T),
    "turned, with gaps": (whole((12, 10), "f4", 0)[::-2, ::-2], whole((15, 7), "f4", 1)[2::3, ::-1]),
    "repeated": (np.broadcast_to(whole((6, 1), "f4", 0), (6, 5)), np.broadcast_to(whole((5, 1), "f4", 1), (5, 7))),
    "one row": (whole((1, 5), "f4", 0), whole((5, 7), "f4", 1)),
    "one column": (whole((6, 5), "f4", 0), whole((5, 1), "f4", 1)),
    "one pair": (whole((1, 5), "f4", 0), whole((5, 1), "f4", 1)),
    "of one element": (whole((6, 1), "f4", 0), whole((1, 7), "f4", 1)),
    "of no elements": (whole((6, 0), "f4", 0), whole((0, 7), "f4", 1)),
    "no rows": (whole((0, 5), "f4", 0), whole((5, 7), "f4", 1)),
}


@pytest.mark.parametrize("settings", ["auto", "always"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_slices(device: Device, layout: str, settings: str) -> None:
    f = md_hom(HORNER.replace("TYPE", "float"), {"i": cc, "j": cc}, "A[i,:], B[:,j] -> C[j,i]")
    a, b = LAYOUTS[layout]
    with config(specialise=settings):
        np.testing.assert_array_equal(f(a, b), horner(a, b).T, strict=True)


NAMES = {
    "i1": "char", "u1": "uchar", "i2": "short", "u2": "unsigned short", "i4": "int", "u4": "uint", "i8": "long",
    "u8": "unsigned long", "f8": "double",
}  # fmt: skip


@pytest.mark.parametrize("dtype", NAMES)
def test_types_of_slices(device: Device, dtype: str) -> None:
    a, b = whole((3, 4), dtype, 0), whole((4, 2), dtype, 1)
    f = md_hom(HORNER.replace("TYPE", NAMES[dtype]), {"i": cc, "j": cc}, "A[i,:], B[:,j] -> C[i,j]")
    np.testing.assert_array_equal(f(a, b), horner(a, b), strict=True)


def test_slices_of_several_axes_beside_elements_and_an_operator(device: Device) -> None:
    text = """void f(const global int *m, int r, int down, int c, int across, int v, int *sum, int *count) {
        *sum = v, *count = r * c;
        for (int i = 0; i < r; ++i)
            for (int j = 0; j < c; ++j)
                *sum += m[i * down + j * across];
    }"""
    operators = {"i": cc, "j": pw("add")}
    f = md_hom(text, operators, "A[:,i,:], v[j], A[i,:,:] -> sum[i], count[i]", results=("i4", "i4"))
    a, v = whole((4, 4, 6), "i4", 0)[:, :, ::-2], whole((70_000,), "i4", 1)
    with pytest.raises(ValueError, match=r"f takes 8 parameters, there are 3 .* length and the step of each axis"):
        f(a, v)
    f = md_hom(text, operators, "A[:,i,:], v[j] -> sum[i], count[i]", results=("i4", "i4"))
    assert str(f.bind(a, v)) == "md_hom(f(x0, x1), (++, +)) ∘ (A[0:4,i,0:3], v[j]) -> sum[i], count[i]"
    total, count = f(a, v)
    np.testing.assert_array_equal(total, len(v) * a.sum((0, 2)) + v.sum())
    np.testing.assert_array_equal(count, [len(v) * 12] * 4)


@pytest.mark.parametrize("dim", [0, 1])
def test_parts_of_what_reads_slices(device: Device, dim: int) -> None:
    a, b = LAYOUTS["turned, with gaps"]
    views = f"A[i,:], B[:,j] -> C[{'j,i' if dim else 'i,j'}]"  # parts are stretches of memory
    h = md_hom(HORNER.replace("TYPE", "float"), {"i": cc, "j": cc}, views).bind(a, b)
    found = cut(h, dim, 3).run(lambda part, *arrays: run_plain(device, part, *arrays)[0], a, b)
    np.testing.assert_array_equal(found, horner(a, b).T if dim else horner(a, b))


def test_slices_in_fused_functions(device: Device) -> None:
    f = md_hom(HORNER.replace("TYPE", "float"), {"i": cc, "j": cc}, "A[i,:], B[:,j] -> C[i,j]")
    a, b = LAYOUTS["plain"]
    functions: list[Any] = [
        lambda h, a, b: h(a + 1, b) * 2,
        lambda h, a, b: h(a[::2], b[:, ::-1]) + h(a[::2], b[:, ::-1]),
        lambda h, a, b: h(a[:, 1:4], b[4:1:-1]).sum(0),
        lambda h, a, b: h(b.T, a.T),
        lambda h, a, b: h(a.reshape(10, 3), b.reshape(-1)[:33].reshape(3, 11)),
    ]
    for function in functions:
        fused = mdhnp.fuse(lambda a, b, function=function: function(f, a, b))
        wanted = function(horner, a, b)
        np.testing.assert_array_equal(fused(a, b), wanted)
        on_device = fused(*[mdhnp.asarray(v, device=device) for v in (a, b)])
        np.testing.assert_array_equal(on_device.numpy(), wanted)


ROW = "float f(const global float *a, int n, int step) { return n; }"
Y = np.ones((3, 4), np.float32)


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (TypeError, "takes 'const global float \\*a', a slice is of const global float64",
         lambda: md_hom(ROW, {"i": cc}, "A[i,:] -> O[i]").bind(Y.astype("f8"))),
        (TypeError, "a slice is of const global bool",
         lambda: md_hom(ROW.replace("float *a", "bool *a"), {"i": cc}, "A[i,:] -> O[i]").bind(Y > 1)),
        (TypeError, "not float16", lambda: md_hom(ROW, {"i": cc}, "A[i,:] -> O[i]").bind(Y.astype("f2"))),
        *[(TypeError, "a slice is of const global float32",
           lambda wrong=wrong: md_hom(ROW.replace("const global float *a", wrong), {"i": cc}, "A[i,:] -> O[i]").bind(Y))
          for wrong in ("global float *a", "const float *a", "const global float **a", "const global float4 *a",
                        "const global number *a", "float a", "global float *const a", "const global float *")],
        (ValueError, "f takes 3 parameters, there are 1", lambda: md_hom(ROW, {"i": cc}, "A[i,0] -> O[i]").bind(Y)),
        (ValueError, "A: only a scalar function of OpenCL C text takes slices",
         lambda: md_hom(lambda a: a, {"i": cc}, "A[i,:] -> O[i]").bind(Y)),
        (ValueError, "only a scalar function",
         lambda: md_hom(ROW, {"i": cc}, "A[i,:] -> O[i]", finish=lambda total, a: total + a).bind(Y)),
        (ValueError, "no boundary mode",
         lambda: md_hom(ROW, {"i": cc}, "A[i,:] -> O[i]", boundary={"A": "wrap"}).bind(Y)),
        (ValueError, "has a slice; a point writes one", lambda: md_hom(ROW, {"i": cc}, "A[i,:] -> O[i,:]")),
        (ValueError, "not affine", lambda: md_hom(ROW, {"i": cc}, "A[i,1:] -> O[i]")),
        (ValueError, "A: array of 1 axes, 2 are needed", lambda: md_hom(ROW, {"i": cc}, "A[i,:] -> O[i]").bind(Y[0])),
        (ValueError, "too long", lambda: md_hom(ROW, {"i": cc}, "A[i,:] -> O[i]").bind(
            np.broadcast_to(Y[:, :1], (3, 2**31)))),
        (TypeError, "cannot be interpreted", lambda: interpret(md_hom(ROW, {"i": cc}, "A[i,:] -> O[i]").bind(Y), Y)),
    ],
)  # fmt: skip
def test_slices_that_are_refused(error: type[Exception], message: str, call: Any) -> None:
    with pytest.raises(error, match=message):
        call()


def test_slices_in_the_loop_level_ir() -> None:
    (built,) = procedures(*WALKING["slices"][0].scheduled(), CAPS, plain)
    verify(built)
    assert "dot(I0[i * 9, 9 by 1], I1[j, 9 by 11])" in show(built)


def test_slices_are_not_copied_to_local_memory() -> None:
    h = md_hom(ROW, {"i": cc}, "A[i,:] -> O[i]").bind(Y)
    with pytest.raises(IllegalSchedule, match="of input 0 a function is given addresses"):
        check(h, replace(Schedule.plain(h.extents, 1), local_copies=(LocalCopy((0, 1)),)), CAPS)


def test_text_combines_scalars_and_in_order_unless_it_is_said_to_commute() -> None:
    text, long = "float g(float a, float b) { return a + b; }", np.ones(10_000, np.float32)
    for commutative in (None, True):
        h = md_hom(lambda v: v, {"k": pw(text, identity=0, commutative=commutative)}, "x[k] -> z[]").bind(long)
        assert h.operator is not None
        assert h.operator.commutative == bool(commutative)
        assert h.operator.name == "g"
        with pytest.raises(IllegalSchedule, match="OpenCL C text takes scalars"):
            check(h, replace(Schedule.plain(h.extents, 1), private_tile=(4,), vector_dim=0, vector_width=4), CAPS)
        assert default(h, CAPS).vector_width == 1
    with pytest.raises(ValueError, match="identity: 'x' is no float32"):
        md_hom(lambda v: v, {"k": pw(text, identity="x")}, "x[k] -> z[]").bind(X)
