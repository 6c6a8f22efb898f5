"""From procedures to OpenCL C: the only place, with the modules beside it, where its syntax stands."""

from collections.abc import Callable, Sequence
from typing import Any

from mdhnp.codegen.ir import statements as ir
from mdhnp.codegen.ir.index import ONE, Compare, Index, Var, constant, variable
from mdhnp.codegen.ir.values import HALF, Buffer, Load, Value
from mdhnp.codegen.opencl import ptx
from mdhnp.codegen.opencl.ctypes import Text, local_type, memory_type, value_type, vector_name
from mdhnp.codegen.opencl.prelude import Helpers
from mdhnp.codegen.opencl.values import NEIGHBOURS, SPACES, Values
from mdhnp.schedule.atoms import ATOMS
from mdhnp.schedule.schedule import DeviceCaps

#: Elements of two bytes, which not every compiler knows as numbers.
_PACKED = "ushort"


def source(procedures: Sequence[ir.Procedure], caps: DeviceCaps) -> str:
    """Write a program for a device: helper functions, then the kernels."""
    texts: dict[str, str] = {}
    kernels = [_Kernel(p, texts, caps).text() for p in procedures]
    helpers = "".join(texts[k] for k in sorted(texts, key=lambda k: (not k.startswith("_"), k)))
    extension = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" if caps.fp64 else ""
    return extension + ("\n" + helpers if helpers else "") + "\n" + "\n".join(kernels)


