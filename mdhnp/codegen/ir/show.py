"""Prints procedures for a reader: every loop, load, store, copy and barrier, without any of OpenCL C."""

from collections.abc import Iterable, Iterator

from mdhnp.codegen.ir import statements as st
from mdhnp.codegen.ir import values as ir
from mdhnp.codegen.ir.accesses import bodies
from mdhnp.codegen.ir.index import ONE, ZERO, Compare, Index, Var, named


def show(p: st.Procedure) -> str:
    """All of a kernel: its arguments, then its statements, each body indented."""
    bits = 64 if p.wide else 32
    lines = [f"kernel {p.name}: {p.work_items} work-items a group, {bits}-bit indices  # {p.title}"]
    lines += [f"  global {_buffer(b)}{', read only' if b.constant else ''}" for b in p.buffers]
    lines += [f"  size {name}" for name in p.sizes]
    lines += [f"  global {alias.name} is {b.name}" for alias, b in p.aliases]
    return "\n".join([*lines, *_indented(p.body)]) + "\n"


#: What the bodies of a statement that has several are called.
_PARTS = {st.If: ("", "else"), st.Pipeline: ("", "prepare", "work"), st.Roles: ("", "producers")}


def _indented(body: Iterable[st.Stmt]) -> Iterator[str]:
    for s in body:
        yield f"  {_line(s)}"
        for n, inner in enumerate(bodies(s)):
            if n and inner:
                yield f"  {_PARTS[type(s)][n]}"
            yield from (f"  {line}" for line in _indented(inner))


def _line(s: st.Stmt) -> str:
    match s:
        case st.Scope():
            return "block"
        case st.For():
            begin = "" if s.begin is None else f" from {s.begin}"
            return f"for {named(s.var)}{begin} while {s.test}, then {s.following}"
        case st.If():
            return f"if {' and '.join(map(_test, s.tests))}"
        case st.Pipeline():
            when = "asynchronously" if s.asynchronous else "through registers"
            when += f", by {s.producers} producers" if s.producers else ""
            return f"pipeline of {s.stages} stages, {when}: {named(s.round)} < {s.rounds}, fill for {named(s.filled)}"
        case st.Roles():
            given = f", {s.registers[0]} registers each and {s.registers[1]}" if s.registers else ""
            return f"the first {s.workers} work-items{given}"
        case st.NamedBarrier():
            return f"{'barrier' if s.wait else 'come to barrier'} {s.number} of {s.items} work-items"
        case st.Publish():
            return "publish to matrix instructions"
        case st.Prefetch():
            return f"prefetch {s.buffer.name}[{s.offset}]{', to be changed' if s.changed else ''}"
        case st.Comment():
            return f"# {s.text}"
        case st.Commit():
            return "commit copies"
        case st.Wait():
            return f"wait for copies, all but {s.pending} groups"
        case st.Barrier():
            return f"barrier  # {', '.join(s.between)}" if s.between else "barrier"
        case st.Let():
            hidden = f"unknown to the {s.unknown_to}: " if s.unknown_to else ""
            return f"let {_target(s.target)} = {hidden}{_right(s.value)}"
        case st.Declare():
            return f"var {_target(s.target)} = {_right(s.value)}"
        case st.Assign():
            return f"{_name(s.target)} = {_right(s.value)}"
        case st.Store():
            if s.imaginary is not None:
                return f"{s.buffer.name}[{s.offset}, by turns] = {value(s.value)}, {value(s.imaginary)}"
            some = f", the first {s.valid}" if s.valid else f", all but the first {s.done}" if s.done else ""
            return f"{_place(s.buffer, s.offset, s.stride, s.value.lanes)}{some} = {value(s.value)}"
        case st.Copy():
            how = "start to copy" if s.asynchronous else "copy"
            return f"{how} {s.target.name}[{s.at}] = {value(s.source)}"
        case st.Transpose():
            rows = f"{s.target.name}[{s.at}, rows by {s.stride}]"
            source = f"{s.source.name}[{s.source_at}, rows by {s.source_stride}]"
            return f"copy {rows} = {source}, {s.lanes} x {s.lanes}, transposed"
        case st.StoreWords():
            return f"store {s.buffer.name}[{s.at}] = {', '.join(map(_name, s.words))}"
        case st.Clear():
            return f"clear {s.buffer.name}[{s.size}]"
        case st.FillLanes():
            return f"let {_target(s.target)}, each {named(s.lane)} = {value(s.element)}"
        case st.CallInto():
            return f"let {', '.join(map(_target, s.results))} = {value(s.call)}"
        case st.LoadMatrix():
            blocks = f"{len(s.into)} blocks of rows{', turned' if s.turned else ''}"
            return f"let {', '.join(map(_target, s.into))} = {s.buffer.name}[{s.at}, {blocks}]"
        case st.MatrixProduct():
            factors = " by ".join(f"({', '.join(map(value, v))})" for v in (s.a, s.b))
            return f"({', '.join(map(_name, s.into))}) += {factors}  # {s.atom}"
        case st.WideProducts():
            each = [f"({', '.join(map(_name, p.into))}) += {_factor(p.a)} by {_factor(p.b)}" for p in s.products]
            return f"{'; '.join(each)}  # {s.atom}"
        case st.WaitProducts():
            known = f", ({', '.join(map(_name, [r for some in s.sums for r in some]))})" if s.sums else ""
            return f"wait for all but {s.pending} products{known}"
        case st.AllocLocal():
            return f"local {_buffer(s.buffer)}, {s.size} elements{', aligned' if s.aligned else ''}"
    raise TypeError(f"{type(s).__name__} is no statement")


