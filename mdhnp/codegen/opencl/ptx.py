"""What OpenCL C has no words for on NVIDIA's GPUs: inline assembly, in functions that kernels call."""

from itertools import count

from mdhnp.codegen.opencl.ctypes import vector_name
from mdhnp.codegen.opencl.prelude import WIDE, Helpers
from mdhnp.schedule.atoms import Atom

#: Of registers: their types in OpenCL C, and the letters of assembly's operands.
_TYPES = {
    "float16": "uint", "float32": "float", "float64": "double", "int8": "uint", "uint8": "uint", "int32": "int",
}  # fmt: skip
_LETTERS = {"float16": "r", "float32": "f", "float64": "d", "int8": "r", "uint8": "r", "int32": "r"}

#: Bodies of functions of two floats, of which NaN wins: one instruction instead of two tests and two choices.
EXTREMA = {
    op: f'float r; asm("{op[:3]}.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r;'
    for op in ("maximum", "minimum")
}

COMMIT = 'asm volatile("cp.async.commit_group;" ::: "memory");'


def wait(pending: int) -> str:
    """Statement that waits until so many groups of copies, the last ones, are under way."""
    return f'asm volatile("cp.async.wait_group {pending};" ::: "memory");'


def async_copy(helpers: Helpers, name: str, size: int, lanes: int, *, guarded: bool) -> str:
    """Ask for a function that starts to copy neighbours to local memory, or zeros where a condition does not hold.

    The elements, of `size` bytes each, are at most 16 bytes, and copied at once where they begin at a multiple of
    these. If it is `guarded`, the condition is the last parameter.
    """
    function = f"copy_async_{name}{lanes if lanes > 1 else ''}{'_if' if guarded else ''}"
    whole = _copied(size * lanes, "p", "q", guarded)
    if lanes > 1:
        single = _one_by_one(size, lanes, guarded)
        whole = f"if (((size_t)q & {size * lanes - 1}) == 0) {{ {whole} }}\n  else {{ {single} }}"
    condition = ", int given" if guarded else ""
    return helpers.define("void", function, f"__local {name} *p, __global const {name} *q{condition}", whole)


def matrix_product(helpers: Helpers, atom: Atom) -> str:
    """Ask for a function that adds to pairs of elements of C; it takes them, then the elements of A and of B."""
    name, pairs = _TYPES[atom.result], len(atom.c.numbers) // 2
    function = f"mma_{'u' if atom.operand == 'uint8' else ''}{name}_{'x'.join(map(str, atom.shape))}"
    a, b = ([f"{letter}{n}" for n in range(atom.registers(f))] for letter, f in (("a", atom.a), ("b", atom.b)))
    sums = [f"s{n}" for n in range(2 * pairs)]
    parameters = [*(f"{name}2 *c{n}" for n in range(pairs)), *(f"{_TYPES[atom.operand]} {x}" for x in (*a, *b))]
    number = count()
    into, left, right = ("{" + ", ".join(f"%{next(number)}" for _ in some) + "}" for some in (sums, a, b))
    letter = _LETTERS[atom.result]
    out = ", ".join(f'"+{letter}"({s})' for s in sums)
    # Those of float32 are words to the instruction.
    word = '"r"(as_uint({}))' if atom.operand == "float32" else f'"{_LETTERS[atom.operand]}"({{}})'
    given = ", ".join(word.format(x) for x in (*a, *b))
    taken = " ".join(f"{name} s{2 * n} = c{n}->x, s{2 * n + 1} = c{n}->y;" for n in range(pairs))
    back = " ".join(f"*c{n} = ({name}2)(s{2 * n}, s{2 * n + 1});" for n in range(pairs))
    # Volatile: a compiler must not move it to where only some of the work-items come.
    product = f'asm volatile("{atom.instruction} {into}, {left}, {right}, {into};" : {out} : {given});'
    return helpers.define("void", function, ", ".join(parameters), f"{taken}\n  {product}\n  {back}")


