"""Small functions that kernels call; a program carries only those it needs.

PoCL's own vloadN, vstoreN and fma are calls that spill registers, so vectors are read and written through pointers to
under-aligned vector types, and multiply-adds are left to the compiler to contract.
"""

from mdhnp.codegen.ctypes import vector_name

__all__ = ["Helpers"]

_BOUNDARY = {
    "nearest": "return clamp(i, ({t})0, n - 1);",
    "wrap": "const {t} r = i % n; return r < 0 ? r + n : r;",
    "reflect": "const {t} m = 2 * n; {t} r = i % m; r = r < 0 ? r + m : r; return min(r, m - 1 - r);",
    "mirror": "const {t} m = max(2 * n - 2, ({t})1); {t} r = i % m; r = r < 0 ? r + m : r; return min(r, m - r);",
}


class Helpers:
    """Which helper functions a program needs, and their text."""

    def __init__(self, index_type: str) -> None:
        self._index = index_type
        self._texts: dict[str, str] = {}

    def text(self) -> str:
        """All that were asked for, in a fixed order."""
        return "".join(self._texts[k] for k in sorted(self._texts, key=lambda k: (not k.startswith("_"), k)))

    def vector(self, name: str, lanes: int) -> str:
        """A vector type that may lie at any element's address."""
        kind = vector_name(name, lanes)
        self._texts[f"_{kind}"] = f"typedef {kind} {kind}_u __attribute__((aligned(sizeof({name}))));\n"
        return f"{kind}_u"

    def boundary(self, mode: str) -> str:
        """Maps an index into ``0 … n - 1``."""
        body = _BOUNDARY[mode].format(t=self._index)
        head = f"static inline {self._index} {mode}_index({self._index} i, {self._index} n)"
        self._texts[f"boundary {mode}"] = f"{head} {{ {body} }}\n"
        return f"{mode}_index"

    def gather(self, name: str, lanes: int, space: str) -> str:
        """Reads lanes that lie `stride` apart."""
        function, kind = f"gather{space}_{vector_name(name, lanes)}", vector_name(name, lanes)
        items = ", ".join("p[0]" if n == 0 else f"p[{n} * s]" for n in range(lanes))
        self._texts[function] = (
            f"static inline {kind} {function}({space} const {name} *p, {self._index} s)\n{{ return ({kind})({items}); }}\n"
        )
        return function

    def gather_part(self, name: str, lanes: int, space: str) -> str:
        """Reads the first `n` lanes; the others repeat the last of them."""
        function, kind = f"gather_part{space}_{vector_name(name, lanes)}", vector_name(name, lanes)
        whole = f"if (s == 1 && n >= {lanes}) return *({space} const {self.vector(name, lanes)} *)p;"
        items = ", ".join("p[0]" if n == 0 else f"p[min(({self._index}){n}, n - 1) * s]" for n in range(lanes))
        self._texts[function] = (
            f"static inline {kind} {function}({space} const {name} *p, {self._index} s, {self._index} n)\n"
            f"{{ {whole}\n  return ({kind})({items}); }}\n"
        )
        return function

    def scatter(self, name: str, lanes: int, space: str) -> str:
        """Writes the first `n` lanes, `stride` apart."""
        function, kind = f"scatter{space}_{vector_name(name, lanes)}", vector_name(name, lanes)
        whole = f"if (s == 1 && n >= {lanes}) {{ *({space} {self.vector(name, lanes)} *)p = v; return; }}"
        lines = " ".join(f"if (n > {n}) p[{n} * s] = v.s{n:x};" for n in range(lanes))
        self._texts[function] = (
            f"static inline void {function}({space} {name} *p, {self._index} s, {self._index} n, {kind} v)\n"
            f"{{ {whole}\n  {lines} }}\n"
        )
        return function

    def power(self, kind: str) -> None:
        """Integer power by squaring, as NumPy wraps it."""
        lane = kind.rstrip("0123456789")
        if lane == kind:
            body = f"{kind} r = 1; while (e > 0) {{ if (e & 1) r *= b; b *= b; e >>= 1; }} return r;"
        else:
            lanes = int(kind[len(lane) :])
            self.power(lane)
            body = f"return ({kind})({', '.join(f'mdh_ipow_{lane}(b.s{n:x}, e.s{n:x})' for n in range(lanes))});"
        self._texts[f"ipow {len(kind):02d} {kind}"] = f"static inline {kind} mdh_ipow_{kind}({kind} b, {kind} e) {{ {body} }}\n"

    def user(self, source: str) -> None:
        """A scalar function given as OpenCL C."""
        self._texts[f"user {source}"] = source.strip() + "\n"
