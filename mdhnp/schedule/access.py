"""How an MDH's loops access its arrays: what choosing a schedule needs of it, computed once."""

from dataclasses import dataclass
from functools import cached_property
from math import gcd
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from mdhnp.cost import weight
from mdhnp.mdh import Affine, MdHom, View, interleaved
from mdhnp.mdh.views import Indirect

Ints = npt.NDArray[np.int64]

#: Elements that those which other arrays' elements name lie apart at least: each may be on a cache line of its own.
_FAR = 16


class Side(NamedTuple):
    """Kept dimensions that move one factor, and those along which results, and the factor, are contiguous."""

    dims: tuple[int, ...]
    written: int
    read: int


class Moved(NamedTuple):
    """How dimensions move an array: what is asked of it for thousands of schedules, computed once."""

    view: View
    #: Distance in elements that each dimension moves the first access.
    strides: tuple[int, ...]
    #: Of each axis with a stride, nearest first: stride, length, the elements that one point reads, and how many
    #: more the next one does in each dimension.
    axes: tuple[tuple[int, int, int, tuple[int, ...]], ...]
    #: By dimension along which neighbours are neighbours, of what number of elements all other distances are multiples.
    whole: dict[int, int]

    @classmethod
    def of(cls, view: View, rank: int) -> Self:
        strides, one, first = _coefficients(view, rank), [1] * rank, view.accesses[0] if view.accesses else ()
        axes = [
            (abs(stride), view.shape[n], _box(view, n, one), tuple([_points(first[n], d) for d in range(rank)]))
            for n, stride in enumerate(view.strides)
            if stride
        ]
        constants = [view.linear(access).constant for access in view.accesses]
        # Half precision is converted one by one.
        near = [d for d, stride in enumerate(strides) if stride == 1 and view.dtype.char != "e"]
        whole = {d: gcd(*strides[:d], *strides[d + 1 :], *constants) for d in near}
        return cls(view, strides, tuple(sorted(axes, key=lambda axis: axis[0])), whole)


