"""Named MDHs as in :mod:`kernels`, with schedules of devices that exchange registers or have matrix instructions."""

from __future__ import annotations

from dataclasses import replace

from kernels import DOT, GEMM, GEMM_TRANSPOSED, HALF_GEMM, LARGEST, RECURRENCE, SUMS, Named
from schedules import CAPS, MATRICES

from mdhnp.schedule.schedule import LocalCopy

#: Devices whose work-items exchange registers, and kernels for them.
EXCHANGING = replace(CAPS, name="exchanging", subgroup=32)
EXCHANGED: dict[str, Named] = {
    "dot_exchanged": Named(DOT, ((1000,), (1000,)), dict(
        num_wi=(128,), local_tile=(1000,), private_tile=(2,), results="private",
    )),
    "larger_exchanged": Named(LARGEST, ((5, 40), (40,)), dict(
        num_wi=(2, 16), local_tile=(2, 16), results="private", combine_on="local",
    ), "i4"),
    # totals of any order, and in order; lines of two subgroups, and of one
    "scan_exchanged": Named(SUMS, ((700, 3),), dict(
        num_wg=(1, 2), num_wi=(2, 64), local_tile=(3, 128), private_tile=(2, 2), item_order=(1, 0), results="private",
    )),
    "recurrence_exchanged": Named(RECURRENCE, ((90,), (90,)), dict(
        num_wg=(2,), num_wi=(32,), local_tile=(32,), results="private",
    ), "i4"),
}  # fmt: skip

#: Kernels of matrix instructions, and their devices.
_ATOM = dict(
    num_wg=(2, 2, 1),
    num_wi=(8, 4, 1),
    local_tile=(16, 8, 8),
    private_tile=(2, 2, 8),
    vector_dim=1,
    vector_width=2,
    private_copies=(True, True),
    results="private",
    combine_on="local",
    atom_dims=(0, 1, 2),
)
MULTIPLIED: dict[str, Named] = {
    # copies of 16 bytes, of which the last tile's are zeros; parts of factors, and what is done where they fail
    "gemm_tf32": Named(GEMM, ((18, 20), (20, 12)), dict(
        _ATOM, local_copies=(LocalCopy((0, 1), pad=4), LocalCopy((0, 1))), stages=3, atom="3xtf32",
    )),
    # work-items that copy and split the second factor for those that multiply
    "gemm_producers": Named(GEMM, ((18, 20), (20, 12)), dict(
        _ATOM, num_wg=(1, 1, 1), num_wi=(32, 4, 1), local_tile=(18, 12, 8), private_tile=(2, 4, 8), stages=3,
        local_copies=(LocalCopy((0, 1), pad=4), LocalCopy((0, 1))), atom="3xtf32 of warpgroups", combine_every=2,
    )),
    # that only copy, to swizzled rows of terms and of columns; sums of a round are under way in the next
    "gemm_swizzled": Named(HALF_GEMM, ((18, 64), (64, 24)), dict(
        _ATOM, num_wg=(1, 1, 1), num_wi=(32, 4, 1), local_tile=(18, 24, 32), private_tile=(2, 8, 16), stages=3,
        local_copies=(LocalCopy((1, 0), blocked=(1,)),) * 2, atom="f16 of warpgroups", combine_on="global",
        item_order=(0, 1, 2),
    ), "f2"),
    "gemm_f64": Named(GEMM_TRANSPOSED, ((18, 17), (11, 17)), dict(
        _ATOM, local_copies=(LocalCopy((1, 0)), LocalCopy((0, 1))), stages=2, atom="f64 of 16 rows",
    ), "f8"),
    # of complex numbers each part of one by each of the other; a negative one is subtracted
    "gemm_c64": Named(GEMM, ((18, 20), (20, 12)), dict(
        _ATOM, local_copies=(LocalCopy((0, 1)),) * 4, private_copies=(True,) * 4, stages=2, atom="3xtf32",
    ), "c8"),
    # bytes of four terms in each register; of the factor whose rows lie across they are put together
    "gemm_s8": Named(GEMM, ((18, 48), (48, 12)), dict(
        _ATOM, local_tile=(16, 8, 32), private_tile=(2, 2, 32), combine_on="global", atom="s8", stages=2,
        local_copies=(LocalCopy((0, 1)), LocalCopy((0, 1))),
    ), "i1"),
    # bytes of wider integers
    "gemm_i16": Named(GEMM, ((18, 48), (48, 12)), dict(
        _ATOM, local_tile=(16, 8, 32), private_tile=(2, 2, 32), combine_on="global", atom="u8 of 16 bits", stages=2,
        local_copies=(LocalCopy((0, 1)), LocalCopy((0, 1))),
    ), "i2"),
}  # fmt: skip

#: Devices that not every test runs on, by what their kernels are for.
ELSEWHERE = {**dict.fromkeys(EXCHANGED, EXCHANGING), **dict.fromkeys(MULTIPLIED, MATRICES)}
