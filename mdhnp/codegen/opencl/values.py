"""Values in OpenCL C (constants, operations, loads from memory), index arithmetic, and the names of variables."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from mdhnp.codegen.ir import values as ir
from mdhnp.codegen.ir.index import Atom, Compare, Index, IndexChoice, IndexElement, IndexFunction, Var
from mdhnp.codegen.opencl import ptx
from mdhnp.codegen.opencl.ctypes import (
    Text,
    as_vector,
    constant,
    convert,
    local_type,
    memory_type,
    value_type,
    vector_name,
)
from mdhnp.codegen.opencl.operations import COMPARISONS, operation
from mdhnp.codegen.opencl.prelude import Helpers

SPACES = {"global": "__global", "local": "__local"}
NEIGHBOURS, _PAIRS = 1, 2
_IDS = {"group_id": "get_group_id(0)", "local_id": "get_local_id(0)"}
_SIGNS = {"quotient": "/", "remainder": "%", "xor": "^"}


class Values:
    """Writes values and indices of one kernel, and gives its variables numbers in the order of their declarations."""

    def __init__(self, helpers: Helpers) -> None:
        self._helpers = helpers
        self._names: dict[tuple[str, int | None], str] = {}
        self._counts: Counter[str] = Counter()
        self._writers: dict[type, Callable[[Any], Text]] = {
            ir.Register: lambda v: Text(self.name(v), v.dtype, v.lanes),
            ir.Const: lambda v: Text(constant(v.literal, v.dtype), v.dtype),
            ir.Apply: self._apply,
            ir.Address: self._address,
            ir.CTextCall: self._c_text,
            ir.Shuffled: self._shuffled,
            ir.IndexValue: self._index_value,
            ir.Outside: lambda v: _as_value(v.dtype, self.element(v), 1),
            ir.Load: self._load,
            ir.LoadRow: self._load_row,
        }

    def declare(self, target: Var | ir.Register) -> str:
        """Name a variable that is declared here."""
        stem, number = target.stem, target.number
        if number is None:
            return stem
        name = f"{stem}{self._counts[stem]}"
        self._counts[stem] += 1
        self._names[stem, number] = name
        return name

    def name(self, target: Var | ir.Register) -> str:
        return target.stem if target.number is None else self._names[target.stem, target.number]

    def index(self, index: Index) -> str:
        return index.written(self._atom)

    def tests(self, tests: Iterable[Compare]) -> str:
        return " && ".join([self.test(t) for t in tests])

    def test(self, test: Compare) -> str:
        return f"{self.index(test.left)} {test.sign} {self.index(test.right)}"

    def _atom(self, atom: Atom, first: bool) -> str:
        """Write a factor of a product; divisions need no parentheses where they come first."""
        if isinstance(atom, Var):
            return self.name(atom)
        if isinstance(atom, IndexElement):
            text = f"({self._helpers.index}){atom.buffer.name}[{self.index(atom.offset)}]"
            if atom.length and atom.counted and atom.buffer.dtype.kind == "i":  # those less than 0 count from the end
                return f"({text} < 0 ? {text} + {atom.length} : {text})"
            return text
        if isinstance(atom, IndexChoice):
            tests, inside, elsewhere = self.tests(atom.tests), self.index(atom.inside), self.index(atom.elsewhere)
            return f"({tests} ? {inside} : {elsewhere})"
        if atom.function in _IDS:
            return _IDS[atom.function]
        if atom.function in _SIGNS:
            text = self._division(atom)
            return text if first and atom.function != "xor" else f"({text})"
        if atom.function in {"min", "max", "clamp"}:
            return f"{atom.function}({', '.join([self._argument(a) for a in atom.arguments])})"
        function = self._helpers.boundary(atom.function)
        return f"{function}({', '.join(map(self.index, atom.arguments))})"

    def _argument(self, index: Index) -> str:
        """Write an argument of a function whose arguments must be of one type."""
        return f"{self.index(index)}l" if self._helpers.index == "long" and not index.terms else self.index(index)

    def _division(self, division: IndexFunction) -> str:
        left, right = division.arguments
        one_term = len(left.terms) == 1 and not left.constant and left.terms[0][1] > 0
        above = self.index(left) if one_term else f"({self.index(left)})"
        below = self.index(right)
        if right.terms and not right.is_variable:
            below = f"({below})"
        return f"{above} {_SIGNS[division.function]} {below}"

    def value(self, value: ir.Value) -> Text:
        return self._writers[type(value)](value)

    def element(self, source: ir.Load | ir.Outside) -> str:
        """Write an element as memory has it."""
        if isinstance(source, ir.Outside):
            return f"({local_type(source.dtype)}){constant(source.literal, source.dtype)}"
        buffer, offset = source.buffer, self.index(source.offset)
        half = buffer.dtype == ir.HALF and buffer.space == "global"
        text = f"vload_half({offset}, {buffer.name})" if half else f"{buffer.name}[{offset}]"
        if source.outside is None:
            return text
        return f"({self.tests(source.guard)} ? {text} : {self.element(source.outside)})"

    def _apply(self, v: ir.Apply) -> Text:
        if v.op in COMPARISONS and all([isinstance(a, ir.IndexValue) for a in v.args]):
            return self._compared(v)
        args = [self.value(a) for a in v.args]
        if v.op == "pack_bytes":
            *values, number = [a.text for a in args]
            return Text(f"{ptx.pack_bytes(self._helpers, int(number.rstrip('u')))}({', '.join(values)})", v.dtype)
        if v.op == "pack_halves":
            return Text(f"{ptx.pack_halves(self._helpers)}({', '.join([a.text for a in args])})", v.dtype)
        if v.op in _IN_REGISTERS:
            return _IN_REGISTERS[v.op](args, v.dtype, v.lanes)
        return operation(v.op, args, v.dtype, v.lanes, self._helpers)

    def _address(self, v: ir.Address) -> Text:
        sizes = [self.index(size) for axis in v.axes for size in axis]
        return Text(", ".join([f"{v.buffer.name} + {self.index(v.offset)}", *sizes]), v.dtype)

    def _c_text(self, v: ir.CTextCall) -> Text:
        name = self._helpers.user(v.name, v.source)
        return Text(f"{name}({', '.join([self.value(a).text for a in v.args])})", v.dtype)

    def _shuffled(self, v: ir.Shuffled) -> Text:
        function = ptx.shuffle(self._helpers, value_type(v.dtype), v.lanes, v.way)
        distance = self.index(v.distance * -1 if v.way == "before" else v.distance)
        return Text(f"{function}({self.value(v.value).text}, {distance})", v.dtype, v.lanes)

    def _index_value(self, v: ir.IndexValue, name: str = "long") -> Text:
        text = f"({name})({self.index(v.index)})"
        if v.lanes > 1:
            lanes = ", ".join(str(n) for n in range(v.lanes))
            text = f"({name}{v.lanes})({text}) + ({name}{v.lanes})({lanes})"
        return Text(text, np.dtype(np.int32) if name == "int" else v.dtype, v.lanes)

    def _compared(self, v: ir.Apply) -> Text:
        """Compare indices, of as few bits as kernels compute them: GPUs take several instructions for 64."""
        short = self._helpers.index == "int" and self._helpers.caps.kind == "gpu"
        args = [self._index_value(a, "int" if short else "long") for a in v.args if isinstance(a, ir.IndexValue)]
        return operation(v.op, args, v.dtype, v.lanes, self._helpers)

    def _load(self, v: ir.Load) -> Text:
        buffer = v.buffer
        if buffer.values:
            return Text(self.element(v), v.dtype, v.lanes)
        if v.lanes == 1:
            return _as_value(v.dtype, self.element(v), 1)
        text = self._vector(v)
        if v.outside is not None:
            other = f"({vector_name(local_type(v.dtype), v.lanes)})({self.element(v.outside)})"
            text = f"({self.tests(v.guard)} ? {text} : {other})"
        return _as_value(v.dtype, text, v.lanes)

    def _vector(self, v: ir.Load) -> str:
        buffer, lanes, space = v.buffer, v.lanes, SPACES[v.buffer.space]
        name = memory_type(v.dtype) if buffer.space == "global" else local_type(v.dtype)
        at = f"{buffer.name} + {self.index(v.offset)}"
        stride = self.index(v.stride)
        if v.valid is not None:
            function = self._helpers.gather_part(name, lanes, space)
            return f"{function}({at}, {stride}, {self.index(v.valid)})"
        if v.stride.known == NEIGHBOURS and name == "half":
            return self._helpers.loaded_half(at, lanes, space)
        if v.stride.known == NEIGHBOURS:
            whole = buffer.aligned and v.offset.divisor % lanes == 0
            return self._helpers.loaded(at, name, lanes, lanes * v.dtype.itemsize, space, whole=whole)
        if v.stride.known == _PAIRS and name != "half":
            return f"{self._helpers.gather_pairs(name, lanes, space)}({at})"
        return f"{self._helpers.gather(name, lanes, space)}({at}, {stride})"

    def _load_row(self, v: ir.LoadRow) -> Text:
        length = f"{self.tests(v.guard)} ? {v.length} : 0" if v.guard else str(v.length)
        start, stride, first = (self.index(i) for i in (v.start, v.stride, v.first))
        at, rest = f"{v.buffer.name} + {start}", f"{first}, {length}, {self.element(v.outside)}"
        if v.buffer.space == "local":
            text = f"{self._helpers.near_row(local_type(v.dtype), v.lanes, v.mode)}({at}, {rest})"
        else:
            text = f"{self._helpers.bounded_row(memory_type(v.dtype), v.lanes, v.mode)}({at}, {stride}, {rest})"
        return _as_value(v.dtype, text, v.lanes)


def _as_value(dtype: np.dtype[Any], text: str, lanes: int) -> Text:
    """Elements of memory as a value: bytes become booleans."""
    if dtype.kind != "b":
        return Text(text, dtype, lanes)
    if lanes == 1:
        return Text(f"{text} != 0", dtype)
    return Text(f"convert_int{lanes}({text} != ({vector_name('uchar', lanes)})(0))", dtype, lanes)


def _high_bits(args: Sequence[Text], dtype: np.dtype[Any], lanes: int) -> Text:
    value, kept = args
    lost = 1 << np.finfo(dtype).nmant + 1 - int(kept.text.rstrip("u"))
    bits = f"as_uint({value.text}) + {lost // 2:#x}u"
    return Text(f"as_float(({bits}) & {-lost & 0xFFFFFFFF:#x}u)", dtype, lanes)


def _packed(args: Sequence[Text], dtype: np.dtype[Any], _: int) -> Text:
    """The bits of several elements of local memory, where float16 that is to be packed is kept as its bits."""
    kind = vector_name("ushort", len(args)) if args[0].dtype == ir.HALF else value_type(args[0].dtype, len(args))
    return Text(f"as_{value_type(dtype)}(({kind})({', '.join(a.text for a in args)}))", dtype)


def _rounding_error(args: Sequence[Text], dtype: np.dtype[Any], lanes: int) -> Text:
    total, before, added = (a.text for a in args)
    zero = as_vector(Text(constant("0", dtype), dtype), lanes).text
    return Text(f"{total} - {total} == {zero} ? ({total} - {before}) - {added} : {zero}", dtype, lanes)


#: Operations that are none of NumPy's, but about how values lie in registers and memory.
_IN_REGISTERS: dict[str, Callable[[Sequence[Text], np.dtype[Any], int], Text]] = {
    "splat": lambda args, _, lanes: as_vector(args[0], lanes),
    "convert": lambda args, dtype, _: convert(args[0], dtype),
    "retype": lambda args, dtype, lanes: Text(args[0].text, dtype, lanes),
    "lanes": lambda args, dtype, lanes: Text(
        f"({vector_name(value_type(dtype), lanes)})({', '.join([a.text for a in args])})", dtype, lanes
    ),
    "lower": lambda args, dtype, lanes: Text(f"{args[0].text}.lo", dtype, lanes),
    "upper": lambda args, dtype, lanes: Text(f"{args[0].text}.hi", dtype, lanes),
    "from_mask": lambda args, dtype, _: Text(f"-{args[0].text}", dtype),
    "from_bytes": lambda args, dtype, lanes: _as_value(dtype, args[0].text, lanes),
    "high_bits": _high_bits,
    "bits": lambda args, dtype, _: Text(f"as_uint({args[0].text})", dtype),
    "pack": _packed,
    "rounding_error": _rounding_error,
}
