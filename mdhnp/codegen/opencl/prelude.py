"""Small functions that kernels call; a program carries only those it needs.

PoCL's own vloadN, vstoreN and fma are calls that spill registers, so vectors are read and written through pointers to
under-aligned vector types, and multiply-adds are left to the compiler to contract.
"""

from collections.abc import Mapping

from mdhnp.codegen.opencl import ptx, unaligned
from mdhnp.codegen.opencl.borders import BOUNDARIES, near_row, row_at_border
from mdhnp.codegen.opencl.ctypes import vector_name
from mdhnp.schedule.atoms import Atom

__all__ = ["Helpers", "helper_text"]

_POWER = "U r = 1, x = a; while (b > 0) { if (b & 1) r *= x; x *= x; b >>= 1; } return (T)r;"
#: NumPy refuses negative powers of integers; these are rounded toward 0.
_INVERSE_POWER = "if (b < 0) return a == 1 || (a == -1 && !(b & 1)) ? 1 : a == -1 ? -1 : 0; "
_FLOAT_MOD = "const T r = fmod(a, b); return r == 0 ? copysign((T)0, b) : (r < 0) != (b < 0) ? r + b : r;"
_FLOAT_DIV = (
    "if (b == 0) return a / b; const T r = fmod(a, b); const T q = (a - r) / b - (r != 0 && (r < 0) != (b < 0)); "
    "const T f = floor(q); return q == 0 ? copysign((T)0, a / b) : q - f > (T)0.5 ? f + 1 : f;"
)
#: Operations by their NumPy name and the kind of their type: name, operands, body with T for the type and U for the
#: unsigned one that integers wrap around in.
_ELEMENTWISE = {
    **{(op, "f"): (op, 2, body) for op, body in ptx.EXTREMA.items()},
    ("power", "i"): ("int_power", 2, _INVERSE_POWER + _POWER),
    ("power", "u"): ("int_power", 2, _POWER),
    # The smallest integer divided by -1 traps where it is not avoided.
    ("floor_divide", "i"): (
        "floor_div", 2,
        "if (b == 0) return 0; if (b == -1) return (T)(0 - (U)a); return a / b - (a % b != 0 && (a ^ b) < 0);",
    ),
    ("floor_divide", "u"): ("floor_div", 2, "return b == 0 ? 0 : a / b;"),
    ("floor_divide", "f"): ("floor_div", 2, _FLOAT_DIV),
    ("remainder", "i"): (
        "floor_mod", 2, "if (b == 0 || b == -1) return 0; const T r = a % b; return r != 0 && (r ^ b) < 0 ? r + b : r;",
    ),
    ("remainder", "u"): ("floor_mod", 2, "return b == 0 ? 0 : a % b;"),
    ("remainder", "f"): ("floor_mod", 2, _FLOAT_MOD),
    ("fmod", "i"): ("int_fmod", 2, "return b == 0 || b == -1 ? 0 : a % b;"),
    ("fmod", "u"): ("int_fmod", 2, "return b == 0 ? 0 : a % b;"),
    ("fmod", "f"): ("lane_fmod", 2, "return fmod(a, b);"),
    ("divide", "i"): ("int_div", 2, "return b == 0 ? 0 : b == -1 ? (T)(0 - (U)a) : a / b;"),
    ("divide", "u"): ("int_div", 2, "return b == 0 ? 0 : a / b;"),
    # Infinity, converted as NumPy does on x86-64.
    ("reciprocal", "i"): (
        "int_reciprocal", 1, "return a == 0 ? (T)(sizeof(T) < 4 ? 0 : (U)1 << (8 * sizeof(T) - 1)) : 1 / a;",
    ),
    ("reciprocal", "u"): ("int_reciprocal", 1, "return a == 0 ? 0 : 1 / a;"),
    # C leaves shifts by the whole width and more undefined.
    ("left_shift", "i"): ("shift_left", 2, "return b < 0 || b >= 8 * (T)sizeof(T) ? 0 : (T)((U)a << b);"),
    ("left_shift", "u"): ("shift_left", 2, "return b >= 8 * sizeof(T) ? 0 : (T)((U)a << b);"),
    ("right_shift", "i"): ("shift_right", 2, "return a >> (b < 0 || b >= 8 * (T)sizeof(T) ? 8 * sizeof(T) - 1 : b);"),
    ("right_shift", "u"): ("shift_right", 2, "return b >= 8 * sizeof(T) ? 0 : a >> b;"),
}  # fmt: skip


