"""Measures mdhnp beside the libraries that people use for the same work: ``python -m benchmarks``."""
