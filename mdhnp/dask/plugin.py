"""What workers of `distributed` need: a device, tuned schedules, memory given back; and what they find, collected."""

from collections.abc import Sequence
from typing import Any

from distributed import Client, Worker, get_client
from distributed.diagnostics.plugin import WorkerPlugin
from tornado.ioloop import PeriodicCallback

from mdhnp.dask.task import use_device
from mdhnp.documentation import exported, public
from mdhnp.runtime import pool, results
from mdhnp.runtime.devices import find_device
from mdhnp.tuning.cache import cache

#: A worker's resource that begins so names its device.
_RESOURCE = "device:"
#: Milliseconds between two looks at a worker's memory.
_LOOKS = 1000


@exported
class Plugin(WorkerPlugin):
    """Gives each worker its device and this process's tuned schedules, and frees memory when it is short of some.

    Parameters
    ----------
    devices : sequence of (str or int), optional
        Devices, as :func:`mdhnp.device` takes them, of workers whose names are numbers, as those of a LocalCluster are:
        that of worker n is number n, beginning anew after the last. A worker with a resource ``device:<name>`` computes
        there in any case; others anywhere.

    Notes
    -----
    Parts that should run where a device is ask for the resource, by
    ``dask.annotate(resources={"device:gpu": 1})`` around what makes the graph; ``dask worker --resources device:gpu=1``
    offers it.

    A worker that uses more of its memory than it should (`distributed.worker.memory.target`) gives back what is kept of
    earlier results, before Dask spills blocks.

    Examples
    --------
    >>> from distributed import Client, LocalCluster
    >>> import mdhnp.dask
    >>> with LocalCluster(n_workers=2) as cluster, Client(cluster) as client:  # doctest: +SKIP
    ...     client.register_plugin(mdhnp.dask.Plugin(devices=("0", "1")))
    ...     found = mdhnp.dask.matmul(a, b).compute()
    ...     mdhnp.dask.collect(client)
    """

    name = "mdhnp"

    def __init__(self, devices: Sequence[str | int] = ()) -> None:
        if isinstance(devices, str):
            raise TypeError(f"devices: {devices!r} is one name; give a sequence of them")
        self.devices = tuple(devices)
        self.wisdom = _wisdom()

    def setup(self, worker: Worker) -> None:
        """Prepare a worker."""
        _learn(self.wisdom)
        device = self.device_of(worker.name, worker.state.total_resources)
        if device is not None:
            find_device(device)  # an error now names what there is
            use_device(device)
        self._looks = PeriodicCallback(lambda: _look(worker), _LOOKS)
        self._looks.start()

    def teardown(self, worker: Worker) -> None:
        """Leave a worker as it was, its tuned schedules aside."""
        self._looks.stop()
        use_device(None)

    def device_of(self, name: Any, resources: Any) -> str | int | None:
        """Give the device of a worker; None where nobody said."""
        named = [r.removeprefix(_RESOURCE) for r in resources if r.startswith(_RESOURCE)]
        if named:
            return str(named[0])
        if not self.devices or not str(name).isdecimal():
            return None
        return self.devices[int(name) % len(self.devices)]


@public(
    "Add to this process's tuning cache what workers have tuned and measured.",
    client="distributed.Client, optional: By default the current one.",
    returns="int: Schedules that are new here.",
    example="""
>>> from distributed import Client
>>> with Client() as client:  # doctest: +SKIP
...     mdhnp.dask.collect(client)
3""",
    guard=False,
)
def collect(client: Client | None = None) -> int:
    found = (client or get_client()).run(_wisdom)
    return sum(map(_learn, dict.fromkeys(found.values())))


def _wisdom() -> str:
    return cache().wisdom()


def _learn(wisdom: str) -> int:
    return cache().learn(wisdom, "what another process has tuned")


def _look(worker: Worker) -> None:
    """Give memory back where a worker has too little."""
    limit, target = worker.memory_manager.memory_limit, worker.memory_manager.memory_target_fraction
    if limit and target and worker.monitor.get_process_memory() > limit * target:
        release()


def release() -> None:
    """Give back to the system, and to devices, the memory kept for later results."""
    results.release()
    pool.release()
