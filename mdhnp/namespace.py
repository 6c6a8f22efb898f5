"""The array API standard's functions, and NumPy's of the same kind: in which module each is, for `mdhnp.__getattr__`.

They are imported when they are first asked for: most programs need few of them.
"""

__all__ = ["MODULES"]

_NAMES = {
    "binary": """
        add arctan2 atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign
        divide equal floor_divide fmax fmin fmod greater greater_equal hypot left_shift less less_equal
        logaddexp logical_and logical_or logical_xor maximum minimum mod multiply nextafter not_equal pow power
        remainder right_shift subtract true_divide
    """,
    "elementwise": """
        abs absolute acos acosh arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh
        bitwise_invert bitwise_not cbrt ceil clip conj conjugate cos cosh exp exp2 expm1 floor imag invert
        isfinite isinf isnan log log10 log1p log2 logical_not negative positive real reciprocal rint round sign
        signbit sin sinh sqrt square tan tanh trunc where
    """,
    "filled": """
        arange empty_like eye full full_like linspace meshgrid ones ones_like tril triu zeros zeros_like
    """,
    "joining": """
        concat repeat roll stack tile
    """,
    "manipulation": """
        broadcast_arrays broadcast_shapes broadcast_to expand_dims flip matrix_transpose moveaxis permute_dims
        reshape squeeze swapaxes unstack
    """,
    "moments": """
        mean std var
    """,
    "padding": """
        pad
    """,
    "reductions": """
        all any argmax argmin count_nonzero max min prod sum
    """,
    "scans": """
        cumulative_prod cumulative_sum diff
    """,
    "types": """
        __array_namespace_info__ astype can_cast finfo iinfo isdtype result_type
    """,
}

#: Module by function.
MODULES = {name: f"mdhnp.frontend.{module}" for module, names in _NAMES.items() for name in names.split()}
