"""The representation: what a call computes, independent of any device.

Read `mdhom.py` first: :class:`MdHom` is the one datum that every other folder takes or gives. `function.py` holds
scalar functions, `combine.py` the combine operators, `views.py` the index maps, `trace.py` turns Python functions into
scalar functions, `pattern.py` writes an MDH down by hand, `check.py` says whether one has a meaning, `interpret.py`
evaluates it plainly (the oracle of the tests), `graph.py` holds several, `fused.py` several that are one step,
`logarithms.py` adds logarithms in two passes, `scatter.py` sorts points by the results that they belong to,
`pieces.py` combines many of one result piece by piece, `canonical.py` names all calls that share a kernel by one form,
`cut.py` cuts one along any dimension, into tasks (`regions.py` its parts), `loop.py` several along one that they share,
`stages.py` splits one into kernels' worth and recombines results of parts, for which `arithmetic.py` puts pairs of
reals in place of complex numbers and float32 in place of float16; `paired.py` does sums of products of wide integers.
"""

from mdhnp.mdh.canonical import canonical, family, fingerprint
from mdhnp.mdh.combine import Combine, Operator, cc, ps, pw
from mdhnp.mdh.cut import Cut, Partition, Prefix, Stack, Task, Window, cut, shares, whole
from mdhnp.mdh.function import Function, Instruction
from mdhnp.mdh.fused import Chain, Rows, along, chain, is_product, rows, sized, unfused
from mdhnp.mdh.graph import Graph, Step
from mdhnp.mdh.grid import grid
from mdhnp.mdh.indices import axes_of_indices, check_indices, put_indices
from mdhnp.mdh.interpret import interpret
from mdhnp.mdh.mdhom import Computation, MdHom
from mdhnp.mdh.paired import paired
from mdhnp.mdh.pattern import Pattern, md_hom
from mdhnp.mdh.pieces import in_pieces
from mdhnp.mdh.regions import Part, bounded, contiguous, is_stretch, stretches
from mdhnp.mdh.scatter import Sorting, are_few, scattered, scattered_partial
from mdhnp.mdh.stages import Argument, Stage, combination, finish_inputs, partial, prefixes, stages
from mdhnp.mdh.tiles import Footprint, Ring, footprints, overlaps, rings, slots
from mdhnp.mdh.trace import index, trace
from mdhnp.mdh.views import Affine, View, interleaved

__all__ = [
    "Affine", "Argument", "Chain", "Combine", "Computation", "Cut", "Footprint", "Function", "Graph", "Instruction",
    "MdHom", "Operator", "Part", "Partition", "Pattern", "Prefix", "Ring", "Rows", "Sorting", "Stack", "Stage",
    "Step", "Task", "View", "Window", "along", "are_few", "axes_of_indices", "bounded", "canonical", "cc",
    "chain", "check_indices", "combination", "contiguous", "cut", "family", "fingerprint", "finish_inputs",
    "footprints", "grid", "in_pieces", "index", "interleaved", "interpret", "is_product", "is_stretch", "md_hom",
    "overlaps", "paired", "partial", "prefixes", "ps", "put_indices", "pw", "rings", "rows", "scattered",
    "scattered_partial", "shares", "sized", "slots", "stages", "stretches", "trace", "unfused", "whole",
]  # fmt: skip
