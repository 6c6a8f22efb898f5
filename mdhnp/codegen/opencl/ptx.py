"""What OpenCL C has no words for on NVIDIA's GPUs: inline assembly, in functions that kernels call."""

from itertools import count

from mdhnp.codegen.ir.statements import Matrix
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

#: Bodies of functions of a float: e to the power of that, which is off by 2^-21 or 2^-22 of itself. The first is the
#: square of 2 to half the power by log2(e): no half is subnormal, which would take a test and two products more.
EXPONENTIALS = {
    op: f'float r; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a * {factor})); return {result};'
    for op, factor, result in (("exp_of_rounded", "0.72134752f", "r * r"), ("exp_or_nothing", "1.44269504f", "r"))
}

#: Of rows of so many bytes, how descriptions of matrices say that they are swizzled.
_SWIZZLES = {128: 1, 64: 2, 32: 3}

#: Bytes that are copied asynchronously, at least and at most.
LEAST, _AT_ONCE = 4, 16
COMMIT = 'asm volatile("cp.async.commit_group;" ::: "memory");'
#: Waits until so many groups of copies, the last ones, are under way; the same of products below.
WAIT = 'asm volatile("cp.async.wait_group {};" ::: "memory");'


#: What begins lines that are not OpenCL's compiler's, see runtime/programs.py.
_LIVE = "//@ "
PUBLISH = f'asm volatile("{_LIVE}fence.proxy.async.shared::cta;" ::: "memory");'
PRODUCTS_BEGIN = f'asm volatile("{_LIVE}wgmma.fence.sync.aligned;" ::: "memory");'
PRODUCTS_END = f'asm volatile("{_LIVE}wgmma.commit_group.sync.aligned;" ::: "memory");'
PRODUCTS_DONE = f'asm volatile("{_LIVE}wgmma.wait_group.sync.aligned {{}};" ::: "memory");'


def async_copy(helpers: Helpers, name: str, size: int, lanes: int, *, guarded: bool) -> str:
    """Ask for a function that starts to copy neighbours to local memory, or zeros where a condition does not hold.

    The elements, of `size` bytes each, are at most 16 bytes, and copied at once where the array begins at a multiple of
    these, which is the third parameter; else one by one, but for those of less than 4 bytes (see :func:`copy_apart`).
    If it is `guarded`, the condition is the last one.
    """
    function = f"copy_async_{name}{lanes if lanes > 1 else ''}{'_if' if guarded else ''}"
    parts = [(size * lanes, 0, "@p ")] + [(size, n * size, "@!p ") for n in range(lanes) if size >= LEAST]
    parts = [(size, 0, "")] if lanes == 1 else parts
    copies = " ".join(
        # Only copies of 16 bytes can pass by the first-level cache.
        f"{when}cp.async.{'cg' if n == _AT_ONCE else 'ca'}.shared.global [%0 + {at}], [%1 + {at}], {n}"
        f"{f', %{2 + (n != parts[0][0])}' if guarded else ''};"
        for n, at, when in parts
    )
    operands = ['"r"((uint)(size_t)p)', '"l"(q)']
    operands += [f'"r"(given ? {n} : 0)' for n in dict.fromkeys(n for n, _, _ in parts)] if guarded else []
    if lanes > 1:
        copies = f"{{ .reg .pred p; setp.ne.b32 p, %{len(operands)}, 0; {copies} }}"
        operands.append('"r"(whole)')
    body = f'asm volatile("{copies}" :: {", ".join(operands)} : "memory");'
    parameters = [f"__local {name} *p", f"__global const {name} *q"]
    parameters += ["int whole"] * (lanes > 1) + ["int given"] * guarded
    return helpers.define("void", function, ", ".join(parameters), body)


