"""Patterns of parallelism with names, after SkelCL's skeletons and Lift's patterns, each a few lines over `md_hom`.

Each is customised by a Python function or OpenCL C text, made once and called on arrays often: NumPy's or Arrays.
`skeleton.py` has what all of them share, `elementwise.py` `map` and `zip`, `combining.py` `reduce` and `scan`,
`pairs.py` `allpairs`, whose functions of whole rows `row_functions.py` reads, `overlap.py` `stencil`, `repetition.py`
`iterate`.
"""

from mdhnp.skeletons.combining import reduce, scan
from mdhnp.skeletons.elementwise import map, zip
from mdhnp.skeletons.overlap import stencil
from mdhnp.skeletons.pairs import allpairs
from mdhnp.skeletons.repetition import iterate

__all__ = ["allpairs", "iterate", "map", "reduce", "scan", "stencil", "zip"]
