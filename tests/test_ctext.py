"""OpenCL C text: which function is called, with how many parameters. Needs no device but for the last test."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from schedules import CAPS

from mdhnp import cc, md_hom, pw
from mdhnp.mdh.ctext import Definition, last_definition
from mdhnp.runtime.devices import Device
from mdhnp.schedule.check import IllegalSchedule, check
from mdhnp.schedule.default import default
from mdhnp.schedule.schedule import Schedule

PRODUCT = Definition("f", 2, "float")

#: Text of products, with all that looks like a function beside it.
TEXTS: dict[str, str] = {
    "plain": "float f(float a, float b) { return a * b; }",
    "comment": "/* like max(a, b) */ float f(float a, float b) { return a * b; }",
    "comment at the end": "float f(float a, float b) { return a * b; } // not float g(float a) { return a; }",
    "line comment": "// float g(float a) {\nfloat f(float a, float b) // f(\n{ return a * b; /* } */ }",
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
        assert last_definition(f"int f{text} {{ return 0; }}") == Definition("f", count, "int")
    assert last_definition("void f(int a, int *p) { }") == Definition("f", 2, "")
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


@pytest.mark.parametrize("name", ["comment", "helper", "macro", "structure", "table", "lines"])
def test_the_last_definition_is_called(device: Device, name: str) -> None:
    x, y = np.arange(5, dtype="f4"), np.arange(1, 6, dtype="f4")
    z = md_hom(TEXTS[name], {"i": cc}, "x[i], y[i] -> z[i]", results="f4")(x, y)
    np.testing.assert_array_equal(z, x * y)


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
