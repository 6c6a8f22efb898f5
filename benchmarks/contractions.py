"""Tensor contractions of the TCCG list: subscripts for C-contiguous arrays, and the letters' extents in their order.

Source: P. Springer and P. Bientinesi, "Design of a high-performance GEMM-like tensor-tensor multiplication", all 48
cases of the benchmark of TCCG v0.1 in its order, with the extents for float64. Numbers 1 to 8 are products of a tensor
and a matrix, 9 to 11 transformations of atomic to molecular orbitals, 12 to 30 of the CCSD method and 31 to 48 of
CCSD(T).
"""

__all__ = ["TCCG", "extents"]

TCCG: dict[int, tuple[str, tuple[int, ...]]] = {
    1: ("adb,cd->cba", (312, 312, 24, 312)),
    2: ("acd,db->cba", (312, 24, 296, 312)),
    3: ("aebd,ce->dcba", (72, 72, 24, 72, 72)),
    4: ("aced,eb->dcba", (72, 24, 72, 72, 72)),
    5: ("dabe,ec->dcba", (72, 72, 24, 72, 72)),
    6: ("dabfe,fc->edcba", (48, 32, 24, 32, 48, 32)),
    7: ("afbce,df->edcba", (48, 32, 32, 24, 48, 48)),
    8: ("dacfe,fb->edcba", (48, 24, 32, 32, 48, 32)),
    9: ("ae,dcbe->dcba", (72, 72, 72, 72, 72)),
    10: ("be,dcea->dcba", (72, 72, 72, 72, 72)),
    11: ("ce,deba->dcba", (72, 72, 72, 72, 72)),
    12: ("ca,bc->ba", (5136, 5120, 5136)),
    13: ("dca,cbd->ba", (312, 296, 296, 312)),
    14: ("dac,bcd->ba", (312, 296, 312, 312)),
    15: ("dca,bd->cba", (312, 296, 296, 312)),
    16: ("da,cdb->cba", (312, 312, 296, 296)),
    17: ("cda,db->cba", (312, 312, 296, 296)),
    18: ("cda,bd->cba", (312, 296, 296, 312)),
    19: ("ceda,dbe->cba", (72, 72, 72, 72, 72)),
    20: ("fbea,ecfd->dcba", (72, 72, 72, 72, 72, 72)),
    21: ("fbea,cedf->dcba", (72, 72, 72, 72, 72, 72)),
    22: ("fcea,edfb->dcba", (72, 72, 72, 72, 72, 72)),
    23: ("fcea,debf->dcba", (72, 72, 72, 72, 72, 72)),
    24: ("fdea,ecfb->dcba", (72, 72, 72, 72, 72, 72)),
    25: ("fdea,cebf->dcba", (72, 72, 72, 72, 72, 72)),
    26: ("bfea,ecdf->dcba", (72, 72, 72, 72, 72, 72)),
    27: ("cfea,debf->dcba", (72, 72, 72, 72, 72, 72)),
    28: ("bfae,cedf->dcba", (72, 72, 72, 72, 72, 72)),
    29: ("cfae,edfb->dcba", (72, 72, 72, 72, 72, 72)),
    30: ("dfae,cebf->dcba", (72, 72, 72, 72, 72, 72)),
    31: ("aged,cbfg->fedcba", (24, 16, 16, 24, 16, 16, 24)),
    32: ("bged,cafg->fedcba", (24, 16, 16, 24, 16, 16, 24)),
    33: ("cged,bafg->fedcba", (24, 16, 16, 24, 16, 16, 24)),
    34: ("agfd,cbeg->fedcba", (24, 16, 16, 24, 16, 16, 24)),
    35: ("bgfd,caeg->fedcba", (24, 16, 16, 24, 16, 16, 24)),
    36: ("cgfd,baeg->fedcba", (24, 16, 16, 24, 16, 16, 24)),
    37: ("agfe,cbdg->fedcba", (24, 16, 16, 16, 24, 16, 24)),
    38: ("bgfe,cadg->fedcba", (24, 16, 16, 16, 24, 16, 24)),
    39: ("cgfe,badg->fedcba", (24, 16, 16, 16, 24, 16, 24)),
    40: ("badg,cgfe->fedcba", (24, 16, 16, 16, 24, 16, 24)),
    41: ("cadg,bgfe->fedcba", (24, 16, 16, 16, 24, 16, 24)),
    42: ("cbdg,agfe->fedcba", (24, 16, 16, 16, 24, 16, 24)),
    43: ("baeg,cgfd->fedcba", (24, 16, 16, 24, 16, 16, 24)),
    44: ("caeg,bgfd->fedcba", (24, 16, 16, 24, 16, 16, 24)),
    45: ("cbeg,agfd->fedcba", (24, 16, 16, 24, 16, 16, 24)),
    46: ("bafg,cged->fedcba", (24, 16, 16, 24, 16, 16, 24)),
    47: ("cafg,bged->fedcba", (24, 16, 16, 24, 16, 16, 24)),
    48: ("cbfg,aged->fedcba", (24, 16, 16, 24, 16, 16, 24)),
}


def extents(number: int) -> dict[str, int]:
    """Give each letter's extent.

    Examples
    --------
    >>> extents(1)["c"]
    24
    """
    subscripts, sizes = TCCG[number]
    letters = sorted({letter for letter in subscripts if letter.isalpha()})
    return dict(zip(letters, sizes, strict=True))
