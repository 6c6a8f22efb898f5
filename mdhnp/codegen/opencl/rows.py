"""Rows that reach beyond an array: vectors of which some lanes stand for constants, or for elements near the border."""

from mdhnp.codegen.opencl.ctypes import vector_name

__all__ = ["row_at_border"]

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
    """Write what gives a vector from `i` on of a row of `n` neighbours, if some lane of it lies inside.

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
        f"  if (s == 1 && n >= {lanes} && i > -{lanes} && i < n) {{\n"
        f"    const int b = clamp((int)i, 0, (int)n - {lanes});\n"
        f"    const {kind} v = {load};\n    const {index} l = ({index})({numbers}) + (int)i;\n"
        f"    return {taken};\n  }}\n"
    )
