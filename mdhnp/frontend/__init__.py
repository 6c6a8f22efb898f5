"""The calls: NumPy-like functions that describe what they compute.

Take array-likes and Arrays, give ndarrays or Arrays, by the one way of every call (`mdhnp.calls`). docs/internals.md
says what is in which file.
"""
