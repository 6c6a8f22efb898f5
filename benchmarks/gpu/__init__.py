"""Measures kernels on an NVIDIA GPU beside those of its vendor's libraries: ``python -m benchmarks gpu``."""