#: Functions of vectors that PoCL 3.0 gets wrong in other lanes where one lane's first operand is such; these are
#: computed alone. Of floats beyond 10^5 it is the sines of small ones, of 0 and infinity any power of 8 doubles.
_ALONE = {
    ("sin", "float"): "!(a * a < 1e10f)",
    ("cos", "float"): "!(a * a < 1e10f)",
    ("tan", "float"): "!(a * a < 1e10f)",
    ("pow", "double"): "a == 0 || a - a != 0",
}


#: Types of 64 bits.
_WIDE = frozenset({"long", "ulong", "double"})


def _item(name: str, index: str) -> str:
    return f"vload_half({index}, p)" if name == "half" else f"p[{index}]"


def _value(name: str, lanes: int) -> str:
    """Type of the lanes once they are loaded."""
    return vector_name("float" if name == "half" else name, lanes)


_LOCAL = "static inline __attribute__((always_inline))"


def _function(space: str, *, apart: bool, wide: bool = False) -> str:
    """What a function that takes a pointer begins with; `apart` if it is better not inlined.

    One of local memory must be: where all calls pass one pointer, LLVM puts it into the function, and PoCL looks for a
    kernel's local memory in the kernel only.
    """
    if wide or space == "__local":
        return _LOCAL
    return "static __attribute__((noinline))" if apart else "static inline"


def _is_wide(name: str, lanes: int) -> bool:
    """Whether a vector takes more than 64 bytes.

    A function that is not inlined must not take one: LLVM 14 (PoCL 3.0) passes it in two registers of 64 bytes, and
    the function reads four of 32, on processors where it prefers those.
    """
    return lanes * (8 if name in _WIDE else 4) > 64


def _exchange(kind: str, lanes: int, n: int, distance: int) -> str:
    """Row n's lanes with the bit `distance` and row n + distance's without it change places.

    Lane by lane, which compilers join to one instruction: Oclgrind crashes where vectors are put together.
    """
    low = ", ".join(f"a.s{k:x}" if not k & distance else f"b.s{k - distance:x}" for k in range(lanes))
    high = ", ".join(f"a.s{k + distance:x}" if not k & distance else f"b.s{k:x}" for k in range(lanes))
    m = n + distance
    return f"{{ const {kind} a = r{n}, b = r{m}; r{n} = ({kind})({low}); r{m} = ({kind})({high}); }}"


def _shuffled(name: str, shuffle: str) -> str:
    """Body of a function that shuffles by way of ints: in halves, as it is, or widened."""
    if name in _WIDE:
        return f"const int2 h = as_int2(v); return as_{name}((int2)({shuffle}_int(h.x, d), {shuffle}_int(h.y, d)));"
    if name in {"float", "uint"}:
        return f"return as_{name}({shuffle}_int(as_int(v), d));"
    return f"return ({name}){shuffle}_int(v, d);"


def helper_text(texts: Mapping[str, str]) -> str:
    return "".join(texts[k] for k in sorted(texts, key=lambda k: (not k.startswith("_"), k)))