class _Kernel:
    """The text of one kernel as it grows."""

    def __init__(self, procedure: ir.Procedure, texts: dict[str, str], caps: DeviceCaps) -> None:
        self._procedure = procedure
        self._helpers = Helpers(texts, procedure, caps)
        self._values = Values(self._helpers)
        self._lines: list[str] = []
        self._indent = ""
        #: Of a body, what copies elements of an array that does not begin where they are copied at once.
        self._apart: dict[str, list[str]] = {}
        self._writers: dict[type, Callable[[Any], None]] = {
            ir.Scope: lambda s: self._braces("{", s.body),
            ir.For: self._for,
            ir.If: self._if,
            ir.Let: lambda s: self._line(f"const {self._declared(s)}"),
            ir.Declare: lambda s: self._line(self._declared(s)),
            ir.Assign: lambda s: self._line(f"{self._values.name(s.target)} = {self._right(s.value)};"),
            ir.Store: self._store,
            ir.Prefetch: self._prefetch,
            ir.StoreWords: self._store_words,
            ir.LoadMatrix: self._load_matrix,
            ir.MatrixProduct: self._matrix_product,
            ir.Copy: lambda s: self._line(self._copied(s)),
            ir.Commit: lambda _: self._line(ptx.COMMIT),
            ir.Wait: lambda s: self._line(ptx.WAIT.format(s.pending)),
            ir.Roles: self._roles,
            ir.NamedBarrier: lambda s: self._line(
                f"{ptx.named_barrier(self._helpers, wait=s.wait)}({self._values.index(s.number)}, {s.items});"
            ),
            ir.Publish: lambda _: self._line(ptx.PUBLISH),
            ir.WideProducts: self._wide_products,
            ir.WaitProducts: self._wait_products,
            ir.Transpose: self._transpose,
            ir.Clear: lambda s: self._line(
                f"for ({self._helpers.index} e = 0; e < {s.size}; ++e) {s.buffer.name}[e] = 0;"
            ),
            ir.FillLanes: self._fill_lanes,
            ir.CallInto: self._call_into,
            ir.AllocLocal: self._alloc_local,
            ir.Barrier: lambda _: self._line("barrier(CLK_LOCAL_MEM_FENCE);"),
            ir.Comment: lambda s: self._line(f"// {s.text}"),
        }

    def text(self) -> str:
        """All lines."""
        p = self._procedure
        attributes = [f"reqd_work_group_size({p.work_items}, 1, 1)"]
        # LLVM cuts vectors of 64 bytes in halves where it believes that 32 are better, as it does for each processor
        # with AVX-512 that PoCL's knows. Told that a function has wide ones it does not, and multiplies up to twice as
        # fast.
        attributes += [f"min_vector_width({8 * min(p.vector_bytes, 64)})"] if p.vector_bytes > 32 else []
        arguments = [
            *(f"{_pointer(b)}restrict {b.name}" for b in p.buffers),
            *(f"const {self._helpers.index} {size}" for size in p.sizes),
            *(f"const long {b.name}_at" for b in p.moved),
        ]
        self._line(f"// {p.title}")
        self._line(f"__kernel __attribute__(({', '.join(attributes)}))")
        self._line(f"void {p.name}({', '.join(arguments)}) {{")
        self._indent = "  "
        self._line(f"#pragma OPENCL FP_CONTRACT {'ON' if p.contract else 'OFF'}")
        for b in p.moved:
            const = "const " if b.constant else ""
            self._line(f"{b.name} = ({_pointer(b)})((__global {const}char *){b.name} + {b.name}_at);")
        for alias, b in p.aliases:
            self._line(f"{_pointer(alias)}const {alias.name} = {b.name};")
        self._statements(p.body)
        self._indent = ""
        self._line("}")
        return "\n".join(self._lines) + "\n"

    def _line(self, text: str) -> None:
        self._lines.append(self._indent + text)

    def _statements(self, body: ir.Body) -> None:
        outer, self._apart = self._apart, {}
        for statement in body:
            self._writers[type(statement)](statement)
        for whole, copies in self._apart.items():
            self._line(f"if (!{whole}) {{")
            self._lines += [f"{self._indent}  {copy}" for copy in copies]
            self._line("}")
        self._apart = outer

    def _inner(self, head: str, body: ir.Body) -> None:
        """A line that opens a brace, and what stands in it."""
        self._line(head)
        outer = self._indent
        self._indent = outer + "  "
        self._statements(body)
        self._indent = outer

    def _braces(self, head: str, body: ir.Body) -> None:
        self._inner(head, body)
        self._line("}")

    def _right(self, value: Value | Index) -> str:
        return self._values.index(value) if isinstance(value, Index) else self._values.value(value).text

    def _declared(self, s: ir.Let | ir.Declare) -> str:
        """A declaration, without what comes before the type."""
        value = self._right(s.value)
        kind = self._helpers.index if isinstance(s.target, Var) else value_type(s.target.dtype, s.target.lanes)
        if isinstance(s, ir.Let) and s.unknown_to == "compiler":
            value = f"{ptx.opaque(self._helpers, kind)}({value})"
        elif isinstance(s, ir.Let) and s.unknown_to and isinstance(s.value, Index):
            bits = int(s.value.range()[1]).bit_length()  # of what is not negative
            value = f"{ptx.anew(self._helpers)}({value}) & {(1 << bits) - 1}"
        return f"{kind} {self._values.declare(s.target)} = {value};"

    def _for(self, s: ir.For) -> None:
        name, write = s.var.stem, self._values.index
        begin = "" if s.begin is None else f"{self._helpers.index} {name} = {write(s.begin)}"
        step = s.following - variable(s.var)
        if step == ONE:
            following = f"++{name}"
        elif step.terms:
            following = f"{name} = {write(s.following)}"
        else:
            following = f"{name} += {write(step)}"
        head = f"for ({begin}; {self._values.test(s.test)}; {following})"
        if isinstance(s.body, ir.Copy) and not s.body.asynchronous:
            self._line(f"{head} {self._copied(s.body)}")
        else:
            self._braces(f"{head} {{", (s.body,) if isinstance(s.body, ir.Copy) else s.body)

    def _if(self, s: ir.If) -> None:
        tests = " && ".join([self._test(t) for t in s.tests])
        self._inner(f"if ({tests}) {{", s.inside)
        if s.elsewhere:
            self._inner("} else {", s.elsewhere)
        self._line("}")

    def _roles(self, s: ir.Roles) -> None:
        more, less = ptx.registers(s.registers)
        self._inner(f"if (get_local_id(0) < {s.workers}) {{{more}", s.work)
        self._inner(f"}} else {{{less}", s.fill)
        self._line("}")

    def _test(self, test: ir.Test) -> str:
        if isinstance(test, Compare):
            return self._values.test(test)
        if isinstance(test, ir.Not):
            return f"!({self._values.tests(test.tests)})"
        return self._values.value(test.value).text

    def _store(self, s: ir.Store) -> None:
        buffer, value, space = s.buffer, self._values.value(s.value), SPACES[s.buffer.space]
        kind = local_type if buffer.space == "local" else memory_type
        name, offset, stride = kind(value.dtype), self._values.index(s.offset), self._values.index(s.stride)
        place = f"(__local half *){buffer.name}" if buffer.packed else buffer.name
        if s.imaginary is not None:
            function, other = self._helpers.scatter_pairs(name, value.lanes, space), self._values.value(s.imaginary)
            self._line(f"{function}({buffer.name} + {offset}, {value.text}, {other.text});")
        elif buffer.values:
            self._line(f"{buffer.name}[{offset}] = {value.text};")
        elif value.lanes == 1 and value.dtype == HALF and (buffer.space == "global" or buffer.packed):
            self._line(f"vstore_half_rte({value.text}, {offset}, {place});")
        elif value.lanes == 1:
            text = f"({name}){value.atom}" if value.dtype.kind == "b" else value.text
            self._line(f"{buffer.name}[{offset}] = {text};")
        elif s.stride.known != NEIGHBOURS or s.valid is not None or s.done is not None:
            function = self._helpers.scatter(name, value.lanes, space, rest=s.done is not None)
            count = self._values.index(s.done or s.valid or constant(value.lanes))
            self._line(f"{function}({buffer.name} + {offset}, {stride}, {count}, {_stored(value)});")
        elif name == "half" or buffer.packed:
            at = f"{place} + {offset}"
            self._line(f"{self._helpers.stored_half(at, _stored(value), value.lanes, space)};")
        else:
            at, nbytes = f"{buffer.name} + {offset}", value.lanes * value.dtype.itemsize
            self._line(f"{self._helpers.stored(at, _stored(value), name, value.lanes, nbytes, space)};")

    def _prefetch(self, s: ir.Prefetch) -> None:
        if self._helpers.caps.kind == "cpu":  # OpenCL C's own function does nothing on both CPU runtimes
            self._line(
                f"{self._helpers.prefetch()}({s.buffer.name} + {self._values.index(s.offset)}, {int(s.changed)});"
            )

    def _store_words(self, s: ir.StoreWords) -> None:
        at = f"(__global {_PACKED} *){s.buffer.name} + {self._values.index(s.at)}"
        value = f"as_{_PACKED}8((uint4)({', '.join(map(self._values.name, s.words))}))"
        self._line(f"{self._helpers.stored(at, value, _PACKED, 8, 16, SPACES['global'])};")

    def _copied(self, s: ir.Copy) -> str:
        at = self._values.index(s.at)
        if s.asynchronous and isinstance(s.source, Load):
            return self._started(f"{s.target.name} + {at}", s.source, packed=s.target.packed)
        if s.target.packed and isinstance(s.source, Load):
            # Its value is a float's, which is rounded to what it was.
            return f"vstore_half_rte({self._values.element(s.source)}, {at}, (__local half *){s.target.name});"
        return f"{s.target.name}[{at}] = {self._values.element(s.source)};"

    def _started(self, target: str, source: Load, *, packed: bool) -> str:
        """A copy that is not waited for; what lies outside of an array is 0."""
        name, size = _PACKED if packed else memory_type(source.dtype), source.dtype.itemsize
        lanes = source.lanes
        whole = [f"(((size_t){source.buffer.name} & {lanes * size - 1}) == 0)"] if lanes > 1 else []
        guard = [f"({self._values.tests(source.guard)})"] if source.guard else []
        cast = f"(__global const {_PACKED} *)" if packed else ""
        at = f"{cast}{source.buffer.name} + {self._values.index(source.offset)}"
        if lanes > 1 and size < ptx.LEAST:
            apart = ptx.copy_apart(self._helpers, name, lanes, guarded=bool(guard))
            self._apart.setdefault(whole[0], []).append(f"{apart}({', '.join([target, at, *guard])});")
        function = ptx.async_copy(self._helpers, name, size, lanes, guarded=bool(guard))
        return f"{function}({', '.join([target, at, *whole, *guard])});"

    def _load_matrix(self, s: ir.LoadMatrix) -> None:
        name, names = value_type(s.into[0].dtype), [self._values.declare(r) for r in s.into]
        function = ptx.load_matrix(self._helpers, name, len(names), turned=s.turned)
        row = f"(uint)(size_t)({s.buffer.name} + {self._values.index(s.at)})"
        self._line(f"{name} {', '.join(names)};")
        self._line(f"{function}({', '.join(f'&{name}' for name in names)}, {row});")

    def _matrix_product(self, s: ir.MatrixProduct) -> None:
        into = [f"&{self._values.name(r)}" for r in s.into]
        factors = [self._values.value(v).text for v in (*s.a, *s.b)]
        self._line(f"{ptx.matrix_product(self._helpers, ATOMS[s.atom])}({', '.join([*into, *factors])});")

    def _wide_products(self, s: ir.WideProducts) -> None:
        atom, write = ATOMS[s.atom], self._values
        self._line(ptx.PRODUCTS_BEGIN)
        for p in s.products:
            function = ptx.wide_product(
                self._helpers, atom, len(p.into), minus=p.negated, turned=p.b.turned,
                left_turned=p.a.turned if isinstance(p.a, ir.Matrix) else None,
            )  # fmt: skip
            left = [self._matrix(p.a)] if isinstance(p.a, ir.Matrix) else [write.value(v).text for v in p.a]
            into = [f"&{write.name(r)}" for r in p.into]
            self._line(f"{function}({', '.join([*into, *left, self._matrix(p.b)])});")
        self._line(ptx.PRODUCTS_END)

    def _matrix(self, m: ir.Matrix) -> str:
        return ptx.matrix_at(self._helpers, f"{m.buffer.name} + {self._values.index(m.at)}", m)

    def _wait_products(self, s: ir.WaitProducts) -> None:
        self._line(ptx.PRODUCTS_DONE.format(s.pending))
        for some in s.sums:
            function = ptx.products_known(self._helpers, value_type(some[0].dtype), len(some))
            self._line(f"{function}({', '.join([f'&{self._values.name(r)}' for r in some])});")

    def _transpose(self, s: ir.Transpose) -> None:
        function, write = self._helpers.transpose(local_type(s.target.dtype), s.lanes), self._values.index
        self._line(
            f"{function}({s.source.name} + {write(s.source_at)}, {write(s.source_stride)}, "
            f"{s.target.name} + {write(s.at)}, {write(s.stride)});"
        )

    def _fill_lanes(self, s: ir.FillLanes) -> None:
        name, lanes = local_type(s.target.dtype), s.target.lanes
        element, target, lane = self._values.element(s.element), self._values.declare(s.target), s.lane.stem
        self._line(f"{vector_name(name, lanes)} {target};")
        head = f"for ({self._helpers.index} {lane} = 0; {lane} < {lanes}; ++{lane})"
        self._line(f"{head} (({name} *)&{target})[{lane}] = {element};")

    def _call_into(self, s: ir.CallInto) -> None:
        function = self._helpers.user(s.call.name, s.call.source)
        given = [self._values.value(a).text for a in s.call.args]
        names = [self._values.declare(r) for r in s.results]
        for register, name in zip(s.results, names, strict=True):
            self._line(f"{value_type(register.dtype)} {name};")
        self._line(f"{function}({', '.join([*given, *(f'&{name}' for name in names)])});")

    def _alloc_local(self, s: ir.AllocLocal) -> None:
        b = s.buffer
        kind = value_type(b.dtype, b.values) if b.values else _PACKED if b.packed else local_type(b.dtype)
        aligned = f" __attribute__((aligned({s.aligned})))" if s.aligned else ""
        self._line(f"{'volatile ' if b.volatile else ''}__local {kind} {b.name}[{s.size}]{aligned};")


def _pointer(buffer: Buffer) -> str:
    return f"__global {'const ' if buffer.constant else ''}{memory_type(buffer.dtype)} *"


def _stored(value: Text) -> str:
    name = vector_name(memory_type(value.dtype), value.lanes)
    return f"convert_{name}(-{value.atom})" if value.dtype.kind == "b" else value.text
