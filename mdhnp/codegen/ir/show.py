"""Prints procedures for a reader: every loop, load, store, copy and barrier, without any of OpenCL C."""

from collections.abc import Iterable, Iterator

from mdhnp.codegen.ir.index import ONE, ZERO, Compare, Index, Var, named
from mdhnp.codegen.ir.statements import (
    AllocLocal,
    Assign,
    Barrier,
    Block,
    CallInto,
    Clear,
    Comment,
    Commit,
    Copy,
    Declare,
    FillLanes,
    For,
    If,
    Let,
    LoadMatrix,
    MatrixProduct,
    Not,
    Pipeline,
    Procedure,
    Stmt,
    Store,
    StorePair,
    Test,
    Transpose,
    Wait,
)
from mdhnp.codegen.ir.values import (
    Address,
    Apply,
    Buffer,
    Const,
    CText,
    IndexValue,
    Load,
    LoadRow,
    Outside,
    Register,
    Shuffled,
    Value,
)

__all__ = ["show"]


def show(p: Procedure) -> str:
    """All of a kernel: its arguments, then its statements, each body indented."""
    bits = 64 if p.wide else 32
    lines = [f"kernel {p.name}: {p.work_items} work-items a group, {bits}-bit indices  # {p.title}"]
    lines += [f"  global {_buffer(b)}{', read only' if b.constant else ''}" for b in p.buffers]
    lines += [f"  size {name}" for name in p.sizes]
    lines += [f"  global {alias.name} is {b.name}" for alias, b in p.aliases]
    return "\n".join([*lines, *_indented(p.body)]) + "\n"


def _indented(body: Iterable[Stmt]) -> Iterator[str]:
    for s in body:
        for line in _lines(s):
            yield f"  {line}"


def _lines(s: Stmt) -> Iterator[str]:
    match s:
        case Block():
            yield "block"
            yield from _indented(s.body)
        case For():
            begin = "" if s.begin is None else f" from {s.begin}"
            yield f"for {named(s.var)}{begin} while {s.test}, then {s.following}"
            yield from _indented(s.body.body if isinstance(s.body, Block) else [s.body])
        case If():
            yield f"if {' and '.join(map(_test, s.tests))}"
            yield from _indented(s.inside.body)
            if s.elsewhere is not None:
                yield "else"
                yield from _indented(s.elsewhere.body)
        case Pipeline():
            when = "asynchronously" if s.asynchronous else "through registers"
            yield f"pipeline of {s.stages} stages, {when}: {named(s.round)} < {s.rounds}, fill for {named(s.filled)}"
            yield from _indented(s.fill.body)
            yield "work"
            yield from _indented(s.work.body)
        case Comment():
            yield f"# {s.text}"
        case Commit():
            yield "commit copies"
        case Wait():
            yield f"wait for copies, all but {s.pending} groups"
        case Barrier():
            yield f"barrier  # {', '.join(s.between)}" if s.between else "barrier"
        case _:
            yield _line(s)