def _factor(f: tuple[ir.Value, ...] | st.Matrix) -> str:
    if not isinstance(f, st.Matrix):
        return f"({', '.join(map(value, f))})"
    how = f", rows of {f.swizzled} bytes{', turned' if f.turned else ''}" if f.swizzled else ""
    return f"{f.buffer.name}[{f.at}, blocks {f.beside} bytes beside, {f.below} below{how}]"


def _buffer(b: ir.Buffer) -> str:
    lanes = f" x {b.values}" if b.values > 1 else ""
    return f"{b.name}: {b.dtype.name}{lanes}{', volatile' if b.volatile else ''}"


def _name(target: Var | ir.Register) -> str:
    return named(target) if isinstance(target, Var) else f"{target.stem}{target.number}"


def _target(target: Var | ir.Register) -> str:
    """A name that is declared, with its type."""
    if isinstance(target, Var):
        return named(target)
    return f"{_name(target)}: {target.dtype.name}{f' x {target.lanes}' if target.lanes > 1 else ''}"


def _right(right: ir.Value | Index) -> str:
    return str(right) if isinstance(right, Index) else value(right)


def _test(test: st.Test) -> str:
    if isinstance(test, Compare):
        return str(test)
    return f"not ({' and '.join(map(str, test.tests))})" if isinstance(test, st.Not) else value(test.value)


def _place(buffer: ir.Buffer, offset: Index, stride: Index, lanes: int) -> str:
    if lanes == 1 or buffer.values or stride == ZERO:
        return f"{buffer.name}[{offset}]"
    by = "" if stride == ONE else f" by {stride}"
    return f"{buffer.name}[{offset}, {lanes} lanes{by}]"


def value(v: ir.Value) -> str:
    match v:
        case ir.Register():
            return _name(v)
        case ir.Const() | ir.Outside():
            return v.literal
        case ir.Apply():
            return _applied(v)
        case ir.Address():
            return f"{v.buffer.name}[{v.offset}{''.join([f', {count} by {step}' for count, step in v.axes])}]"
        case ir.CTextCall():
            return f"{v.name}({', '.join(map(value, v.args))})"
        case ir.Shuffled():
            where = f"{v.distance * -1} before" if v.way == "before" else f"{v.distance} further on"
            return f"{value(v.value)} of the work-item {where}"
        case ir.IndexValue():
            return f"index({v.index}{f', {v.lanes} lanes' if v.lanes > 1 else ''})"
        case ir.Load():
            text = _place(v.buffer, v.offset, v.stride, v.lanes)
            text += f", the first {v.valid}" if v.valid else ""
            if v.outside is None:
                return text
            return f"({text} if {' and '.join(map(str, v.guard))} else {value(v.outside)})"
        case ir.LoadRow():
            row = f"{v.buffer.name}[{v.start}, {v.length} by {v.stride}]"
            guard = f" if {' and '.join(map(str, v.guard))}" if v.guard else ""
            return f"row {row}[{v.first}, {v.lanes} lanes, {v.mode} {value(v.outside)}]{guard}"


def _applied(v: ir.Apply) -> str:
    args = [value(a) for a in v.args]
    match v.op:
        case "cast" | "convert":
            return f"{v.op} to {v.dtype.name}({args[0]})"
        case "splat":
            return f"{args[0]} x {v.lanes}"
        case "retype" | "from_mask" | "from_bytes":
            return args[0]
    return f"{v.op}({', '.join(args)})"
