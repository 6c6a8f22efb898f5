"""How long a call takes on many devices: it starts, brings to each what it lacks, computes, and recombines.

Takes an MDH and a machine, gives seconds. The parts are those of the package's own cut, among hosts first, then among
the devices of each; what a part reads, and the size of its partial results, are the part's own views. One part in the
middle stands for all of them, which do the same at the same time. Measures nothing, and must not know devices.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import ceil, inf, log2, prod

from mdhnp.mdh import MdHom, View, cut, shares

__all__ = ["Estimate", "Machine", "Task", "cheapest", "estimate", "lacking", "part"]

#: How many parts there are along each dimension.
Grid = tuple[int, ...]

#: Along how many dimensions a grid is cut at most.
_DIMENSIONS = 3


@dataclass(frozen=True)
class Machine:
    """Hosts, each with so many equal devices.

    Attributes
    ----------
    name : str
        What it is.
    devices : int
        Of a host.
    rates : mapping of str to float
        Points a second that one device alone computes, by the name of the computation.
    call, device : float
        Seconds in which a call begins to compute on one device, and more for each one where there are several.
    message, latency : float
        Seconds that it takes to ask another device for something: of the same host, or host of host.
    link, links : float
        Bytes a second from one device to another of its host, and of all devices of a host together.
    network : float
        Bytes a second into a host.
    memory, memories : float
        Bytes a second that a device reads and writes, and those that all of a host do together.
    written : int
        How often a byte that is written counts: twice where what it replaces is read before.
    room : bool
        Whether blocks of an iteration are not joined with halos: results have room for these.
    """

    name: str
    devices: int
    rates: Mapping[str, float]
    call: float
    device: float = 0.0
    message: float = 0.0
    latency: float = 0.0
    link: float = inf
    links: float = inf
    network: float = inf
    memory: float = inf
    memories: float = inf
    written: int = 1
    room: bool = False


@dataclass(frozen=True)
class Task:
    """What is computed on some devices.

    Attributes
    ----------
    mdhom : MdHom
        Of one step.
    rate : float
        Points a second that one device computes.
    copied : frozenset of int
        Inputs that every device has as a whole. Of the others each has an equal share.
    steps : int
        How often it is computed.
    """

    mdhom: MdHom
    rate: float
    copied: frozenset[int] = frozenset()
    steps: int = 1


@dataclass(frozen=True)
class Estimate:
    """How long it takes, all steps together.

    Attributes
    ----------
    hosts, devices : tuple of int
        Parts along each dimension: among hosts, and among the devices of each.
    starting, exchanging, computing : float
        Seconds.
    nbytes : int
        Bytes that all devices together get of others in one step, partial results included.
    """

    hosts: Grid
    devices: Grid
    starting: float
    exchanging: float
    computing: float
    nbytes: int

    @property
    def seconds(self) -> float:
        """All together: nothing of it is done at the same time."""
        return self.starting + self.exchanging + self.computing


@lru_cache(maxsize=1 << 12)
def _piece(h: MdHom, dim: int, count: int) -> MdHom:
    """Give one of the largest parts along a dimension, the one nearest to the middle."""
    sizes = shares(h.extents[dim], (1.0,) * count)
    middle = max(range(count), key=lambda n: (sizes[n], -abs(2 * n + 1 - count)))
    before, after = sum(sizes[:middle]), sum(sizes[middle + 1 :])
    part = cut(h, dim, (before, sizes[middle], after)).parts[1 if before else 0].mdhom
    assert isinstance(part, MdHom)
    return part


def part(h: MdHom, grid: Grid) -> MdHom:
    """Give what one device of a grid computes: the part of a part, and so on, as `cut` nests."""
    for dim, count in enumerate(grid):
        if count > 1:
            h = _piece(h, dim, count)
    return h


def _nbytes(view: View) -> int:
    return prod(view.shape) * view.dtype.itemsize


def lacking(whole: MdHom, one: MdHom, count: int, copied: frozenset[int] = frozenset()) -> tuple[int, ...]:
    """Give the bytes of each input that a part reads beside its share, if all of `count` have equal shares."""
    pairs = zip(whole.inputs, one.inputs, strict=False)
    return tuple([0 if n in copied else max(_nbytes(v) - _nbytes(w) // count, 0) for n, (w, v) in enumerate(pairs)])


def _messages(view: View, grid: Grid) -> int:
    """Count those who have what a part of a grid reads.

    These are all that differ in dimensions that it does not move with, and in others its neighbours, if it reads such.
    """
    neighbours = 3 if len(view.accesses) > 1 else 1
    return prod([min(neighbours, n) if view.depends_on(d) else n for d, n in enumerate(grid)]) - 1


def _asked(h: MdHom, grid: Grid, missing: Sequence[int]) -> int:
    return sum([_messages(v, grid) for v, nbytes in zip(h.inputs, missing, strict=True) if nbytes])


def _partials(h: MdHom, grid: Grid) -> int:
    """Count the partial results that are combined to one."""
    return prod([n for n, combine in zip(grid, h.combine, strict=True) if combine.kind == "pw"])


def estimate(task: Task, machine: Machine, hosts: Grid, devices: Grid) -> Estimate:
    """Estimate how long it takes where hosts, and the devices of each, are grids of such sizes."""
    h = task.mdhom
    among = prod(hosts), prod(devices)
    host = part(h, hosts)
    device = part(host, devices)
    if among == (1, 1):
        return Estimate(hosts, devices, task.steps * machine.call, 0.0, task.steps * h.points / task.rate, 0)
    into_host = lacking(h, host, among[0], task.copied)
    into_device = lacking(host, device, among[1], task.copied)
    total = sum(into_device)
    starting = machine.call + machine.device * among[1] + machine.latency * ceil(log2(among[0]))
    exchanging = machine.latency * _asked(h, hosts, into_host) + sum(into_host) / machine.network
    bringing = machine.message * _asked(host, devices, into_device)
    bringing += max(total / machine.link, (total * among[1] + sum(into_host)) / machine.links)
    # Results of pairs, then of pairs of pairs: half as many move in each round, until each host has one.
    partial = sum(map(_nbytes, device.outputs))
    near, far = _partials(h, devices), _partials(h, hosts)
    for n in range(ceil(log2(near))):
        pairs = max(among[1] >> n + 1, 1)
        exchanging += machine.message + max(partial / machine.link, partial * pairs / machine.links)
    exchanging += ceil(log2(far)) * (machine.latency + partial / machine.network)
    # What is brought to a device is joined with its share there, in new memory, but for halos where there is room for
    # them; of two partial results one is made.
    brought = zip(device.inputs, into_host, into_device, strict=False)
    fits = machine.room and task.steps > 1
    joined = sum([
        (1 + machine.written) * _nbytes(v)
        for v, *missing in brought if any(missing) and not (fits and len(v.accesses) > 1)
    ])  # fmt: skip
    joined += (2 + machine.written) * partial * (ceil(log2(near)) + ceil(log2(far)))
    moved = sum(map(_nbytes, device.inputs)) + machine.written * sum(map(_nbytes, device.outputs))
    computing = max(device.points / task.rate, moved * among[1] / machine.memories)
    computing += joined / min(machine.memory, machine.memories / among[1])
    exchanging += bringing
    nbytes = among[0] * (sum(into_host) + among[1] * total) + prod(among) // (near * far) * (near * far - 1) * partial
    times = [task.steps * seconds for seconds in (starting, exchanging, computing)]
    return Estimate(hosts, devices, times[0], times[1], times[2], nbytes)


def _grids(extents: Sequence[int], dims: Sequence[int], count: int) -> Iterator[Grid]:
    """Give the ways to have so many parts along some dimensions; no more along one than it has points."""
    if not dims:
        if count == 1:
            yield (1,) * len(extents)
        return
    first, *rest = dims
    for n in range(1, count + 1):
        if count % n == 0:
            for grid in _grids(extents, rest, count // n):
                yield tuple([min(n, extents[d]) if d == first else m for d, m in enumerate(grid)])


def _along(task: Task, machine: Machine, count: int, dims: Sequence[int]) -> Estimate:
    """Estimate the best grid of some dimensions: of hosts as if each were one device, then of devices."""
    hosts, devices = -(-count // machine.devices), min(count, machine.devices)
    one = (1,) * task.mdhom.rank
    far = min(
        _grids(task.mdhom.extents, dims, hosts), key=lambda g: estimate(task, machine, g, one).seconds, default=one
    )  # fmt: skip
    near = _grids(part(task.mdhom, far).extents, dims, devices)
    return min([estimate(task, machine, far, g) for g in near], key=lambda e: e.seconds)


def cheapest(task: Task, machine: Machine, count: int, grid: bool = False) -> Estimate:
    """Estimate the best cut for so many devices.

    Parameters
    ----------
    task : Task
        What is computed.
    machine : Machine
        Where; the last host may have fewer devices than it could.
    count : int
        How many devices. Not all need have a part.
    grid : bool
        Whether several dimensions may be cut.
    """
    rank = task.mdhom.rank
    ways = combinations(range(rank), min(_DIMENSIONS if grid else 1, rank))
    return min([_along(task, machine, count, dims) for dims in ways], key=lambda e: e.seconds)