def copy_apart(helpers: Helpers, name: str, lanes: int, *, guarded: bool) -> str:
    """Ask for a function that copies what :func:`async_copy` does, element by element.

    They stand behind others, in one branch: with a branch for each attention took 1.25 times as long (NVIDIA H200).
    Written out, they hindered the compiler in all that is around: products of float16 took 1.1 times as long.
    """
    function = f"copy_{name}{lanes}_apart{'_if' if guarded else ''}"
    parameters = [f"__local {name} *p", f"__global const {name} *q", *["int given"] * guarded]
    each = f"for (int n = 0; n < {lanes}; ++n) p[n] = {'given ? q[n] : 0' if guarded else 'q[n]'};"
    return helpers.define("void", function, ", ".join(parameters), f"__attribute__((opencl_unroll_hint(1))) {each}")


def _taken_and_back(name: str, pairs: int) -> tuple[str, str]:
    """Statements that take sums out of pairs, which assembly does not know, and that put them back."""
    taken = " ".join(f"{name} s{2 * n} = c{n}->x, s{2 * n + 1} = c{n}->y;" for n in range(pairs))
    return taken, " ".join(f"*c{n} = ({name}2)(s{2 * n}, s{2 * n + 1});" for n in range(pairs))


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
    taken, back = _taken_and_back(name, pairs)
    # Volatile: a compiler must not move it to where only some of the work-items come.
    product = f'asm volatile("{atom.instruction} {into}, {left}, {right}, {into};" : {out} : {given});'
    return helpers.define("void", function, ", ".join(parameters), f"{taken}\n  {product}\n  {back}")


def named_barrier(helpers: Helpers, *, wait: bool) -> str:
    """Ask for a function that comes to a barrier of so many work-items, and waits there or not."""
    how = "sync" if wait else "arrive"
    body = f'asm volatile("barrier.cta.{how}.aligned %0, %1;" :: "r"(number), "r"(items) : "memory");'
    return helpers.define("void", f"barrier_{how}", "uint number, uint items", body)


def registers(given: tuple[int, int] | None) -> tuple[str, str]:
    """Statements by which those who work get more registers, those who fill fewer; none where nobody shares them."""
    if given is None:
        return "", ""
    each = zip(("inc", "dec"), given, strict=True)
    more, less = (f' asm volatile("{_LIVE}setmaxnreg.{how}.sync.aligned.u32 {n};" ::: "memory");' for how, n in each)
    return more, less


def anew(helpers: Helpers) -> str:
    """Ask for a function of a subgroup's index that gives it back, which neither compiler nor assembler can know."""
    body = 'asm volatile("shfl.sync.bfly.b32 %0, %0, 0, 31, 0xffffffff;" : "+r"(x)); return x;'
    return helpers.define("int", "anew", "int x", body)


def opaque(helpers: Helpers, kind: str) -> str:
    """Ask for a function of a number that gives it back, which the compiler cannot know; it takes no instruction."""
    register = "l" if kind == "long" else "r"
    return helpers.define(kind, "opaque", f"{kind} x", f'asm("" : "+{register}"(x)); return x;')


