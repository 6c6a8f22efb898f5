"""
A plate on two devices
======================

The temperature of a plate whose borders are kept hot and cold, by Jacobi's iteration, with half of the rows on each
of two devices. A step needs one row of the neighbour's, which is all that is exchanged; nobody has to say so.

Two GPUs are used where there are two, else two parts of the CPU. On those nothing is gained, but the code is the
same.
"""

import matplotlib.pyplot as plt
import numpy as np

import mdhnp

ROWS, COLUMNS, STEPS = 800, 600, 40

gpus = [device for device in mdhnp.devices() if device.kind == "gpu"]
places = gpus[:2] if len(gpus) > 1 else "cpu/2"

plate = np.zeros((ROWS, COLUMNS), np.float32)
plate[0], plate[:, 0] = 100, 50
inside = np.zeros(plate.shape, bool)
inside[1:-1, 1:-1] = True


def mean(n):
    """Give the mean of a cell's four neighbours."""
    return (n[-1, 0] + n[1, 0] + n[0, -1] + n[0, 1]) * np.float32(0.25)


# %%
# ``distribute`` puts blocks of rows on the devices. Calls on such Arrays run on both.

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

# %%
# The corner that is warmed from two sides, and along it where the devices' parts meet.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", width_ratios=(2, 3))
image = left.imshow(state.numpy()[:40, :40], cmap="inferno")
left.set(xlabel="column", ylabel="row", title="upper left corner")
figure.colorbar(image, ax=left).ax.set_title("°C")
right.plot(state.numpy()[ROWS // 2 - 1, :40], label="last row of the first device")
right.plot(state.numpy()[ROWS // 2, :40], "--", label="first row of the second")
right.set(xlabel="column", ylabel="temperature (°C)")
right.legend()
plt.show()
