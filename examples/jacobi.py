"""The temperature of a plate whose borders are kept hot and cold, by Jacobi's iteration on two devices.

Each device has half of the rows. A step needs one row of the neighbour's, which is all that is exchanged. Two GPUs are
used where there are two, else two parts of the CPU.
"""

import numpy as np

import mdhnp

ROWS, COLUMNS, STEPS = 2000, 1500, 40

gpus = [device for device in mdhnp.devices() if device.kind == "gpu"]
places = gpus[:2] if len(gpus) > 1 else "cpu/2"

plate = np.zeros((ROWS, COLUMNS), np.float32)
plate[0], plate[:, 0] = 100, 50
inside = np.zeros(plate.shape, bool)
inside[1:-1, 1:-1] = True


def mean(n):
    """Give the mean of a cell's four neighbours."""
    return (n[-1, 0] + n[1, 0] + n[0, -1] + n[0, 1]) * np.float32(0.25)


state = mdhnp.distribute(plate, "block", devices=places)
kept = mdhnp.distribute(inside, "block", devices=places)
first = state
for _ in range(STEPS):
    state = mdhnp.where(kept, mdhnp.stencil(state, mean, "nearest"), first)

expected = plate.copy()
for _ in range(STEPS):
    middle = expected[:-2, 1:-1] + expected[2:, 1:-1] + expected[1:-1, :-2] + expected[1:-1, 2:]
    expected[1:-1, 1:-1] = middle * np.float32(0.25)
np.testing.assert_allclose(state.numpy(), expected, rtol=1e-4, atol=1e-3)

print(state.distribution)
print(f"after {STEPS} steps the plate has {float(state.mean()):.2f} degrees on average")
