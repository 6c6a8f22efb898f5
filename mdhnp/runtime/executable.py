"""Runs a :class:`Program` on arrays: everything that can be prepared is, so that a call binds, launches and waits.

Takes a device, a program and the arrays' layouts; gives a callable. It must not know what the kernels compute.

One state (its kernel objects) serves one call at a time: setting a kernel's arguments is not thread-safe, and a
finalizer may call the same executable between two of our lines. States wait in a list, whose ``pop`` and ``append`` are
atomic; a call that finds the list empty makes a new one. A state whose call failed is dropped. No state holds memory
between calls.

Calls on views of the device's own memory (`resident`) enqueue their kernels and return.

Python sees Ctrl-C between its own instructions only, and waiting for a kernel is one instruction. So the main thread
leaves calls that may take long to a second thread, for which it waits in a way that a signal ends. OpenCL cannot stop a
running kernel: after Ctrl-C it runs on, and the second thread keeps the arrays that it works on.
"""

import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

import pyopencl as cl

from mdhnp.codegen.program import Program
from mdhnp.process import process
from mdhnp.runtime import pending, pinned
from mdhnp.runtime import resident as views
from mdhnp.runtime import results as host
from mdhnp.runtime.handle import Device
from mdhnp.runtime.launches import LaunchState, Output, make_state
from mdhnp.runtime.layout import Layout
from mdhnp.runtime.memory import Bound
from mdhnp.runtime.pool import Block, pool
from mdhnp.runtime.programs import build

T = TypeVar("T")

#: Seconds of a call that Ctrl-C may have to wait for. Leaving a call to a second thread costs about 0.0001.
_LONG = 0.05

# All executables alive, for what concerns all: Ctrl-C, and forks.
_alive: "dict[int, weakref.ref[Executable]]" = {}