def _line(s: Stmt) -> str:
    match s:
        case Let():
            return f"let {_target(s.target)} = {_right(s.value)}"
        case Declare():
            return f"var {_target(s.target)} = {_right(s.value)}"
        case Assign():
            return f"{_name(s.target)} = {_right(s.value)}"
        case Store():
            some = f", the first {s.valid}" if s.valid else f", all but the first {s.done}" if s.done else ""
            return f"{_place(s.buffer, s.offset, s.stride, s.value.lanes)}{some} = {value(s.value)}"
        case StorePair():
            return f"{s.buffer.name}[{s.offset}, by turns] = {value(s.real)}, {value(s.imaginary)}"
        case Copy():
            how = "start to copy" if s.asynchronous else "copy"
            return f"{how} {s.target.name}[{s.at}] = {value(s.source)}"
        case Transpose():
            rows = f"{s.target.name}[{s.at}, rows by {s.stride}]"
            source = f"{s.source.name}[{s.source_at}, rows by {s.source_stride}]"
            return f"copy {rows} = {source}, {s.lanes} x {s.lanes}, transposed"
        case Clear():
            return f"clear {s.buffer.name}[{s.size}]"
        case FillLanes():
            return f"let {_target(s.target)}, each {named(s.lane)} = {value(s.element)}"
        case CallInto():
            return f"let {', '.join(map(_target, s.results))} = {s.name}({', '.join(map(value, s.args))})"
        case LoadMatrix():
            blocks = f"{len(s.into)} blocks of rows{', turned' if s.turned else ''}"
            return f"let {', '.join(map(_target, s.into))} = {s.buffer.name}[{s.at}, {blocks}]"
        case MatrixProduct():
            factors = " by ".join(f"({', '.join(map(value, v))})" for v in (s.a, s.b))
            return f"({', '.join(map(_name, s.into))}) += {factors}  # {s.atom}"
        case AllocLocal():
            return f"local {_buffer(s.buffer)}, {s.size} elements{', aligned' if s.aligned else ''}"
    raise TypeError(f"{type(s).__name__} is no statement")


def _buffer(b: Buffer) -> str:
    lanes = f" x {b.values}" if b.values > 1 else ""
    return f"{b.name}: {b.dtype.name}{lanes}{', volatile' if b.volatile else ''}"


def _name(target: Var | Register) -> str:
    return named(target) if isinstance(target, Var) else f"{target.stem}{target.number}"


def _target(target: Var | Register) -> str:
    """A name that is declared, with its type."""
    if isinstance(target, Var):
        return named(target)
    return f"{_name(target)}: {target.dtype.name}{f' x {target.lanes}' if target.lanes > 1 else ''}"


def _right(right: Value | Index) -> str:
    return str(right) if isinstance(right, Index) else value(right)


def _test(test: Test) -> str:
    if isinstance(test, Compare):
        return str(test)
    return f"not ({' and '.join(map(str, test.tests))})" if isinstance(test, Not) else value(test.value)


def _place(buffer: Buffer, offset: Index, stride: Index, lanes: int) -> str:
    if lanes == 1 or buffer.values or stride == ZERO:
        return f"{buffer.name}[{offset}]"
    by = "" if stride == ONE else f" by {stride}"
    return f"{buffer.name}[{offset}, {lanes} lanes{by}]"


def value(v: Value) -> str:
    match v:
        case Register():
            return _name(v)
        case Const() | Outside():
            return v.literal
        case Apply():
            return _applied(v)
        case Address():
            return f"{v.buffer.name}[{v.offset}{''.join([f', {count} by {step}' for count, step in v.axes])}]"
        case CText():
            return f"{v.name}({', '.join(map(value, v.args))})"
        case Shuffled():
            where = f"{v.distance * -1} before" if v.backwards else f"{v.distance} further on"
            return f"{value(v.value)} of the work-item {where}"
        case IndexValue():
            return f"index({v.index}{f', {v.lanes} lanes' if v.lanes > 1 else ''})"
        case Load():
            text = _place(v.buffer, v.offset, v.stride, v.lanes)
            text += f", the first {v.valid}" if v.valid else ""
            if v.outside is None:
                return text
            return f"({text} if {' and '.join(map(str, v.guard))} else {value(v.outside)})"
        case LoadRow():
            row = f"{v.buffer.name}[{v.start}, {v.length} by {v.stride}]"
            guard = f" if {' and '.join(map(str, v.guard))}" if v.guard else ""
            return f"row {row}[{v.first}, {v.lanes} lanes, {v.mode} {value(v.outside)}]{guard}"


def _applied(v: Apply) -> str:
    args = [value(a) for a in v.args]
    match v.op:
        case "cast" | "convert":
            return f"{v.op} to {v.dtype.name}({args[0]})"
        case "splat":
            return f"{args[0]} x {v.lanes}"
        case "retype" | "from_mask" | "from_bytes":
            return args[0]
    return f"{v.op}({', '.join(args)})"
