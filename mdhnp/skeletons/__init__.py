"""Patterns of parallelism with names, after SkelCL's skeletons and Lift's patterns, each a few lines over `md_hom`.

Each is customised by a Python function or OpenCL C text, made once and called on arrays often: NumPy's or Arrays.
`skeleton.py` has what all of them share, `elementwise.py` `map` and `zip`, `combining.py` `reduce` and `scan`,
`pairs.py` `allpairs`, whose functions of whole rows `rows.py` reads, `overlap.py` `stencil`, `repetition.py` `iterate`.
"""

from mdhnp.skeletons.combining import Reduce as reduce
from mdhnp.skeletons.combining import Scan as scan
from mdhnp.skeletons.elementwise import Map as map
from mdhnp.skeletons.elementwise import Zip as zip
from mdhnp.skeletons.overlap import Stencil as stencil
from mdhnp.skeletons.pairs import AllPairs as allpairs
from mdhnp.skeletons.repetition import Iterate as iterate

__all__ = ["allpairs", "iterate", "map", "reduce", "scan", "stencil", "zip"]
