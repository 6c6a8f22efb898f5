"""Tensor contractions of the TCCG list: subscripts for C-contiguous arrays, and the letters' extents in their order.

Source: P. Springer and P. Bientinesi, "Design of a high-performance GEMM-like tensor-tensor multiplication", TCCG v0.1,
with the extents for float64. Numbers 40 to 48 are those of the CCSD(T) method.
"""

__all__ = ["TCCG", "extents"]

TCCG: dict[int, tuple[str, tuple[int, ...]]] = {
    1: ("adb,cd->cba", (312, 312, 24, 312)),
    2: ("acd,db->cba", (312, 24, 296, 312)),
    3: ("aebd,ce->dcba", (72, 72, 24, 72, 72)),
    5: ("dabe,ec->dcba", (72, 72, 24, 72, 72)),
    7: ("afbce,df->edcba", (48, 32, 32, 24, 48, 48)),
    9: ("ae,dcbe->dcba", (72, 72, 72, 72, 72)),
    10: ("be,dcea->dcba", (72, 72, 72, 72, 72)),
    13: ("dca,cbd->ba", (312, 296, 296, 312)),
    14: ("dac,bcd->ba", (312, 296, 312, 312)),
    16: ("da,cdb->cba", (312, 312, 296, 296)),
    19: ("ceda,dbe->cba", (72, 72, 72, 72, 72)),
    31: ("aged,cbfg->fedcba", (24, 16, 16, 24, 16, 16, 24)),
    34: ("agfd,cbeg->fedcba", (24, 16, 16, 24, 16, 16, 24)),
    37: ("agfe,cbdg->fedcba", (24, 16, 16, 16, 24, 16, 24)),
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
