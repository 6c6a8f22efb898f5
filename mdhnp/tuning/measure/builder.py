"""Compiles candidates in processes of their own, one a core: on a CPU a search spends most of its time on that.

Nothing is measured meanwhile, which would disturb both. The measuring process gets binaries. It must not know what is
searched, nor measure anything.
"""

from typing import ClassVar

from mdhnp.codegen import generate
from mdhnp.runtime.programs import BuildError, build
from mdhnp.schedule import IllegalSchedule, Schedule
from mdhnp.schedule.default import default
from mdhnp.tuning.cache.records import Measurement
from mdhnp.tuning.measure import bench
from mdhnp.tuning.measure.bench import Task, find, stage
from mdhnp.tuning.measure.worker import Worker

__all__ = ["Builder", "serve"]


class Builder(Worker):
    """A process that compiles; limits are those of :class:`Worker`."""

    serve: ClassVar[tuple[str, str]] = ("mdhnp.tuning.measure.builder", "serve")
    what: ClassVar[str] = "compiling process"

    def compile(self, schedule: Schedule) -> bytes | Measurement:
        """Give the binary of one schedule's kernels, or why there is none.

        Raises
        ------
        WorkerError
            If the process cannot start.
        """
        made = self._ask("compile", (schedule,), schedule, self._limit)
        assert isinstance(made, bytes | Measurement)
        return made


class Compiler:
    """What that process does."""

    def __init__(self, task: Task) -> None:
        self._device = find(task)
        self._stage = stage(task.mdhom)[0]

    def compile(self, schedule: Schedule) -> bytes | Measurement:
        """Generate and compile; every failure is an answer."""
        try:
            program = generate([self._stage], [schedule], self._device.caps, default)
            return bytes(build(self._device, program.source, keep=False).binaries[0])
        except IllegalSchedule as error:  # of a second kernel, which only the generator sees
            return Measurement(schedule, None, "illegal", str(error)[:500])
        except BuildError as error:
            return Measurement(schedule, None, "build", str(error)[:500])
        except MemoryError as error:
            return Measurement(schedule, None, "crash", str(error)[:500])


def serve(handle: int) -> None:
    """Compile for one parent until it closes the pipe; see :func:`mdhnp.tuning.measure.bench.serve`."""
    bench.serve(handle, Compiler)
