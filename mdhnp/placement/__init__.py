"""Who computes a call: NumPy, or kernels on a device.

`numpys.py` gives the NumPy function that computes an MDH, `costs.py` what small calls cost, `large.py`
what large ones do, measured once a device; `choice.py` compares the candidates.
"""
