"""Rows that reach beyond an array: vectors of which some lanes stand for constants, or for elements near the border."""

from mdhnp.codegen.opencl.ctypes import vector_name

__all__ = ["BOUNDARIES", "near_row", "row_at_border"]

#: What gives the index inside of `0 … n - 1` that `i` stands for.
BOUNDARIES = {
    "nearest": "return clamp(i, ({t})0, n - 1);",
    "wrap": "if (i >= 0 && i < n) return i; const {t} r = i % n; return r < 0 ? r + n : r;",
    "reflect": (
        "if (i >= 0 && i < n) return i; "
        "const {t} m = 2 * n; {t} r = i % m; r = r < 0 ? r + m : r; return min(r, m - 1 - r);"
    ),
    "mirror": (
        "if (i >= 0 && i < n) return i; "
        "const {t} m = max(2 * n - 2, ({t})1); {t} r = i % m; r = r < 0 ? r + m : r; return min(r, m - r);"
    ),
}

#: Where an index `l` less than a vector's lanes beyond `0 … n - 1` is.
_FOLDED = {
    "constant": "l",
    "nearest": "l",
    "reflect": "select(select(l, -1 - l, l < 0), 2 * n - 1 - l, l >= n)",
    "mirror": "select(select(l, -l, l < 0), 2 * n - 2 - l, l >= n)",
}
#: Signed integers of as many bytes, which `select` wants, and the letter of unsigned ones, which `shuffle` does.
_INTEGERS = {
    "char": "char", "uchar": "char", "short": "short", "ushort": "short", "int": "int", "uint": "int", "float": "int",
    "long": "long", "ulong": "long", "double": "long",
}  # fmt: skip


def row_at_border(name: str, lanes: int, mode: str, load: str) -> str:
    """Write what gives a vector from `i` on of a row of `n` neighbours, some lane of which lies inside.

    `load` is one vector from `b` on, the nearest that lies inside as a whole; its lanes change places. One by one they
    would take ten times as long. Nothing for modes whose elements are elsewhere (`wrap`), and for other types.
    """
    if mode not in _FOLDED or name not in _INTEGERS:
        return ""
    kind, index = vector_name(name, lanes), f"int{lanes}"
    numbers = ", ".join(map(str, range(lanes)))
    # With numbers as bounds, which OpenCL C allows, Oclgrind's clamp of vectors is wrong.
    lane = f"clamp({_FOLDED[mode]} - b, ({index})(0), ({index})({lanes - 1}))"
    taken = f"shuffle(v, convert_u{_INTEGERS[name]}{lanes}({lane}))"
    if mode == "constant":
        taken = f"select(({kind})(c), {taken}, convert_{_INTEGERS[name]}{lanes}(l >= 0 && l < n))"
    return (
        f"const int b = clamp((int)i, 0, (int)n - {lanes}); const {kind} v = {load}; "
        f"const {index} l = ({index})({numbers}) + (int)i; return {taken};"
    )


def near_row(function: str, name: str, lanes: int, mode: str, vector: str) -> str:
    """Write a function that gives such a vector of neighbours in local memory; of a row of none only constants."""
    kind = vector_name(name, lanes)
    none = f"if (n == 0) return ({kind})(c); " if mode == "constant" else ""
    row = row_at_border(name, lanes, mode, f"*(__local const {vector} *)(p + b)")
    return f"{kind} {function}(__local const {name} *p, int i, int n, {name} c)\n{{ {none}{row} }}\n"
