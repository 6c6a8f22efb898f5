"""Compiles OpenCL C text, at most once per device for as long as the result is in use or on disk.

Takes a device and text, gives a built pyopencl program. It must not know what the kernels compute or how they are
launched.

pyopencl has a cache of its own, on disk, which is not used: it waits for a lock file, for minutes if another process
died holding it, and keeps binaries under the device's name, which different processors share. So programs are made
from pyopencl's plain ``_Program``, which also adds no include path and no options from the environment.
"""

import hashlib
import os
import re
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import pyopencl as cl
from pyopencl import _cl

from mdhnp.documentation import exported
from mdhnp.process import PARENT, process
from mdhnp.runtime import binaries
from mdhnp.runtime.capabilities import COMPILING, shortage
from mdhnp.runtime.declarations import WITHOUT_HEADER, declared
from mdhnp.runtime.handle import Device, Runtime
from mdhnp.runtime.private import cache_folder, opened, write

_FORMAT = "1"  # to be raised when keys or what is stored under them change meaning
_LOG_LINES = 30
#: What lines of assembly begin with that are hidden from the compiler.
_LIVE = "//@ "
#: Runtimes that programs do not ask for what they have compiled, but the helper process does: PoCL compiles each kernel
#: once more for that, a third of all time, and where memory is short ends the process.
UNASKED: tuple[Runtime, ...] = ("pocl",)

_built: WeakValueDictionary[tuple[str, Device], cl.Program] = WeakValueDictionary()
_locks: WeakValueDictionary[str, Any] = WeakValueDictionary()
_registry = process.lock()
_compilations = 0


@exported
class BuildError(RuntimeError):
    """The OpenCL compiler rejected a source text.

    Attributes
    ----------
    log : str
        All that the compiler said.
    path : Path or None
        File that holds the source text; None if it could not be written anywhere.

    Examples
    --------
    >>> import numpy as np
    >>> import mdhnp
    >>> wrong = mdhnp.skeletons.map("float f(float x) { return y; }")
    >>> try:
    ...     wrong(np.ones(3, np.float32))
    ... except mdhnp.BuildError as error:
    ...     "'y'" in error.log
    True
    """

    def __init__(self, message: str, log: str, path: Path | None) -> None:
        super().__init__(message)
        self.log = log
        self.path = path


def build_options(device: Device) -> str:
    """Give the compiler's options for a device.

    OpenCL C 1.2 is what every runtime takes, so that one text means the same everywhere. Kernels say
    themselves where ``a*b+c`` may be one instruction. Division and square root are rounded as NumPy rounds them, where
    the device can. Warnings are for authors of kernels, and PoCL would print their number.
    """
    exact = device.cl.single_fp_config & cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT
    simulated = " -DPREFETCH(p,w)=" if device.runtime == "oclgrind" else ""  # which does not know that instruction
    return "-cl-std=CL1.2 -w" + (" -cl-fp32-correctly-rounded-divide-sqrt" if exact else "") + simulated


def build(device: Device, source: str, *, keep: bool = True) -> cl.Program:
    """Compile OpenCL C for `device`, or find it compiled; BuildError if the compiler rejects it.

    Safe to call from many threads and processes; the same text is compiled once, by the one that comes first, while
    different texts are compiled side by side, and gives all callers the same object as long as one of them holds it.
    Nothing cuts a compiler short: Ctrl-C is seen when it is done. Where it is not kept, as of a tuner's many
    candidates, later processes do not find the binary on disk; nor where the runtime is not asked for it here.
    """
    key = _key(device, source)
    with _registry:
        mine = _locks.setdefault(key, process.lock())
    with mine:
        program = _built.get((key, device))
        if program is None:
            if (why := shortage(COMPILING)) is not None:
                raise MemoryError(f"a kernel is not made, for want of memory: {why}")
            # Oclgrind's interpreter has nothing to gain, and its binaries lose the lines that its reports name.
            if keep and device.runtime != "oclgrind":
                program = _from_disk(device, key)
                if program is None:
                    with binaries.alone(key):  # another process may be compiling the same
                        program = _from_disk(device, key) or _from_source(device, source, key)
                        if device.runtime not in UNASKED or PARENT in os.environ:
                            with suppress(cl.Error):  # the driver gives none
                                binaries.store(key, program.binaries[0])
            else:
                program = _from_source(device, source, key)
            program = _built.setdefault((key, device), _named(program, source))  # a finalizer may have been faster
        return program


