"""Names that `mdhnp.__getattr__` imports when they are first asked for, and in which module each is.

The array API standard's functions, and NumPy's of the same kind: most programs need few of them. What needs OpenCL, or
takes long to import.
"""

_NAMES = {
    "elementwise": """
        abs absolute acos acosh add arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2
        atanh bitwise_and bitwise_invert bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift
        bitwise_xor cbrt ceil clip conj conjugate copysign cos cosh divide equal exp exp2 expm1 floor
        floor_divide fmax fmin fmod greater greater_equal hypot imag invert isfinite isinf isnan left_shift less
        less_equal log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor maximum minimum
        mod multiply negative nextafter not_equal positive pow power real reciprocal remainder right_shift rint
        round sign signbit sin sinh sqrt square subtract tan tanh true_divide trunc where
    """,
    "generators": "arange empty_like eye full full_like linspace meshgrid ones ones_like tril triu zeros zeros_like",
    "indexing": "take take_along_axis",
    "joining": "concat pad repeat roll stack tile",
    "manipulation": """
        broadcast_arrays broadcast_shapes broadcast_to expand_dims flip matrix_transpose moveaxis permute_dims
        reshape squeeze swapaxes unstack
    """,
    "places": "argmax argmin",
    "reductions": "all any count_nonzero max mean min prod std sum var",
    "scans": "cumulative_prod cumulative_sum diff",
    "searching": "argsort nonzero searchsorted sort unique unique_all unique_counts unique_inverse unique_values",
    "types": "__array_namespace_info__ astype can_cast finfo iinfo isdtype result_type",
}

#: Types and constants that are NumPy's own.
NUMPYS = (
    "bool", "complex64", "complex128", "e", "einsum_path", "float16", "float32", "float64", "inf", "int8", "int16",
    "int32", "int64", "nan", "newaxis", "pi", "uint8", "uint16", "uint32", "uint64",
)  # fmt: skip

_HEAVY = {
    "calls.prepare": "Prepared prepare",
    "calls.tracing": "TracingError",
    "calls.tune": "Tuned tune",
    "distributed.distribute": "distribute",
    "explanation": "Explanation explain",
    "frontend.attention": "attention",
    "frontend.blas": "asum axpy ger iamax nrm2 scal symv syrk trmv",
    "frontend.convolutions": "conv1d conv2d conv3d",
    "frontend.fuse": "Fused fuse",
    "frontend.gemm": "gemm gemv",
    "frontend.prl": "Links prl",
    "frontend.places": "argkmin",
    "frontend.scatter": "bincount",
    "frontend.stencil": "stencil",
    "runtime.devices": "Device MemoryInfo NoDeviceError device devices memory_info synchronize",
    "runtime.pending": "LaunchError",
    "runtime.programs": "BuildError",
    "schedule": "IllegalSchedule",
    "version": "__version__",
}

#: Module by function of the standard's.
MODULES = {name: f"mdhnp.frontend.{module}" for module, names in _NAMES.items() for name in names.split()}

#: Module by name, of all that is imported later.
LATER = MODULES | {name: f"mdhnp.{module}" for module, names in _HEAVY.items() for name in names.split()}
LATER |= dict.fromkeys(NUMPYS, "numpy")