def wide_product(
    helpers: Helpers, atom: Atom, pairs: int, *, minus: bool, turned: bool, left_turned: bool | None
) -> str:
    """Ask for a function that adds to pairs of elements of C, or subtracts from them what is `minus`.

    It takes these, then the elements of A, where `left_turned` is None, or else where A lies, and where B lies.
    """
    name, columns, held = _TYPES[atom.result], 4 * pairs, left_turned is None
    sums = [f"s{n}" for n in range(2 * pairs)]
    a = [f"a{n}" for n in range(atom.registers(atom.a))] if held else ["a"]
    parameters = [f"{name}2 *c{n}" for n in range(pairs)]
    parameters += [*(f"{_TYPES[atom.operand] if held else 'ulong'} {x}" for x in a), "ulong b"]
    number = count()
    into, left = (", ".join([f"%{next(number)}" for _ in some]) for some in (sums, a))
    # Factors of 2 bytes may lie the other way round, which takes 16 times as long where they are not swizzled (H100).
    ways = [way for way in (left_turned, turned) if way is not None] if atom.itemsize == 2 else []
    last = ", ".join(["p", *(["-1" if minus else "1", "1"] if atom.rounds else []), *[str(int(way)) for way in ways]])
    letter = _LETTERS[atom.result]
    out, word = ", ".join(f'"+{letter}"({s})' for s in sums), "as_uint({})" if atom.operand == "float32" else "{}"
    operands = ", ".join([*(f'"r"({word.format(x)})' if held else f'"l"({x})' for x in a), '"l"(b)'])
    taken, back = _taken_and_back(name, pairs)
    matrices = f"{{{into}}}, {f'{{{left}}}' if held else left}, %{next(number)}"
    text = f"{{ .reg .pred p; setp.ne.b32 p, 1, 0; {atom.instruction.format(columns)} {matrices}, {last}; }}"
    product = f'asm volatile("{_LIVE}{text}" : {out} : {operands});'
    function = f"wgmma_{name}_{columns}x{atom.shape[2]}{'_minus' if minus else ''}{'_turned' if turned else ''}"
    function += "" if held else "_by_turned" if left_turned else "_by"
    return helpers.define("void", function, ", ".join(parameters), f"{taken}\n  {product}\n  {back}")


def products_known(helpers: Helpers, kind: str, pairs: int) -> str:
    """Ask for a function that nothing which uses pairs of elements of C is moved before: compilers know no waiting."""
    name, sums = kind.removesuffix("2"), [f"s{n}" for n in range(2 * pairs)]
    taken, back = _taken_and_back(name, pairs)
    known = ", ".join([f'"+{name[0].replace("i", "r")}"({s})' for s in sums])
    parameters = ", ".join([f"{name}2 *c{n}" for n in range(pairs)])
    return helpers.define(
        "void", f"known_{name}_{pairs}", parameters, f'{taken}\n  asm volatile("" : {known});\n  {back}'
    )


def matrix_at(helpers: Helpers, place: str, m: Matrix) -> str:
    """Ask for a function that describes a matrix in local memory to instructions, and give its call.

    These know first how far apart blocks lie along terms, then along rows or columns; of a turned one the other way
    round (source: PTX ISA, "Matrix descriptor").
    """
    below, beside = (m.beside, m.below) if m.turned else (m.below, m.beside)
    body = "return ((address & 0x3fff0) >> 4) | (ulong)(below >> 4) << 16 | (ulong)(beside >> 4) << 32;"
    helpers.define("ulong", "matrix_at", "uint address, uint below, uint beside", body)
    kind = f" | {_SWIZZLES[m.swizzled]}ul << 62" if m.swizzled else ""
    return f"matrix_at((uint)(size_t)({place}), {below}, {beside}){kind}"


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


def pack_halves(helpers: Helpers) -> str:
    """Ask for a function that rounds two floats to float16, and gives these in one integer, the first one last."""
    body = 'uint r; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a)); return r;'
    return helpers.define("uint", "pack_halves", "float a, float b", body)


def shuffle(helpers: Helpers, name: str, lanes: int, way: str) -> str:
    """Ask for a function that gives a value that the work-item `d` further on in the subgroup, before, or either has.

    It is volatile, for a compiler could move what only some work-items need to where only these are.
    """
    short, mode, d = {
        "before": ("shuffle_up", "up.b32 %0, %1, %2, 0", "d"),
        "behind": ("shuffle", "down.b32 %0, %1, %2, 0x1f", "d"),
        "either": ("shuffle_any", "idx.b32 %0, %1, %2, 0x1f", "(int)get_local_id(0) + d"),
    }[way]
    exchange = f'asm volatile("shfl.sync.{mode}, 0xffffffff;" : "=r"(r) : "r"(v), "r"({d}));'
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