@dataclass(frozen=True)
class AccessPattern:
    """Dimensions of an MDH, and how each moves its inputs and outputs."""

    h: MdHom

    @cached_property
    def kept(self) -> tuple[int, ...]:
        """Concatenated dimensions."""
        return self.h.dims("cc")

    @cached_property
    def combined(self) -> tuple[int, ...]:
        return self.h.combined

    @cached_property
    def strides(self) -> tuple[tuple[int, ...], ...]:
        """Of each input's first access, the distance in elements that each dimension moves it."""
        return tuple(_coefficients(v, self.h.rank) for v in self.h.inputs)

    @cached_property
    def output_strides(self) -> tuple[int, ...]:
        """The same of the first output."""
        return _coefficients(self.h.outputs[0], self.h.rank)

    @cached_property
    def arrays(self) -> tuple["Moved", ...]:
        """How each input, and then each output, is moved."""
        return tuple(Moved.of(v, self.h.rank) for v in (*self.h.inputs, *self.h.outputs))

    @cached_property
    def contiguous_output(self) -> tuple[int, ...]:
        """Dimensions along which neighbours are neighbours in the first output, or have the imaginary part between."""
        step = 2 if len(self.h.outputs) > 1 and interleaved(*self.h.outputs[:2]) else 1
        return tuple(d for d, stride in enumerate(self.output_strides) if abs(stride) == step)

    @cached_property
    def whole_output(self) -> int:
        """Of how many neighbours in the first output all distances along its other dimensions are multiples."""
        index, near = self.h.outputs[0].linear(self.h.outputs[0].accesses[0]), self.contiguous_output[:1]
        apart = [n for d, n in enumerate(index.coefficients) if d not in near]
        return gcd(index.constant, *apart) // self._output_step

    @cached_property
    def _output_step(self) -> int:
        """Elements of the first output from one neighbour to the next."""
        return max([abs(self.output_strides[d]) for d in self.contiguous_output[:1]], default=1)

    def stored(self, lanes: Any, sector: int, apart: int = 1) -> Any:
        """Bytes of sectors that stores touch for each byte of the first output, by lanes along its neighbours.

        Each store's lanes are `apart` neighbours from each other; one that begins anywhere touches a sector more.
        """
        size = self.h.outputs[0].dtype.itemsize * self._output_step
        extent = max([self.h.extents[d] for d in self.contiguous_output[:1]], default=1)
        stores = -(-extent // lanes)
        run = size * ((extent / stores - 1) * apart + 1)
        return stores * (sector + run - np.minimum(gcd(self.whole_output * size, sector), run)) / (size * extent)

    def contiguous(self, n: int, d: int) -> bool:
        """Whether neighbours along a dimension are neighbours in an input, or have the other part in between."""
        return abs(self.strides[n][d]) in (1, 2)

    def contiguous_any(self, d: int) -> bool:
        return any(self.contiguous(n, d) for n in range(len(self.h.inputs)))

    @cached_property
    def depends(self) -> tuple[frozenset[int], ...]:
        """Dimensions that move each input."""
        return tuple(frozenset(d for d in range(self.h.rank) if v.depends_on(d)) for v in self.h.inputs)

    def spans(self, n: int) -> list[int]:
        """How far an input's accesses lie apart along each of its axes, in elements."""
        constants = zip(*[[index.constant for index in access] for access in self.h.inputs[n].accesses], strict=True)
        return [max(each) - min(each) for each in constants]

    @cached_property
    def summed(self) -> list[bool]:
        """Whether each input moves along sums and more, so that its tiles serve several work-items."""
        return [len(moved) > 1 and not moved.isdisjoint(self.combined) for moved in self.depends]

    def only(self, n: int, other: int) -> list[int]:
        """Kept dimensions that move an input and not another one."""
        return [d for d in self.kept if d in self.depends[n] and d not in self.depends[other]]

    @cached_property
    def reused(self) -> tuple[int, ...]:
        """Inputs whose elements are read for several results, so that copying them may pay."""
        able = [n for n, view in enumerate(self.h.inputs) if not view.indirect and n not in self.indices]
        if not self.combined:
            return tuple(n for n in able if len(self.h.inputs[n].accesses) > 1 and self.depends[n])
        return tuple(n for n in able if len(moved := self.depends[n]) > 1 and not moved.issuperset(self.kept))

    @cached_property
    def indices(self) -> frozenset[int]:
        """Inputs whose elements are indices of others."""
        return frozenset(self.h.index_sources)

    def turned(self, n: int) -> bool:
        """Whether an input's neighbours are other points than the results', so that a copied tile lets both be near."""
        written = self.contiguous_first[:1]
        near = {d for d in self.depends[n] if self.contiguous(n, d) and self.h.extents[d] > 1}
        return bool(near) and near.isdisjoint(written) and not self.depends[n].isdisjoint(written)

    def copies_pay(self, n: int) -> bool:
        """Whether a GPU's copies of an input's tiles may pay: elements are read again, or by others than neighbours."""
        able = self.h.inputs[n].one_box and not self.h.dims("ps")
        return able and (n in self.reused or self.turned(n))

    def tile_elements(self, n: int, tiles: Ints) -> Ints:
        """Elements of an input in local tiles, one row each, with the neighbours that they read."""
        size, view = np.ones(len(tiles), np.int64), self.h.inputs[n]
        for axis in range(len(view.shape)):
            size = size * view.box(axis, list(tiles.T))
        return size

    @cached_property
    def loop_order(self) -> tuple[int, ...]:
        """Kept dimensions by falling distance in the output, then combined ones by falling distance in the inputs."""
        kept = sorted(self.kept, key=lambda d: -abs(self.output_strides[d]))
        far = {d: max((abs(s[d]) for s in self.strides), default=0) for d in self.combined}
        return (*kept, *sorted(self.combined, key=lambda d: -far[d]))

    @cached_property
    def contiguous_first(self) -> tuple[int, ...]:
        """Kept dimensions with several points by rising distance in the output."""
        several = [d for d in self.kept if self.h.extents[d] > 1]
        return tuple(sorted(several, key=lambda d: abs(self.output_strides[d])))

    @cached_property
    def walked(self) -> tuple[int, ...]:
        """Dimensions along which the largest input is contiguous, and work-items should be neighbours."""
        if not self.h.inputs:
            return ()
        largest = max(range(len(self.h.inputs)), key=lambda n: self.h.inputs[n].elements())
        return tuple(d for d in range(self.h.rank) if self.contiguous(largest, d) and self.h.extents[d] > 1)

    @cached_property
    def sides(self) -> tuple[Side, Side] | None:
        """The two sides of a product, each of which moves a factor that the other one does not; None of other MDHs."""
        units = self.contiguous_first
        if not self.combined or self.h.dims("ps"):
            return None
        apart = {(x, y) for x in units for y in units if any(x in moved and y not in moved for moved in self.depends)}
        pairs = [(x, y) for x in units for y in units if {(x, y), (y, x)} <= apart]
        if not pairs:
            return None
        x, y = min(pairs, key=lambda pair: (units.index(pair[0]), -self.h.extents[pair[1]]))
        return self._side(x), self._side(y)

    def _side(self, d: int) -> Side:
        moves = [d in moved for moved in self.depends]
        dims = [k for k in self.kept if [k in moved for moved in self.depends] == moves and self.h.extents[k] > 1]
        written = min(dims, key=lambda k: abs(self.output_strides[k]))
        near = [k for n, moved in enumerate(self.depends) if d in moved for k in dims if self.contiguous(n, k)]
        return Side(tuple(dims), written, near[0] if near else written)

    @cached_property
    def operations(self) -> float:
        """Vector operations of one application of the scalar function and one combination."""
        count, operator = weight(self.h.scalar), self.h.operator
        if operator is not None:
            # A product that is added at once is one instruction.
            count += weight(operator.function) - (1 if any(operator.adds) and count >= 1 else 0)
        return max(count, 1.0)

    @cached_property
    def bytes_read(self) -> int:
        return sum(v.span_bytes for v in self.h.inputs)

    @cached_property
    def bytes_written(self) -> int:
        return sum(v.span_bytes for v in self.h.outputs)

    @cached_property
    def itemsize(self) -> int:
        """Bytes of the first result."""
        return self.h.scalar.dtypes[0].itemsize


def _coefficients(view: View, rank: int) -> tuple[int, ...]:
    """Distances along each dimension of the view's first access; where another array's elements say, not near."""
    steps = view.linear(view.accesses[0]).coefficients or (0,) * rank
    for stride, index in zip(view.strides, view.accesses[0], strict=True):
        if isinstance(index, Indirect):
            far = max(abs(stride), _FAR)
            steps = tuple([max(abs(step), far) if index.through[d] else step for d, step in enumerate(steps)])
    return steps


def _points(index: Affine, d: int) -> int:
    """Along an axis, how many elements further on the next point of a dimension is, or how many more are read."""
    step = abs(index.coefficients[d])
    return max(step, 1) if isinstance(index, Indirect) and index.through[d] else step


def _box(view: View, axis: int, points: list[int]) -> int:
    """Elements along an axis of the box that one point reads; where other arrays' elements say, one each."""
    indirect = any([isinstance(a[axis], Indirect) for a in view.accesses])
    return len(view.accesses) if indirect else int(view.box(axis, points))
