"""Declarations of the functions of OpenCL C that a text calls, for PoCL.

PoCL puts those of all functions, 15,000, before each program and reads them twice: 0.3 s of processor time, beside
0.03 s for a small kernel (AMD EPYC, PoCL 6.0). Texts that call others than those known here, or that overload
functions, are left to that header.
"""

import re
from functools import cache

from mdhnp.mdh.ctext import defined_macros, defined_names, without_comments

#: The macro by which PoCL's header knows that it was read.
WITHOUT_HEADER = " -D_OPENCL_H_"

_SIGNED = ("char", "short", "int", "long")
_INTEGERS = (*_SIGNED, "uchar", "ushort", "uint", "ulong")
_FLOATS = ("float", "double")
_ALL = (*_INTEGERS, *_FLOATS)
#: Names, and how they are declared for each type T, of any lanes. I is the signed integer as large as T, A an address
#: space. Functions are constant, which compilers make use of, unless they have an A or the result void.
_FUNCTIONS = (
    ("get_global_id get_local_id get_group_id get_global_size get_local_size get_num_groups", "size_t F(uint)", ("",)),
    ("sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh fabs "
     "floor ceil trunc rint", "T F(T)", _FLOATS),
    ("atan2 hypot fmod copysign nextafter fmax fmin pow", "T F(T, T)", _FLOATS),
    ("fma mad", "T F(T, T, T)", _FLOATS),
    ("min max", "T F(T, T)", _ALL),
    ("clamp", "T F(T, T, T)", _ALL),
    ("popcount", "T F(T)", _INTEGERS),
    ("any all", "int F(T)", _SIGNED),
    ("select", "T F(T, T, I)", _ALL),
    ("select", "T F(T, T, uI)", _ALL),
    ("shuffle", "T F(T, uI)", _ALL),
    ("barrier", "void __attribute__((convergent)) F(cl_mem_fence_flags)", ("",)),
    ("atomic_add atomic_sub atomic_min atomic_max", "T F(volatile A T *, T)", ("int", "uint")),
    ("atomic_inc", "T F(volatile A T *)", ("int", "uint")),
    ("atomic_cmpxchg", "T F(volatile A T *, T, T)", ("int", "uint")),
)  # fmt: skip
_SPACES = ("__global", "__local", "__private")
_CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
#: What stands before a parenthesis and is no function, or one that the compiler knows itself.
_WORDS = {
    *("if", "for", "while", "switch", "return", "sizeof", "volatile", "asm", "defined"),
    *("__attribute__", "reqd_work_group_size", "vec_type_hint", "aligned", "opencl_unroll_hint"),
}
_CONVERSION = re.compile(r"convert_([a-z]+)(\d*)(?:_sat)?(?:_rt[ezpn])?")
_HALVES = re.compile(r"v(load|store)_half(\d*)(?:_rt[ezpn])?")


def declared(source: str) -> str | None:
    """Give a text with the functions that it calls declared before it, and its lines numbered as they were.

    None where it calls any that is neither known here nor its own, or overloads functions.
    """
    code = without_comments(source)
    try:
        own = {*defined_names(code), *defined_macros(code)}
    except ValueError:  # braces that do not match
        return None
    names = {*_CALL.findall(code)} - _WORDS - own
    forms = {name: _declarations(name) for name in sorted(names) if not name.startswith("as_")}
    if "overloadable" in source or not all(forms.values()):
        return None
    return "".join(forms.values()) + "\n#line 1\n" + source


@cache
def _declarations(name: str) -> str:
    if found := _CONVERSION.fullmatch(name):
        result, lanes = found.groups()
        forms = [f"{result}{lanes} F({t}{lanes})" for t in _ALL]
    elif found := _HALVES.fullmatch(name):
        way, lanes = found.groups()
        stores = [f"void F({t}{lanes}, size_t, A half *)" for t in _FLOATS]
        forms = stores if way == "store" else [f"float{lanes} F(size_t, const A half *)"]
    else:
        forms = [
            re.sub(r"\bT\b", f"{t}{lanes}", form).replace("I", f"{_integer(t)}{lanes}")
            for names, form, types in _FUNCTIONS
            if name in names.split()
            for t in types
            for lanes in (("", 2, 3, 4, 8, 16) if "T" in form and " A " not in form else ("",))
        ]
    return "".join(map(_declaration, forms)).replace("F(", f"{name}(")


def _integer(t: str) -> str:
    return {"float": "int", "double": "long"}.get(t, t.removeprefix("u"))


def _declaration(form: str) -> str:
    attribute = "__attribute__((overloadable))"
    if " A " in form:
        spaces = _SPACES if "half" in form else _SPACES[:2]  # atomic functions are of shared memory
        return "".join(f"{attribute} {form.replace(' A ', f' {space} ')};" for space in spaces)
    constant = "" if form.startswith("void") else " __attribute__((const))"
    return f"{attribute}{constant} {form};"
