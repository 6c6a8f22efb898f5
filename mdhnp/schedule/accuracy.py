"""How exact floating-point sums are: how long a chain of additions a schedule may make.

A sum of n terms added one after the other loses up to n roundings, in parts of m terms only n/m + m of them. So a long
float sum is cut: an accumulator adds at most `longest_chain` terms of a local tile, and the tiles' sums are added with
compensation in registers, or in memory at most MOST_TILES of them.
"""

from math import prod

from mdhnp.mdh import MdHom
from mdhnp.schedule.atoms import ATOMS
from mdhnp.schedule.schedule import Schedule, tile_counts

#: Additions to one accumulator in a row; vendors' matrix products add some hundreds.
LONGEST = 512
#: The same where no operand is read again for another result: NumPy sums such arrays in pairs, and memory limits them.
READ_ONCE = 128
#: The same by matrix instructions that round as multiply-adds do: so many terms of float64 have the error that they
#: have in cuBLAS (1.7 roundings of 4096 terms' magnitudes, NVIDIA H100), and work-items half of the registers.
LONGEST_EXACT = 1 << 14
#: Tiles' sums added to one element in memory: each of them rounds the whole sum, a term of a tile only the tile's.
MOST_TILES = 256


def float_sums(h: MdHom) -> tuple[int, ...]:
    """Return which results are floats reduced by addition."""
    op = h.operator
    if op is None or not h.dims("pw"):
        return ()
    return tuple(n for n, t in enumerate(h.scalar.dtypes) if op.adds[n] and t.kind == "f")


def longest_chain(h: MdHom) -> int:
    """Return the most terms of a float sum that one accumulator may add in a row."""
    kept = h.dims("cc")
    return READ_ONCE if all(v.depends_on(d) for v in h.inputs for d in kept) else LONGEST


def chain_is_short(h: MdHom, s: Schedule) -> bool:
    """Whether no accumulator adds too many terms in a row."""
    if not float_sums(h) or h.segments or h.scatters:  # how long is not known here; as SciPy and NumPy add them
        return True
    combined, tiles = h.dims("pw"), tile_counts(h.extents, s.local_tile)
    lanes = {d: s.num_wi[d] * (s.vector_width if d == s.vector_dim else 1) for d in combined}
    if s.atom and ATOMS[s.atom].rounds and s.combine_on == "global":  # once for all terms of an instruction
        lanes[s.atom_dims[2]] *= ATOMS[s.atom].shape[2]
    exact = bool(s.atom) and not ATOMS[s.atom].rounds
    longest = LONGEST_EXACT if exact else longest_chain(h)
    in_tile = prod(-(-s.local_tile[d] // lanes[d]) for d in combined)
    walked = prod(-(-tiles[d] // s.num_wg[d]) for d in combined)
    if s.results == "private":
        return in_tile * (s.combine_every if s.combine_on == "local" else walked) <= longest
    return in_tile <= longest and walked <= MOST_TILES