class Executable:
    """A program made ready for arrays of given layouts on one device.

    `inputs` and `outputs` are in the order of the program's positions. Outputs must be contiguous, unless they are
    `resident`: views of the device's own memory, for which a call does not wait. `results` are shapes and types of the
    new arrays that :meth:`new` gives. `keep` is as of :func:`mdhnp.runtime.programs.build`. Errors are its, and those
    of :func:`mdhnp.runtime.launches.make_state`.
    """

    def __init__(
        self,
        device: Device,
        program: Program,
        inputs: Sequence[Layout],
        outputs: Sequence[Layout],
        *,
        resident: bool = False,
        results: Sequence[Output] = (),
        keep: bool = True,
    ) -> None:
        self.device = device
        self.resident = resident
        self.results = tuple(results)
        # What makes results where kernels, or copies from the device, are fastest to write them.
        where = views if resident else pinned
        self.make = where.maker(device, results) if device.own_memory else host.maker(results)
        built = build(device, program.source, keep=keep)
        self._queue = device.queue
        self._pool = pool(device)
        self._quick = resident  # whether a call has taken less than _LONG, and none was interrupted since
        self._new_state = partial(
            make_state, device, built, program, tuple(inputs), tuple(outputs), resident, self.results
        )
        self.free = [self._new_state()]
        key = id(self)
        _alive[key] = weakref.ref(self, lambda _: _alive.pop(key, None))

    def __call__(self, arrays_in: Sequence[Any], arrays_out: Sequence[Any]) -> None:
        """Run all kernels, and return when the results are in `arrays_out`.

        Ctrl-C ends a long call at once, but not its kernels: later calls on the device wait for these, and so does the
        end of the process.

        Arrays have the layouts given, which is **not checked**. Inputs are only read, and may be read-only. Outputs are
        C-contiguous and writable, and share no memory with inputs. LaunchError if the device refused or failed,
        MemoryError if it has no room.
        """
        if not self._quick and threading.current_thread() is threading.main_thread():
            self._interruptibly(lambda: self._timed(arrays_in, arrays_out))
        else:
            self._tried(self._enqueue if self.resident else self._run, arrays_in, arrays_out)

    def new(self, arrays_in: Sequence[Any]) -> tuple[Any, ...]:
        """Run all kernels as a call does, and give the results in new memory."""
        if self.resident and self._quick:
            found: tuple[Any, ...] = self._tried(self._enqueue, arrays_in, None)
            return found
        arrays_out = self.make()
        self(arrays_in, arrays_out)
        return arrays_out

    def _tried(self, run: Callable[[Sequence[Any], Any], T], arrays_in: Sequence[Any], arrays_out: Any) -> T:
        try:
            return run(arrays_in, arrays_out)
        except MemoryError:
            if not self._pool.free():
                raise
            self._pool.empty()  # the device has less room than its pool believed: what is free goes back
            return run(arrays_in, arrays_out)

    def _run(self, arrays_in: Sequence[Any], arrays_out: Sequence[Any]) -> None:
        state = self._free_state()
        # What OpenCL refuses is tried again from here, where its error can be told.
        if state.native is None or not state.launched(arrays_in, arrays_out):
            with self._bound(state, self._queue, arrays_in, arrays_out) as bound:
                state.complete(state.launch(self._queue)[-1], bound, arrays_out)
        self.free.append(state)

    def profile(self, arrays_in: Sequence[Any], arrays_out: Sequence[Any], repeats: int = 3) -> list[float]:
        """Measure the kernels alone, by the device's own clock: seconds of each, the least of `repeats`.

        Arrays are copied to the device once, before the first launch; the results are in `arrays_out` after. Errors
        are those of a call.
        """
        if not self._quick and threading.current_thread() is threading.main_thread():
            return self._interruptibly(lambda: self.profile(arrays_in, arrays_out, repeats))
        queue, state = self.device.queue_of("profiling"), self._free_state()
        fastest = [float("inf")] * len(state.launches)
        with self._bound(state, queue, arrays_in, arrays_out) as bound:
            self._queue.finish()  # what operands and blocks come from
            for _ in range(repeats):
                events = state.launch(queue)
                events[-1].wait()
                seconds = [(event.profile.end - event.profile.start) * 1e-9 for event in events]
                fastest = [min(pair) for pair in zip(fastest, seconds, strict=True)]
            state.complete(events[-1], bound, arrays_out)
        self.free.append(state)
        return fastest

    def _enqueue(self, views_in: Sequence[Any], views_out: Sequence[Any] | None) -> Any:
        """Enqueue all kernels on views of the device's own memory, and give the outputs, new ones for None."""
        state = self._free_state()
        # What OpenCL refuses is tried again from here, where its error can be told.
        found = None if state.enqueuer is None else state.enqueuer.run(views_in, views_out)
        if found is None:
            found = self.make() if views_out is None else views_out
            bound = state.bind(views_in, found)
            try:
                event = state.launch(self._queue)[-1]
            finally:
                self._pool.give_back(*bound.blocks)
            pending.note(self.device, event, state.launches[-1].where)
        self.free.append(state)
        return found

    def _free_state(self) -> LaunchState:
        try:
            return self.free.pop()
        except IndexError:
            return self._new_state()

    @contextmanager
    def _bound(
        self, state: LaunchState, queue: cl.CommandQueue, arrays_in: Sequence[Any], arrays_out: Sequence[Any]
    ) -> Iterator[Bound]:
        """Bind arrays for a block that launches in `queue`. Whatever ends it, no kernel uses their blocks any more."""
        blocks: tuple[Block, ...] = ()
        try:
            bound = state.bind(arrays_in, arrays_out)
            blocks = bound.blocks
            yield bound
        except BaseException:  # after Ctrl-C, too, kernels may still write into arrays about to be freed
            for each in (self._queue, queue):
                with suppress(cl.Error):  # the first error says more
                    each.finish()
            raise
        finally:
            self._pool.give_back(*blocks)

    def _timed(self, arrays_in: Sequence[Any], arrays_out: Sequence[Any]) -> None:
        begin = time.perf_counter()
        self(arrays_in, arrays_out)
        self._quick = time.perf_counter() - begin < _LONG

    def _interruptibly(self, work: Callable[[], T]) -> T:
        """Give `work()`, done in a second thread, which after Ctrl-C goes on and holds all that kernels work on."""
        results: list[T] = []
        errors: list[BaseException] = []
        done = threading.Event()

        def do() -> None:
            try:
                results.append(work())
            except BaseException as error:
                errors.append(error)
            finally:
                done.set()

        # No daemon: while kernels run, the interpreter must not take their memory away, not even at its end.
        thread = threading.Thread(target=do, name="mdhnp-call")
        try:
            try:
                thread.start()
            except RuntimeError:  # the process is ending, or may have no more threads
                self._quick = True
                return work()
            done.wait()
        except BaseException:
            # Any executable's next call waits in the queue behind these kernels, however quick its own are.
            for executable in _executables():
                executable._quick &= executable.device is not self.device
            raise
        if errors:
            raise errors.pop()
        return results.pop()


def _executables() -> list[Executable]:
    return [executable for reference in list(_alive.values()) if (executable := reference()) is not None]


def _ask_devices() -> None:
    """Make the next call of an executable ask its device, which knows that its runtime does not survive a fork."""
    for executable in _executables():
        process.inherit(executable.free)
        executable.free = []


process.at_fork(_ask_devices)
