"""Vectors at any element's address in global memory, for compilers that move them element by element then.

Where one begins is tested as the kernel runs: it is the same for all of an array whose rows are of whole vectors.
Elements are written out: of two vector accesses, one for each case, NVIDIA's compiler (580.159) makes one, of a vector
that begins where it should not.
"""

from collections.abc import MutableMapping

from mdhnp.codegen.opencl.ctypes import vector_name

__all__ = ["load", "store"]

#: Bytes that are moved at once, at most.
_AT_ONCE = 16


def load(texts: MutableMapping[str, str], name: str, lanes: int, nbytes: int) -> str:
    """Write the function that reads a vector of so many bytes, and name it."""
    kind, test = _begins(texts, name, lanes, nbytes)
    items = ", ".join([f"p[{n}]" for n in range(lanes)])
    texts[f"load_{kind}"] = (
        f"static inline {kind} load_{kind}(__global const {name} *p)\n"
        f"{{ if ({test}) return *(__global const {kind}_a *)p;\n"
        f"  return ({kind})({items}); }}\n"
    )
    return f"load_{kind}"


def store(texts: MutableMapping[str, str], name: str, lanes: int, nbytes: int) -> str:
    """Write the function that writes one, and name it."""
    kind, test = _begins(texts, name, lanes, nbytes)
    items = " ".join([f"p[{n}] = v.s{n:x};" for n in range(lanes)])
    texts[f"store_{kind}"] = (
        f"static inline void store_{kind}(__global {name} *p, {kind} v)\n"
        f"{{ if ({test}) *(__global {kind}_a *)p = v;\n"
        f"  else {{ {items} }} }}\n"
    )
    return f"store_{kind}"


def _begins(texts: MutableMapping[str, str], name: str, lanes: int, nbytes: int) -> tuple[str, str]:
    """Name the type, and write the test for where the vector begins."""
    kind, size = vector_name(name, lanes), min(nbytes, _AT_ONCE)
    texts[f"_{kind}_a"] = f"typedef {kind} {kind}_a __attribute__((aligned({size})));\n"
    return kind, f"((size_t)p & {size - 1}) == 0"
