"""Equal devices that measure side by side: one process a device, each with a candidate of its own.

The papers split the space among devices (Rasch, Schulze & Gorlatch, "Generating Portable High-Performance Code via
Multi-Dimensional Homomorphisms", section VI). Here they share one search instead, so that each goes on from what all
have measured; candidates are asked for and told in an order that does not depend on which device is first.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from mdhnp.schedule import Schedule
from mdhnp.tuning.bench import Task
from mdhnp.tuning.records import Measurement
from mdhnp.tuning.worker import Worker

__all__ = ["Team"]


class Team:
    """A worker for each device.

    Parameters
    ----------
    task : Task
        What to tune.
    positions : sequence of int
        Of the devices, among devices of the task's identity; the first is the one for results that are compared.
    limit : float
        As of :class:`Worker`.
    """

    def __init__(self, task: Task, positions: Sequence[int], limit: float) -> None:
        self._workers = [Worker(replace(task, position=n), limit) for n in positions]

    def __len__(self) -> int:
        return len(self._workers)

    def measure(self, schedules: Sequence[Schedule], best: float | None) -> list[Measurement]:
        """Measure schedules, at most as many as there are devices, at the same time; in their order.

        Raises
        ------
        WorkerError
            If one of the processes cannot start.
        """
        if len(schedules) == 1:
            return [self._workers[0].measure(schedules[0], best)]
        with ThreadPoolExecutor(len(schedules)) as threads:
            try:
                pairs = zip(self._workers, schedules, strict=False)
                running = [threads.submit(worker.measure, s, best) for worker, s in pairs]
                return [each.result() for each in running]
            except BaseException:
                for worker in self._workers:
                    worker.kill()  # else the threads would be waited for
                raise

    def __enter__(self) -> "Team":
        return self

    def __exit__(self, *error: object) -> None:
        for worker in self._workers:
            worker.close()