class Helpers:
    """Which helper functions a program needs, and their text.

    Parameters
    ----------
    texts : dict of str to str
        Where the texts are collected; kernels of one program share it.
    index_type : str
        Type of offsets. Functions that take some have one name for each type.
    inline : bool, optional
        Whether parts of vectors are read and written in place. They stand at every border of a kernel, and take most of
        the time that compiling it takes.
    mixed_lanes : bool, optional
        Whether the device's functions of vectors may give wrong lanes beside special ones.
    nan_extrema : bool, optional
        Whether the device has instructions for extrema of floats of which NaN wins.
    split_vectors : bool, optional
        Whether its compiler takes vectors apart that may lie at any element's address.
    """

    def __init__(
        self,
        texts: dict[str, str],
        index_type: str,
        *,
        inline: bool = True,
        mixed_lanes: bool = False,
        nan_extrema: bool = False,
        split_vectors: bool = False,
    ) -> None:
        self._texts = texts
        self._index = index_type
        self._wide = "" if index_type == "int" else f"_{index_type}"
        self._mixed_lanes = mixed_lanes
        self.nan_extrema = nan_extrema
        self._split_vectors = split_vectors
        self._apart = not inline

    def vector(self, name: str, lanes: int) -> str:
        """A vector type that may lie at any element's address."""
        kind = vector_name(name, lanes)
        self._texts[f"_{kind}"] = f"typedef {kind} {kind}_u __attribute__((aligned(sizeof({name}))));\n"
        return f"{kind}_u"

    def loaded(self, at: str, name: str, lanes: int, nbytes: int, space: str) -> str:
        """Reads neighbours, of so many bytes."""
        if self._split_vectors and space == "__global":
            return f"{unaligned.load(self._texts, name, lanes, nbytes)}({at})"
        return f"*({space} const {self.vector(name, lanes)} *)({at})"

    def stored(self, at: str, value: str, name: str, lanes: int, nbytes: int, space: str) -> str:
        """Writes neighbours, of so many bytes."""
        if self._split_vectors and space == "__global":
            return f"{unaligned.store(self._texts, name, lanes, nbytes)}({at}, {value})"
        return f"*({space} {self.vector(name, lanes)} *)({at}) = {value}"

    def boundary(self, mode: str) -> str:
        """Maps an index into ``0 … n - 1``."""
        body = BOUNDARIES[mode].format(t=self._index)
        head = f"static inline {self._index} {mode}_index{self._wide}({self._index} i, {self._index} n)"
        self._texts[f"boundary {mode}{self._wide}"] = f"{head} {{ {body} }}\n"
        return f"{mode}_index{self._wide}"

    def gather(self, name: str, lanes: int, space: str) -> str:
        """Reads lanes that lie `stride` apart."""
        function, kind = f"gather{space}_{vector_name(name, lanes)}{self._wide}", _value(name, lanes)
        items = ", ".join(_item(name, f"{n} * s" if n else "0") for n in range(lanes))
        self._texts[function] = (
            f"static inline {kind} {function}({space} const {name} *p, {self._index} s)\n"
            f"{{ return ({kind})({items}); }}\n"
        )
        return function

    def gather_pairs(self, name: str, lanes: int, space: str) -> str:
        """Reads every second element from `p` on, and none beyond the last of them: faster than lane by lane."""
        function, kind = f"gather_pairs{space}_{vector_name(name, lanes)}", vector_name(name, lanes)
        load = f"*({space} const {self.vector(name, lanes)} *)"
        # Lane by lane, Intel's compiler makes one shuffle of it; of halves (`a.even`, `b.odd`) it makes eight.
        items = [f"a.s{2 * n:x}" for n in range(lanes // 2)] + [f"b.s{2 * n + 1:x}" for n in range(lanes // 2)]
        self._texts[function] = (
            f"static inline {kind} {function}({space} const {name} *p)\n"
            f"{{ const {kind} a = {load}p, b = {load}(p + {lanes - 1});\n  return ({kind})({', '.join(items)}); }}\n"
        )
        return function

    def gather_part(self, name: str, lanes: int, space: str) -> str:
        """Reads the first `n` lanes; the others repeat the last of them."""
        function, kind = f"gather_part{space}_{vector_name(name, lanes)}{self._wide}", _value(name, lanes)
        load = f"vload_half{lanes}(0, p)" if name == "half" else f"*({space} const {self.vector(name, lanes)} *)p"
        whole = f"if (s == 1 && n >= {lanes}) return {load};"
        items = ", ".join(_item(name, f"min(({self._index}){n}, n - 1) * s" if n else "0") for n in range(lanes))
        self._texts[function] = (
            f"{_function(space, apart=self._apart)} {kind} {function}"
            f"({space} const {name} *p, {self._index} s, {self._index} n)\n"
            f"{{ {whole}\n  return ({kind})({items}); }}\n"
        )
        return function

    def bounded_row(self, name: str, lanes: int, mode: str) -> str:
        """Reads elements `i`, `i + 1`, … of a row of `n`, `s` apart; `c` is the constant outside of it.

        Never inline: a stencil has many of these at every border, which would take long to compile.
        """
        function, t = f"bounded_{mode}_{vector_name(name, lanes)}{self._wide}", self._index
        kind, load = _value(name, lanes), f"vload_half{lanes}(0, p + {{}})".format
        if name != "half":
            load = f"*(__global const {self.vector(name, lanes)} *)(p + {{}})".format
        whole = f"  if (s == 1 && i >= 0 && i <= n - {lanes}) return {load('i')};\n"
        if mode == "constant":
            items = [f"i + {k} >= 0 && i + {k} < n ? {_item(name, f'(i + {k}) * s')} : c" for k in range(lanes)]
        else:
            items = [_item(name, f"{self.boundary(mode)}(i + {k}, n) * s") for k in range(lanes)]
        near = "" if self._wide else row_at_border(name, lanes, mode, load("b"))
        near = near and f"  if (s == 1 && n >= {lanes} && i > -{lanes} && i < n) {{ {near} }}\n"
        parameters = f"__global const {name} *p, {t} s, {t} i, {t} n, {_value(name, 1)} c"
        self._texts[function] = (
            f"static __attribute__((noinline)) {kind} {function}({parameters})\n"
            f"{{\n{whole}{near}  return ({kind})({', '.join(items)});\n}}\n"
        )
        return function

    def near_row(self, name: str, lanes: int, mode: str) -> str:
        """The same of neighbours in local memory, if some lane lies inside of a row that is no shorter; or `n` is 0."""
        function = f"near_{mode}_{vector_name(name, lanes)}"
        self._texts[function] = f"{_LOCAL} {near_row(function, name, lanes, mode, self.vector(name, lanes))}"
        return function

    def scatter(self, name: str, lanes: int, space: str) -> str:
        """Writes the first `n` lanes, `stride` apart."""
        return self._scatter("scatter", name, lanes, space, rest=False)

    def scatter_rest(self, name: str, lanes: int, space: str) -> str:
        """Writes all lanes but the first `n`, `stride` apart."""
        return self._scatter("scatter_rest", name, lanes, space, rest=True)

    def _scatter(self, short: str, name: str, lanes: int, space: str, *, rest: bool) -> str:
        """Neighbours are written in halves, quarters, …, others one by one; at least one of them is."""
        function, kind = f"{short}{space}_{vector_name(name, lanes)}{self._wide}", _value(name, lanes)
        tests = [f"n {'<=' if rest else '>'} {lane}" for lane in range(lanes)]
        count = f"{lanes} - n" if rest else "n"
        static = _function(space, apart=self._apart, wide=_is_wide(name, lanes))
        if name == "half":
            whole = f"vstore_half{lanes}_rte(v, 0, p)"
            parts = ""
            items = " ".join(f"if ({test}) vstore_half_rte(v.s{n:x}, {n} * s, p);" for n, test in enumerate(tests))
        else:
            whole = f"*({space} {self.vector(name, lanes)} *)p = v"
            parts = f"  if (s == 1) {{ {self._halves(name, lanes, space, rest)} return; }}\n"
            items = " ".join(f"if ({test}) p[{n} * s] = v.s{n:x};" for n, test in enumerate(tests))
        self._texts[function] = (
            f"{static} void {function}({space} {name} *p, {self._index} s, {self._index} n, {kind} v)\n"
            f"{{ const {self._index} m = {count};\n  if (s == 1 && m >= {lanes}) {{ {whole}; return; }}\n"
            f"{parts}  {items} }}\n"
        )
        return function

    def _halves(self, name: str, lanes: int, space: str, rest: bool) -> str:
        """Statements that write the first or last `m` lanes of `v`, with m from 0 to less than all."""
        first, other = ("hi", "lo") if rest else ("lo", "hi")
        text, v, size = f"p += {lanes}; " if rest else "", "v", lanes // 2
        while size > 1:
            kind = vector_name(name, size)
            store = f"*({space} {self.vector(name, size)} *)p = v{size};"
            moved = f"p -= {size}; {store}" if rest else f"{store} p += {size};"
            text += f"{kind} v{size} = {v}.{first}; if (m & {size}) {{ {moved} v{size} = {v}.{other}; }} "
            v, size = f"v{size}", size // 2
        return text + f"if (m & 1) {'p[-1]' if rest else '*p'} = {v}.{first};"

    def scatter_pairs(self, name: str, lanes: int, space: str) -> str:
        """Writes two vectors' lanes by turns."""
        function, kind = f"scatter_pairs{space}_{vector_name(name, lanes)}", vector_name(name, lanes)
        store = f"*({space} {self.vector(name, lanes)} *)"
        self._texts[function] = (
            f"static inline void {function}({space} {name} *p, {kind} a, {kind} b)\n"
            f"{{ {kind} low, high; low.even = a.lo; low.odd = b.lo; high.even = a.hi; high.odd = b.hi; "
            f"{store}p = low; {store}(p + {lanes}) = high; }}\n"
        )
        return function

    def rounded(self, name: str, lanes: int) -> str:
        """Rounds a float or double to a value of float16, which it gives as a float; ties go to even."""
        kind, width = vector_name(name, lanes), "" if lanes == 1 else str(lanes)
        self._texts[f"round {kind}"] = (
            f"static inline float{width} round_half_{kind}({kind} x)\n"
            f"{{ ushort{width} h; vstore_half{width}_rte(x, 0, (half *)&h); "
            f"return vload_half{width}(0, (const half *)&h); }}\n"
        )
        return f"round_half_{kind}"

    def transpose(self, name: str, lanes: int) -> str:
        """Copies a square block from rows `s` apart to rows `t` apart, turned: halves, quarters, … change places."""
        function, kind = f"transpose_{vector_name(name, lanes)}{self._wide}", vector_name(name, lanes)
        unaligned = self.vector(name, lanes)
        lines = [f"{kind} r{n} = *(__global const {unaligned} *)(p + {n} * s);" for n in range(lanes)]
        distance = lanes // 2
        while distance:
            for n in (n for n in range(lanes) if not n & distance):
                lines.append(_exchange(kind, lanes, n, distance))
            distance //= 2
        lines += [f"*(__local {unaligned} *)(q + {n} * t) = r{n};" for n in range(lanes)]
        body = "\n  ".join(lines)
        self._texts[function] = (
            f"static inline void {function}(__global const {name} *p, {self._index} s, __local {name} *q, "
            f"{self._index} t)\n{{\n  {body}\n}}\n"
        )
        return function

    def shuffle(self, name: str, lanes: int, *, backwards: bool) -> str:
        """Gives a value that the work-item `d` further on in the subgroup, or before, has, on NVIDIA's devices: in PTX.

        It is volatile, for a compiler could move what only some work-items need to where only these are.
        """
        short, mode = ("shuffle_up", "up.b32 %0, %1, %2, 0") if backwards else ("shuffle", "down.b32 %0, %1, %2, 0x1f")
        self._texts[f"_{short}"] = (
            f"static inline int {short}_int(int v, int d)\n"
            f'{{ int r; asm volatile("shfl.sync.{mode}, 0xffffffff;" : "=r"(r) : "r"(v), "r"(d)); '
            "return r; }\n"
        )
        if name != "int":
            self._texts[f"{short} {name}"] = (
                f"static inline {name} {short}_{name}({name} v, int d)\n{{ {_shuffled(name, short)} }}\n"
            )
        function, kind = f"{short}_{vector_name(name, lanes)}", vector_name(name, lanes)
        if lanes > 1:
            items = ", ".join(f"{short}_{name}(v.s{n:x}, d)" for n in range(lanes))
            self._texts[f"{short} {kind}"] = (
                f"static inline {kind} {function}({kind} v, int d)\n{{ return ({kind})({items}); }}\n"
            )
        return function

    def elementwise(self, op: str, name: str, lanes: int, kind: str) -> str:
        """Ask for an operation that C has not, or not as NumPy defines it; on vectors lane by lane."""
        short, count, body = _ELEMENTWISE[op, kind]
        letters = "ab"[:count]

        def head(t: str) -> str:
            # Amid other code NVIDIA's compiler (580) takes powers of max(x, 0), of 16 bits, for powers of 0.
            inline = "__attribute__((noinline))" if op == "power" and t == name else "inline"
            return f"static {inline} {t} {short}_{t}({', '.join(f'{t} {x}' for x in letters)})"

        unsigned = "ulong" if name.endswith("long") else "uint"
        text = body.replace("T", name).replace("U", unsigned)
        self._texts[f"elementwise {short}_{name}"] = f"{head(name)}\n{{ {text} }}\n"
        if lanes == 1:
            return f"{short}_{name}"
        wide = vector_name(name, lanes)
        calls = ", ".join(f"{short}_{name}({', '.join(f'{x}.s{n:x}' for x in letters)})" for n in range(lanes))
        self._texts[f"elementwise {short}_{name} {wide}"] = f"{head(wide)}\n{{ return ({wide})({calls}); }}\n"
        return f"{short}_{wide}"

    def function(self, called: str, name: str, lanes: int, count: int) -> str:
        """Ask for one of OpenCL's functions of so many operands, which computes some lanes alone."""
        alone = _ALONE.get((called, name))
        if alone is None or lanes == 1 or not self._mixed_lanes:
            return called
        wide, masks = vector_name(name, lanes), vector_name("long" if name == "double" else "int", lanes)
        letters, inline = "ab"[:count], "inline __attribute__((always_inline))" if _is_wide(name, lanes) else "inline"
        head = f"static {inline} {wide} {called}_{wide}({', '.join(f'{wide} {x}' for x in letters)})"
        each = ", ".join(f"(({name} *)&{x})[n]" for x in letters)
        self._texts[f"function {called}_{wide}"] = (
            f"{head}\n{{ const {masks} m = {alone}; const {wide} one = ({wide})(1);\n"
            f"  {wide} r = {called}({', '.join(['m ? one : a', *letters[1:]])});\n"
            f"  if (any(m)) {{ {masks} t = m; {wide} s = r;\n"
            f"    for (int n = 0; n < {lanes}; ++n) if ((({masks[: -len(str(lanes))]} *)&t)[n]) "
            f"(({name} *)&s)[n] = {called}({each});\n    r = s; }}\n  return r; }}\n"
        )
        return f"{called}_{wide}"

    def async_copy(self, name: str, size: int, lanes: int, *, guarded: bool) -> str:
        return ptx.async_copy(self._texts, name, size, lanes, guarded=guarded)

    def load_matrix(self, name: str, blocks: int, *, turned: bool) -> str:
        return ptx.load_matrix(self._texts, name, blocks, turned=turned)

    def matrix_product(self, atom: Atom) -> str:
        return ptx.matrix_product(self._texts, atom)

    def user(self, name: str, source: str) -> str:
        """A function given as OpenCL C, under a name that no variable has, nor a function of other text."""
        key = f"user {name} {source}"
        before = [other for other in self._texts if other.startswith(f"user {name} ")]
        place = before.index(key) if key in before else len(before)
        called = f"user{place}_{name}"
        self._texts[key] = f"#define {name} {called}\n{source.strip()}\n#undef {name}\n"
        return called
