"""A model of calls on many devices, and what it says beside what is measured.

`model.py` has the machines and the model, `cases.py` what is computed, `table.py` shows predictions, `measured.py` fits
a machine to two parts of a CPU, or to two processes, and measures the same calls there. `devices.py` measures calls on
1, 2, 4, … devices of one host.
"""
