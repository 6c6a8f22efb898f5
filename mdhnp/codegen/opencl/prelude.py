"""Small functions that kernels call; a program carries only those it needs.

PoCL's own vloadN, vstoreN and fma are calls that spill registers, so vectors are read and written through pointers to
under-aligned vector types, and multiply-adds are left to the compiler to contract.
"""

from mdhnp.codegen.ir.statements import Procedure
from mdhnp.codegen.opencl.ctypes import vector_name
from mdhnp.mdh.ctext import defined_macros, defined_names, without_comments
from mdhnp.schedule.schedule import DeviceCaps

#: Types of 64 bits.
WIDE = frozenset({"long", "ulong", "double"})
ALWAYS_INLINE = "static inline __attribute__((always_inline))"
_NEVER_INLINE = "static __attribute__((noinline))"
#: Bytes that are moved at once, at most.
_AT_ONCE = 16

#: By boundary mode, what gives the index inside of `0 … n - 1` that `i` stands for.
_BOUNDARIES = {
    "nearest": "return clamp(i, ({t})0, n - 1);",
    "last": "return min((u{t})i, (u{t})n - 1);",
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


def is_wide(name: str, lanes: int) -> bool:
    """Whether a vector takes more than 64 bytes.

    A function that is not inlined must not take one: LLVM 14 (PoCL 3.0) passes it in two registers of 64 bytes, and
    the function reads four of 32, on processors where it prefers those.
    """
    return lanes * (8 if name in WIDE else 4) > 64


def _item(name: str, index: str) -> str:
    return f"vload_half({index}, p)" if name == "half" else f"p[{index}]"


def _value(name: str, lanes: int) -> str:
    """Type of the lanes once they are loaded."""
    return vector_name("float" if name == "half" else name, lanes)


def _exchange(kind: str, lanes: int, n: int, distance: int) -> str:
    """Row n's lanes with the bit `distance` and row n + distance's without it change places.

    Lane by lane, which compilers join to one instruction: Oclgrind crashes where vectors are put together.
    """
    low = ", ".join(f"a.s{k:x}" if not k & distance else f"b.s{k - distance:x}" for k in range(lanes))
    high = ", ".join(f"a.s{k + distance:x}" if not k & distance else f"b.s{k:x}" for k in range(lanes))
    m = n + distance
    return f"{{ const {kind} a = r{n}, b = r{m}; r{n} = ({kind})({low}); r{m} = ({kind})({high}); }}"


def _row_at_border(name: str, lanes: int, mode: str, load: str) -> str:
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


class Helpers:
    """The helper functions that one kernel needs; those of a program share `texts`, by what they are sorted by.

    Each method has a program carry a function, and gives its name. Functions that take offsets have one name for each
    type of these.
    """

    def __init__(self, texts: dict[str, str], procedure: Procedure, caps: DeviceCaps) -> None:
        self.texts, self.caps = texts, caps
        #: The type of indices.
        self.index = "long" if procedure.wide else "int"
        self._wide = "_long" if procedure.wide else ""
        self._inline = procedure.inline_borders

    def define(
        self, result: str, function: str, parameters: str, body: str, *, static: str = "static inline", key: str = ""
    ) -> str:
        """Have the program carry a function with that type of results, and give its name."""
        self.texts[key or function] = f"{static} {result} {function}({parameters})\n{{ {body} }}\n"
        return function

    def prefetch(self) -> str:
        """Has the cache line at an address under way, to be changed or not, where compiler and options allow it."""
        self.texts["_prefetch"] = (
            "#if !defined(PREFETCH) && defined(__has_builtin)\n#if __has_builtin(__builtin_prefetch)\n"
            "#define PREFETCH(p, w) __builtin_prefetch((const void *)(size_t)(p), w)\n#endif\n#endif\n"
            "#ifndef PREFETCH\n#define PREFETCH(p, w)\n#endif\n"
        )
        return "PREFETCH"

    def vector(self, name: str, lanes: int) -> str:
        """A vector type that may lie at any element's address."""
        kind = vector_name(name, lanes)
        self.texts[f"_{kind}"] = f"typedef {kind} {kind}_u __attribute__((aligned(sizeof({name}))));\n"
        return f"{kind}_u"

    def _aligned(self, name: str, lanes: int, nbytes: int) -> tuple[str, str]:
        """A vector type whose address compilers may rely on, and the test whether it begins at such a one.

        Some move vectors at any element's address element by element. Where one begins is tested as the kernel runs:
        it is the same for all of an array whose rows are of whole vectors. Elements are written out: of two vector
        accesses, one for each case, NVIDIA's compiler (580.159) makes one, of a vector that begins where it should not.
        """
        kind, size = vector_name(name, lanes), min(nbytes, _AT_ONCE)
        self.texts[f"_{kind}_a"] = f"typedef {kind} {kind}_a __attribute__((aligned({size})));\n"
        return kind, f"((size_t)p & {size - 1}) == 0"

    def loaded_half(self, at: str, lanes: int, space: str) -> str:
        """Reads neighbours of float16, as floats.

        PoCL's own functions (6.0) take for granted that vectors begin at multiples of their size, as others' need not.
        """
        if self.caps.split_vectors:
            return f"vload_half{lanes}(0, {at})"
        kind, function = f"float{lanes}", f"vload{space}_half{lanes}"
        read = f"*({space} const {self.vector('ushort', lanes)} *)p"
        body = f"const ushort{lanes} h = {read}; return vload_half{lanes}(0, (const half *)&h);"
        self._define_early(kind, function, f"{space} const half *p", body)
        return f"{function}({at})"

    def stored_half(self, at: str, value: str, lanes: int, space: str) -> str:
        """Writes floats as neighbours of float16; ties go to even."""
        if self.caps.split_vectors:
            return f"vstore_half{lanes}_rte({value}, 0, {at})"
        function, written = f"vstore{space}_half{lanes}", f"*({space} {self.vector('ushort', lanes)} *)p"
        body = f"ushort{lanes} h; vstore_half{lanes}_rte(v, 0, (half *)&h); {written} = h;"
        self._define_early("void", function, f"{space} half *p, float{lanes} v", body)
        return f"{function}({at}, {value})"

    def _define_early(self, result: str, function: str, parameters: str, body: str) -> None:
        """Define a function that others call: it stands behind the types, before the others."""
        self.define(result, function, parameters, body, static=ALWAYS_INLINE, key=f"_{function}")

    def loaded(self, at: str, name: str, lanes: int, nbytes: int, space: str, *, whole: bool) -> str:
        """Reads neighbours, of so many bytes; `whole` ones begin at multiples of them, in local memory."""
        if self.caps.split_vectors and whole:
            return f"*(__local const {self._aligned(name, lanes, nbytes)[0]}_a *)({at})"
        if not self.caps.split_vectors or space != "__global":
            return f"*({space} const {self.vector(name, lanes)} *)({at})"
        kind, test = self._aligned(name, lanes, nbytes)
        items = ", ".join([f"p[{n}]" for n in range(lanes)])
        body = f"if ({test}) return *(__global const {kind}_a *)p;\n  return ({kind})({items});"
        return f"{self.define(kind, f'load_{kind}', f'__global const {name} *p', body)}({at})"

    def stored(self, at: str, value: str, name: str, lanes: int, nbytes: int, space: str) -> str:
        """Writes neighbours, of so many bytes."""
        if not self.caps.split_vectors or space != "__global":
            return f"*({space} {self.vector(name, lanes)} *)({at}) = {value}"
        kind, test = self._aligned(name, lanes, nbytes)
        items = " ".join([f"p[{n}] = v.s{n:x};" for n in range(lanes)])
        body = f"if ({test}) *(__global {kind}_a *)p = v;\n  else {{ {items} }}"
        return f"{self.define('void', f'store_{kind}', f'__global {name} *p, {kind} v', body)}({at}, {value})"

    def boundary(self, mode: str) -> str:
        """Maps an index into ``0 … n - 1``."""
        function, t = f"{mode}_index{self._wide}", self.index
        body = _BOUNDARIES[mode].format(t=t)
        self.texts[f"boundary {mode}{self._wide}"] = f"static inline {t} {function}({t} i, {t} n) {{ {body} }}\n"
        return function

    def gather(self, name: str, lanes: int, space: str) -> str:
        """Reads lanes that lie `stride` apart."""
        kind = _value(name, lanes)
        items = ", ".join(_item(name, f"{n} * s" if n else "0") for n in range(lanes))
        function = f"gather{space}_{vector_name(name, lanes)}{self._wide}"
        return self.define(kind, function, f"{space} const {name} *p, {self.index} s", f"return ({kind})({items});")

    def gather_pairs(self, name: str, lanes: int, space: str) -> str:
        """Reads every second element from `p` on, and none beyond the last of them: faster than lane by lane."""
        kind = vector_name(name, lanes)
        load = f"*({space} const {self.vector(name, lanes)} *)"
        # Lane by lane, Intel's compiler makes one shuffle of it; of halves (`a.even`, `b.odd`) it makes eight.
        items = [f"a.s{2 * n:x}" for n in range(lanes // 2)] + [f"b.s{2 * n + 1:x}" for n in range(lanes // 2)]
        body = f"const {kind} a = {load}p, b = {load}(p + {lanes - 1});\n  return ({kind})({', '.join(items)});"
        return self.define(kind, f"gather_pairs{space}_{kind}", f"{space} const {name} *p", body)

    def _static(self, space: str, *, wide: bool = False) -> str:
        """What a function begins with that reads or writes a part of a vector.

        These stand at every border of a kernel, and take most of the time that compiling it takes, where they are
        inlined. One of local memory must be: where all calls pass one pointer, LLVM puts it into the function, and PoCL
        looks for a kernel's local memory in the kernel only.
        """
        if wide or space == "__local":
            return ALWAYS_INLINE
        return "static inline" if self._inline else _NEVER_INLINE

    def gather_part(self, name: str, lanes: int, space: str) -> str:
        """Reads the first `n` lanes; the others repeat the last of them."""
        kind, t = _value(name, lanes), self.index
        half = name == "half"
        load = self.loaded_half("p", lanes, space) if half else f"*({space} const {self.vector(name, lanes)} *)p"
        items = ", ".join(_item(name, f"min(({t}){n}, n - 1) * s" if n else "0") for n in range(lanes))
        function = f"gather_part{space}_{vector_name(name, lanes)}{self._wide}"
        body = f"if (s == 1 && n >= {lanes}) return {load};\n  return ({kind})({items});"
        return self.define(kind, function, f"{space} const {name} *p, {t} s, {t} n", body, static=self._static(space))

    def bounded_row(self, name: str, lanes: int, mode: str) -> str:
        """Reads elements `i`, `i + 1`, … of a row of `n`, `s` apart; `c` is the constant outside of it.

        Never inline: a stencil has many of these at every border, which would take long to compile.
        """
        function, t = f"bounded_{mode}_{vector_name(name, lanes)}{self._wide}", self.index
        kind = _value(name, lanes)
        if name == "half":
            load = self.loaded_half("p + {}", lanes, "__global").format
        else:
            load = f"*(__global const {self.vector(name, lanes)} *)(p + {{}})".format
        whole = f"  if (s == 1 && i >= 0 && i <= n - {lanes}) return {load('i')};\n"
        if mode == "constant":
            items = [f"i + {k} >= 0 && i + {k} < n ? {_item(name, f'(i + {k}) * s')} : c" for k in range(lanes)]
        else:
            items = [_item(name, f"{self.boundary(mode)}(i + {k}, n) * s") for k in range(lanes)]
        near = "" if self._wide else _row_at_border(name, lanes, mode, load("b"))
        near = near and f"  if (s == 1 && n >= {lanes} && i > -{lanes} && i < n) {{ {near} }}\n"
        parameters = f"__global const {name} *p, {t} s, {t} i, {t} n, {_value(name, 1)} c"
        self.texts[function] = (
            f"{_NEVER_INLINE} {kind} {function}({parameters})\n"
            f"{{\n{whole}{near}  return ({kind})({', '.join(items)});\n}}\n"
        )
        return function

    def near_row(self, name: str, lanes: int, mode: str) -> str:
        """The same of neighbours in local memory, if some lane lies inside of a row that is no shorter; or `n` is 0."""
        kind = vector_name(name, lanes)
        none = f"if (n == 0) return ({kind})(c); " if mode == "constant" else ""
        row = _row_at_border(name, lanes, mode, f"*(__local const {self.vector(name, lanes)} *)(p + b)")
        parameters = f"__local const {name} *p, int i, int n, {name} c"
        return self.define(kind, f"near_{mode}_{kind}", parameters, none + row, static=ALWAYS_INLINE)

    def scatter(self, name: str, lanes: int, space: str, *, rest: bool) -> str:
        """Writes the first `n` lanes, or the `rest` of them, `s` apart; at least one.

        Neighbours are written in halves, quarters, …, others one by one.
        """
        tests = [f"n {'<=' if rest else '>'} {lane}" for lane in range(lanes)]
        if name == "half":
            whole, parts = self.stored_half("p", "v", lanes, space), ""
            items = " ".join(f"if ({test}) vstore_half_rte(v.s{n:x}, {n} * s, p);" for n, test in enumerate(tests))
        else:
            whole = f"*({space} {self.vector(name, lanes)} *)p = v"
            parts = f"  if (s == 1) {{ {self._halves(name, lanes, space, rest)} return; }}\n"
            items = " ".join(f"if ({test}) p[{n} * s] = v.s{n:x};" for n, test in enumerate(tests))
        return self.define(
            "void",
            f"scatter{'_rest' if rest else ''}{space}_{vector_name(name, lanes)}{self._wide}",
            f"{space} {name} *p, {self.index} s, {self.index} n, {_value(name, lanes)} v",
            f"const {self.index} m = {f'{lanes} - n' if rest else 'n'};\n"
            f"  if (s == 1 && m >= {lanes}) {{ {whole}; return; }}\n{parts}  {items}",
            static=self._static(space, wide=is_wide(name, lanes)),
        )

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
        kind = vector_name(name, lanes)
        store = f"*({space} {self.vector(name, lanes)} *)"
        body = (
            f"{kind} low, high; low.even = a.lo; low.odd = b.lo; high.even = a.hi; high.odd = b.hi; "
            f"{store}p = low; {store}(p + {lanes}) = high;"
        )
        return self.define("void", f"scatter_pairs{space}_{kind}", f"{space} {name} *p, {kind} a, {kind} b", body)

    def rounded(self, name: str, lanes: int) -> str:
        """Rounds a float or double to a value of float16, which it gives as a float; ties go to even."""
        kind, width = vector_name(name, lanes), "" if lanes == 1 else str(lanes)
        body = (
            f"ushort{width} h; vstore_half{width}_rte(x, 0, (half *)&h); return vload_half{width}(0, (const half *)&h);"
        )
        return self.define(f"float{width}", f"round_half_{kind}", f"{kind} x", body, key=f"round {kind}")

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
        self.texts[function] = (
            f"static inline void {function}(__global const {name} *p, {self.index} s, __local {name} *q, "
            f"{self.index} t)\n{{\n  {body}\n}}\n"
        )
        return function

    def user(self, name: str, source: str) -> str:
        """A function given as OpenCL C, its helpers as well under names that none else here has.

        Its macros end with it: what is generated after it may have names of theirs.
        """
        key = f"user {name} {source}"
        before = [other for other in self.texts if other.startswith(f"user {name} ")]
        place = before.index(key) if key in before else len(before)
        called = f"user{place}_{name}"
        code = without_comments(source)
        names = {own: called if own == name else f"{called}_{own}" for own in defined_names(code)}
        renamed = "".join([f"#define {own} {other}\n" for own, other in names.items()])
        ended = dict.fromkeys([*names, *defined_macros(code)])
        self.texts[key] = f"{renamed}{source.strip()}\n" + "".join([f"#undef {own}\n" for own in ended])
        return called
