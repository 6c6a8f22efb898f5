"""What a machine gives: measured numbers of a device, of its links and of NumPy beside it, and fitted ones.

A :class:`Machine` is frozen, hashable, and JSON can hold it. Its rates and links are measured once for each device
(`tuning/measure/machine.py`); `usual` has those of such devices, for when nothing was measured. :class:`Core` and
:class:`ComputeUnit` are fitted: what the models of schedules say with them came closest to measured times. It must
not know devices.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import inf
from typing import Any, Literal, NamedTuple


class Link(NamedTuple):
    """A way for bytes: `start` seconds until the first one arrives, then `bandwidth` bytes a second."""

    start: float = 0.0
    bandwidth: float = inf

    def seconds(self, nbytes: float, times: int = 1) -> float:
        """Return the seconds in which so many bytes arrive, that are sent in so many pieces."""
        return times * self.start + nbytes / self.bandwidth


#: To memory that is shared, nothing has to be copied.
_SHARED = Link()


@dataclass(frozen=True)
class NumpyRates:
    """What NumPy gets of the host."""

    #: Seconds of its smallest matrix product or einsum.
    call: float
    #: Multiply-adds a second of BLAS in a product of 64 x 64, which one core computes.
    float32: float
    float64: float
    #: The same of large products, by all cores.
    threads32: float
    threads64: float
    #: Points a second of an einsum that does not call BLAS.
    loop: float
    #: The same for types in which its loops take many times as long.
    loop_float16: float
    loop_complex64: float
    loop_complex128: float
    #: Bytes a second of operands and results that lie in a core's caches, and that lie beyond all caches.
    cache: float
    memory: float
    #: Bytes a second that are copied to be in another order, or that BLAS reads of a matrix along the sum.
    copying: float


@lru_cache(maxsize=8)
def usual_numpy(cores: int) -> NumpyRates:
    """Give what NumPy usually gets of a host of so many cores: within a factor of 3 on Xeon and EPYC, NumPy 2."""
    return NumpyRates(
        call=1.5e-6, float32=6e10, float64=3e10, threads32=6e10 * cores, threads64=3e10 * cores,
        loop=2.5e9, loop_float16=3e8, loop_complex64=6e8, loop_complex128=6e8, cache=100e9, memory=33e9, copying=4e9,
    )  # fmt: skip


@dataclass(frozen=True)
class Core:
    """How one core of a CPU runs kernels: fitted to times of schedules of the benchmarks' contractions and stencils.

    They were measured on two cores of a Xeon of 2.6 GHz (AVX-512), by Intel's runtime and PoCL; what ranks first with
    these numbers is compared with times on an EPYC in `tests/ranked.json`.
    """

    clock: float = 2.6e9  # cycles a second
    # Bytes a second: from main memory, from the cache that cores share, and what stencils read again for other rows.
    memory: float = 18e9
    shared_cache: float = 28e9
    rows_again: float = 14e9
    # Bytes a cycle from the second-level cache: of a packed tile, of rows of an array, and of vectors that each term
    # has from another row.
    packed_l2: float = 40.0
    rows_l2: float = 16.0
    apart_l2: float = 16.0
    exposed: float = 0.4  # part of the shorter of computing and moving data that the longer one does not hide
    group: float = 1.5e-6  # seconds to start a work-group
    straggle: float = 0.15  # part by which one work-group a core takes longer than many, for want of balance
    wake: float = 5e-6  # seconds to wake the other cores' threads
    second_kernel: float = 8e-6  # seconds to launch what combines a split reduction's parts
    latency: float = 4.0  # cycles between operations each of which needs the last one's result
    # Cycles an element to copy a tile as it lies; turned in registers, or rows with neighbours; and one by one.
    copied: tuple[float, float, float] = (0.2, 1.0, 1.5)
    scalar_store: float = 4.0  # cycles to store a result that is computed without vectors
    scattered: float = 6.0  # cycles to load or store an element that the first-level cache does not keep
    translated: float = 17.0  # cycles more to store one of a tile's results that lie in so many pages as `pages` says
    border: float = 12.0  # cycles to read a vector of neighbours that may lie outside of the array
    crossing: float = 2.0  # loads that one counts for that may lie across two cache lines
    # What was not measured is 0. Cycles to read a line again whose place in a set others took; part of a tile's further
    # rows that load anew what all points share, where registers do not hold it; and seconds to begin a part of a row
    # whose rest another work-group has.
    evicted: float = 0.0
    reloaded: float = 0.0
    broken: float = 0.0
    row: float = 2.0  # cycles to begin in another row of an array of which a stencil reads neighbours
    line: int = 64  # bytes of a cache line
    page: int = 4096  # bytes of a memory page
    pages: int = 64  # that the first level of address translation remembers
    # Bytes lost between two runs, as prefetchers begin late and go too far: from memory, and from the shared cache.
    gap: float = 512.0
    shared_gap: float = 128.0
    # Bytes that an array's next axis lengthens a run to at most, of inputs and of results: beyond, little is gained.
    row_end: float = 1024.0
    result_end: float = 8192.0
    followed: int = 32  # rows that prefetchers follow at a time
    ways: int = 16  # of the second-level cache
    few_sets: int = 8  # of a cache, as few as thrash
    clash: float = 2.0  # times as long takes a line that is stored to for one element and none of its neighbours
    streams: float = 1.6  # times as long take results that are written to several places of a page by turns


#: One of vectors of 32 bytes, where it differs: by times of one core of an EPYC (Zen 3) that others used, too.
#: With tiles of 16 rows Aᵀx of 4096 x 4096 and sums of columns take 0.5 to 0.8 of the time of 32. By 192
#: pages what is ranked first of a deep contraction takes 0.8 of the time; by 1024 products of 512 x 512 take 1.5 times.
#: What is evicted, reloaded, broken and crossing was fitted to stencils: a Gaussian of 4096 x 4096 takes 0.6, Jacobi's
#: of 256^3 0.8 of the time. By 10 bytes a cycle of vectors apart instead of 16 products copy columns that
#: they read in place before: those of 300 to 1000 took 0.52 to 0.99 of the time, of 64 or fewer terms 0.81 to 1.16.
_AVX2 = Core(
    translated=0.0, followed=16, apart_l2=10.0, pages=192, crossing=1.5, evicted=16.0, reloaded=1.0, broken=5e-7
)  # fmt: skip


@dataclass(frozen=True)
class ComputeUnit:
    """How one compute unit of a GPU runs kernels: fitted to times of schedules.

    Those with matrix instructions of one subgroup were measured on one NVIDIA H200, the others on one H100
    (`tests/ranked_gpu.json`).
    """

    clock: float = 1.5e9  # cycles a second
    # A cycle: multiply-adds in float32, words from local memory, words from the cache behind it.
    lanes: float = 128.0
    load_lanes: float = 32.0
    cache_words: float = 3.0
    registers: int = 1 << 16  # of 32 bits
    resident: int = 2048  # work-items that are there at the same time
    groups: int = 32  # work-groups that are
    local_memory: int = 224 << 10  # bytes
    # Bytes a second from and to the cache that units share.
    cache: float = 60e9
    # Bytes of the smallest part of memory that is read at once, and that is written without being read before.
    sector: int = 32
    stored: int = 64
    banks: int = 32  # of local memory
    turn: float = 0.18  # what each further turn of loads from the same bank adds to all time
    hiding: float = 700.0  # work-items that hide how long each one waits
    cache_lines: float = 3.5  # lines of a unit's own cache that loads and stores touch in a cycle
    start: float = 6.9e-10  # seconds in which the device starts a further work-group
    # Instructions of a load, a store, or an index of a copy; times as many at borders of arrays.
    address: float = 0.3
    border: float = 8.0
    # Cycles that what comes next waits for a step of a sum, a copied tile, and a point of a tile that sticks out.
    step: float = 30.0
    copied: float = 500.0
    outside: float = 250.0
    tree: float = 1e-7  # seconds to combine work-items' results
    # Seconds of a further launch, and of each part that it combines.
    launch: float = 8e-6
    part: float = 5e-9
    # Part of the multiply-adds that products without matrix instructions reach, with so many terms in a tile.
    plain: float = 0.45
    plain_depth: int = 8
    # Multiply-adds in the time of a word from the cache, and of one that is written to memory.
    read_adds: float = 13.0
    write_adds: float = 30.0
    # Part of memory's speed that matrix instructions leave it: fitted to contractions of the benchmarks, and to small
    # ones, on an H200.
    memory: float = 0.7
    # How many times as long matrix instructions take for each further dimension of a factor's tile, and those of single
    # subgroups whose terms are split: fitted to eleven contractions for which that decides between schedules that else
    # are alike (1 to 6 %). What is passed over so took 1.26 to 1.35 times as long in six, 1.01 to 1.10 in three, 0.87
    # and 0.92 in two (H200).
    further_dimension: float = 1.03
    split_alone: float = 1.06
    combining: float = 5e-6  # seconds of a second kernel that follows at once, beside what it reads
    # What is left of the speed of matrix instructions: where sums are split; with more than `few` subgroups in a
    # work-group; by as few as those of `alone`; with so many bytes of a row's terms in a tile, or more.
    split: float = 0.9
    crowded: float = 0.85
    few: int = 4
    alone: dict[int, float] = field(default_factory=lambda: {1: 0.6, 2: 0.85}, hash=False)
    # Of wide ones, in cycles, fitted to 1,685 times on an H100: of a group's tile, and of each term of a row; what one
    # group of subgroups takes longer; of producers for a copy, and for a term of a column that they prepare; times as
    # long a copy takes at zeros around arrays, and for each axis whose places need divisions by no powers of two; of
    # a result; and bytes of tiles from the cache that units share in a cycle.
    wide_speed: float = 0.72  # part of what is said of the atom
    wide_pairs: float = 0.5  # of complex numbers: not measured, so that only a search tries them
    wide_step: float = 155.0
    wide_row: float = 0.122
    wide_alone: float = 0.14
    copy: float = 0.17
    prepare: float = 0.115
    copy_bordered: float = 2.4
    copy_divided: float = 0.29
    wide_result: float = 0.385
    wide_bytes: float = 50.0
    wide_turn: float = 0.023  # as `turn`
    # Of all, by the bytes of a row's terms, in float64 with the imaginary ones; seconds of a work-item for a copy of
    # less than 4 bytes, which it waits for.
    deep_double: dict[int, float] = field(default_factory=lambda: {256: 0.9, 128: 1.0, 64: 0.8, 0: 0.6}, hash=False)
    one_by_one: float = 3e-8
    deep: dict[int, float] = field(default_factory=lambda: {128: 0.97, 96: 0.98, 64: 1.0, 0: 0.85}, hash=False)
    busy_groups: int = 2  # work-groups of a unit that always have something to do
    working: int = 10  # subgroups that keep a unit at work
    held: float = 0.5  # part of the last cache that holds an input beside all else


@dataclass(frozen=True)
class Machine:
    """A device and the host beside it.

    Examples
    --------
    >>> usual("cpu", 2).float32 / 1e9  # two cores, 8 lanes, twice each cycle
    96.0
    """

    kind: Literal["cpu", "gpu"]
    #: Seconds of its smallest call.
    launch: float
    #: Bytes a second that all units together read and write.
    memory: float
    #: Multiply-adds a second of all units together.
    float32: float
    float64: float
    #: To and from its memory; takes no time where that is the host's.
    sending: Link = _SHARED
    receiving: Link = _SHARED
    #: From another device to this one, or from one array to another where both share memory.
    fetching: Link = _SHARED
    #: Seconds to hand a part of a call to the device's thread and to join its result.
    handing: float = 0.0
    #: NumPy's, on the host.
    numpy: NumpyRates = field(default_factory=lambda: usual_numpy(1))
    #: Of a CPU, fitted.
    core: Core = Core()
    #: Of a GPU, fitted.
    unit: ComputeUnit = ComputeUnit()

    def measured(self, values: Mapping[str, Any]) -> "Machine":
        """Return this machine with numbers that were measured: by their names, those of NumPy as `numpy`.

        Raises AttributeError, OverflowError, TypeError or ValueError if they are none of a machine's.
        """
        links = ("sending", "receiving", "fetching")
        found: dict[str, Any] = {n: _positive(v) for n, v in values.items() if n not in (*links, "numpy")}
        for name, (start, bandwidth) in [(n, values[n]) for n in links if n in values]:
            found[name] = Link(_positive(start) if start else 0.0, _positive(bandwidth))
        numpy = {n: _positive(v) for n, v in values.get("numpy", {}).items()}
        return replace(self, numpy=replace(self.numpy, **numpy), **found)


def _positive(value: Any) -> float:
    if not value > 0:
        raise ValueError(f"{value} is neither rate nor time")
    return float(value)


@lru_cache(maxsize=64)
def usual(kind: Literal["cpu", "gpu"], units: int, vector_bytes: int = 32) -> Machine:
    """Give what such a device usually has, at the most; nothing is measured.

    Data sheets: of a CPU 3 GHz, two fused multiply-adds of a vector each cycle, 20 GB/s a core; of a GPU 2 GHz, 128
    and 64 lanes a unit, 40 GB/s a unit, PCIe at 50 GB/s. Launches as measured: on CPUs between Intel's runtime (3 µs)
    and PoCL (up to 30 µs), on an H200.
    """
    if kind == "gpu":
        link = Link(5e-6, 50e9)
        return Machine(kind, 2e-5, units * 40e9, units * 256e9, units * 128e9, link, link)
    vectors = units * 2 * 3e9 * vector_bytes
    core = _AVX2 if vector_bytes == 32 else Core()
    return Machine(kind, 5.47e-6, min(units * 20e9, 400e9), vectors / 4, vectors / 8, core=core)