def is_ready(device: Device, source: str) -> bool:
    """Tell whether :func:`build` has nothing to compile: somebody has done so before."""
    key = _key(device, source)
    return (key, device) in _built or binaries.has(key)


def compiled() -> int:
    return _compilations


def load(device: Device, source: str, binary: bytes) -> cl.Program | None:
    """Take what another process compiled from `source`; None if the driver refuses it."""
    program = _from_binary(device, binary)
    if program is not None:
        with _registry:
            _built[_key(device, source), device] = _named(program, source)
    return program


def _key(device: Device, source: str) -> str:
    return hashlib.sha256("\0".join((_FORMAT, source, build_options(device), device.identity)).encode()).hexdigest()


def _named(program: cl.Program, source: str) -> cl.Program:
    """Set what pyopencl asks each program for; where it is absent, it is taken for the name of a kernel."""
    program._source = source
    return program


def _from_binary(device: Device, binary: bytes) -> cl.Program | None:
    context = device.context
    try:
        program = _cl._Program(context, [device.cl], [binary])
        program._build(build_options(device).encode(), [device.cl])
    except cl.Error:  # the driver changed its mind about its own binary: build again, and store that
        return None
    return cl.Program(program)


def _from_disk(device: Device, key: str) -> cl.Program | None:
    binary = binaries.load(key)
    return None if binary is None else _from_binary(device, binary)


def _from_source(device: Device, source: str, key: str) -> cl.Program:
    global _compilations  # noqa: PLW0603
    _compilations += 1
    if device.runtime == "pocl" and (text := declared(source)) is not None:
        program = _cl._Program(device.context, text)
        with suppress(cl.Error):  # the text is wrong, or a function is called otherwise than is known
            program._build((build_options(device) + WITHOUT_HEADER).encode(), [device.cl])
            return cl.Program(program)
    program = _cl._Program(device.context, source)
    try:
        program._build(build_options(device).encode(), [device.cl])
        if f'asm volatile("{_LIVE}' in source:  # what a user writes has such comments, too
            ptx = _with_live_lines(cl.Program(program).binaries[0])
            program = _cl._Program(device.context, [device.cl], [ptx])
            program._build(b"", [device.cl])
    except cl.Error as error:
        log = "\n".join(text for _, text in program._get_build_logs()) or str(error)
        path = _keep_source(source, key)
        names = ", ".join(re.findall(r"__kernel\b[^;{(]*(?:\(\([^;{]*?\)\)\s*)?void\s+(\w+)", source)) or "(none)"
        tail = "\n".join(log.strip().splitlines()[-_LOG_LINES:])
        kept = f"source in {path}" if path else "the source could not be written to any folder"
        where = f"{device.name} ({device.runtime}, {device.driver})"
        raise BuildError(f"kernel {names} did not compile for {where}; {kept}\n{tail}", log, path) from error
    return cl.Program(program)


def _with_live_lines(ptx: bytes) -> bytes:
    """Give PTX the lines that were hidden from OpenCL's compiler, for the one architecture that has their instructions.

    NVIDIA's runtime gives PTX as a program's binary, and loads PTX as one. Inline assembly in hidden lines is none to
    its compiler, which substitutes operands in them all the same. Where work-items leave registers to others, the
    assembler must know that a unit has one work-group at a time. (Source: PTX ISA, "Target architectures with suffix
    a".)
    """
    ptx = re.sub(rb"\.target [^\n]*", b".target sm_90a", ptx.rstrip(b"\0")).replace(_LIVE.encode(), b"")
    if b"setmaxnreg" in ptx:
        ptx = re.sub(rb"(\.reqntid [^\n{]*)", rb"\1\n.minnctapersm 1", ptx)
    return ptx


def _keep_source(source: str, key: str) -> Path | None:
    name = f"mdhnp-{key[:16]}.cl"
    kept = cache_folder() / "failed" / name
    try:
        with opened(kept.parent, missing_ok=True) as folder:
            write(folder, name, source.encode())
            return kept
    except OSError:
        pass
    try:  # in a folder that all users share, under a name that none of them can guess
        handle, path = tempfile.mkstemp(prefix="mdhnp-", suffix=".cl")
        with open(handle, "w", encoding="utf-8") as file:
            file.write(source)
        return Path(path)
    except OSError:
        return None
