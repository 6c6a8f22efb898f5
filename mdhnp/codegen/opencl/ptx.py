"""What OpenCL C has no words for on NVIDIA's GPUs: inline assembly, in functions that kernels call."""

from collections.abc import MutableMapping

__all__ = ["COMMIT", "async_copy", "wait"]

COMMIT = 'asm volatile("cp.async.commit_group;" ::: "memory");'


def wait(pending: int) -> str:
    """Statement that waits until so many groups of copies, the last ones, are under way."""
    return f'asm volatile("cp.async.wait_group {pending};" ::: "memory");'


def async_copy(texts: MutableMapping[str, str], name: str, size: int, lanes: int, *, guarded: bool) -> str:
    """Ask for a function that starts to copy neighbours to local memory, or zeros where a condition does not hold.

    Parameters
    ----------
    texts : dict of str to str
        Where its text is added.
    name : str
        Type of the elements.
    size : int
        Bytes of one.
    lanes : int
        How many; all together at most 16 bytes. They are copied at once where they begin at a multiple of their bytes.
    guarded : bool
        Whether there is a condition, the last parameter.
    """
    function = f"copy_async_{name}{lanes if lanes > 1 else ''}{'_if' if guarded else ''}"
    whole = _copied(size * lanes, "p", "q", guarded)
    if lanes > 1:
        single = " ".join(_copied(size, f"(p + {n})", f"(q + {n})", guarded) for n in range(lanes))
        whole = f"if (((size_t)q & {size * lanes - 1}) == 0) {{ {whole} }}\n  else {{ {single} }}"
    condition = ", int given" if guarded else ""
    texts[function] = (
        f"static inline void {function}(__local {name} *p, __global const {name} *q{condition})\n{{ {whole} }}\n"
    )
    return function


def _copied(size: int, to: str, source: str, guarded: bool) -> str:
    """Only copies of 16 bytes can pass by the first-level cache."""
    kind, count = "cg" if size == 16 else "ca", f"[%0], [%1], {size}{', %2' if guarded else ''};"
    given = f', "r"(given ? {size} : 0)' if guarded else ""
    operands = f'"r"((uint)(size_t){to}), "l"({source}){given}'
    return f'asm volatile("cp.async.{kind}.shared.global {count}" :: {operands} : "memory");'