def load_matrix(helpers: Helpers, name: str, blocks: int, *, turned: bool) -> str:
    """Ask for a function that loads 2 or 4 blocks of 8 rows of 16 bytes; it takes where registers are, then the row.

    Where they are `turned`, they are transposed, as matrices of 2-byte elements.
    """
    function = f"load_matrix_{name}{blocks}{'_turned' if turned else ''}"
    registers = [f"x{n}" for n in range(blocks)]
    into, out = ", ".join(f"%{n}" for n in range(blocks)), ", ".join(f'"=r"({x})' for x in registers)
    parameters = ", ".join(f"{name} *r{n}" for n in range(blocks))
    given = "{}" if name == "uint" else f"as_{name}({{}})"
    back = " ".join(f"*r{n} = {given.format(x)};" for n, x in enumerate(registers))
    instruction = f"ldmatrix.sync.aligned.m8n8.x{blocks}{'.trans' if turned else ''}.shared.b16"
    load = f'asm volatile("{instruction} {{{into}}}, [%{blocks}];" : {out} : "r"(row) : "memory");'
    body = f"uint {', '.join(registers)};\n  {load}\n  {back}"
    return helpers.define("void", function, f"{parameters}, uint row", body)


def pack_bytes(helpers: Helpers, byte: int) -> str:
    """Ask for a function that gives a byte of each of four integers in one, the first one's last.

    Two bytes of two integers are chosen at once, so that other bytes' functions have that in common.
    """
    pair, pairs = ("0x5140", "0x7362")[byte // 2], ("0x5410", "0x7632")[byte % 2]
    chosen = [
        f'asm("prmt.b32 %0, %1, %2, {which};" : "=r"({to}) : "r"({x}), "r"({y}));'
        for to, x, y, which in (("x", "a", "b", pair), ("y", "c", "d", pair), ("r", "x", "y", pairs))
    ]
    body = f"uint x, y, r; {' '.join(chosen)} return r;"
    return helpers.define("uint", f"pack_bytes{byte}", "uint a, uint b, uint c, uint d", body)


def shuffle(helpers: Helpers, name: str, lanes: int, *, backwards: bool) -> str:
    """Ask for a function that gives a value that the work-item `d` further on in the subgroup, or before, has.

    It is volatile, for a compiler could move what only some work-items need to where only these are.
    """
    short, mode = ("shuffle_up", "up.b32 %0, %1, %2, 0") if backwards else ("shuffle", "down.b32 %0, %1, %2, 0x1f")
    exchange = f'asm volatile("shfl.sync.{mode}, 0xffffffff;" : "=r"(r) : "r"(v), "r"(d));'
    helpers.define("int", f"{short}_int", "int v, int d", f"int r; {exchange} return r;", key=f"_{short}")
    kind = vector_name(name, lanes)
    if name != "int":
        helpers.define(name, f"{short}_{name}", f"{name} v, int d", _by_ints(name, short), key=f"{short} {name}")
    if lanes > 1:
        items = ", ".join(f"{short}_{name}(v.s{n:x}, d)" for n in range(lanes))
        body = f"return ({kind})({items});"
        helpers.define(kind, f"{short}_{kind}", f"{kind} v, int d", body, key=f"{short} {kind}")
    return f"{short}_{kind}"


def _by_ints(name: str, short: str) -> str:
    """Body of a function that shuffles by way of ints: in halves, as it is, or widened."""
    if name in WIDE:
        return f"const int2 h = as_int2(v); return as_{name}((int2)({short}_int(h.x, d), {short}_int(h.y, d)));"
    if name in {"float", "uint"}:
        return f"return as_{name}({short}_int(as_int(v), d));"
    return f"return ({name}){short}_int(v, d);"


def _one_by_one(size: int, lanes: int, guarded: bool) -> str:
    """All elements; what is smaller than a register is not copied asynchronously.

    Written out, these hindered the compiler in all that is around: products of float16 took 1.1 times as long.
    """
    if size >= 4:
        return " ".join(_copied(size, f"(p + {n})", f"(q + {n})", guarded) for n in range(lanes))
    element = "given ? q[n] : 0" if guarded else "q[n]"
    return f"__attribute__((opencl_unroll_hint(1))) for (int n = 0; n < {lanes}; ++n) p[n] = {element};"


def _copied(size: int, to: str, source: str, guarded: bool) -> str:
    """Only copies of 16 bytes can pass by the first-level cache."""
    kind, count = "cg" if size == 16 else "ca", f"[%0], [%1], {size}{', %2' if guarded else ''};"
    given = f', "r"(given ? {size} : 0)' if guarded else ""
    operands = f'"r"((uint)(size_t){to}), "l"({source}){given}'
    return f'asm volatile("cp.async.{kind}.shared.global {count}" :: {operands} : "memory");'
