"""Who computes a call: NumPy, or kernels on a device.

`numpys.py` gives the NumPy function that computes an MDH, `costs.py` what small calls cost, `large.py`
what large ones do, measured once a device; `choice.py` compares the candidates.
"""

from mdhnp.placement.choice import Candidate, Choice, choose, only

__all__ = ["Candidate", "Choice", "choose", "only"]
