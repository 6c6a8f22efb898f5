"""How fast devices are: their shares of the work, and what they take for it.

Of unlike devices rates are measured, once for each; equal ones have equal shares, and what such devices usually take.
"""

from math import sqrt

from mdhnp.distributed.choose import Speed
from mdhnp.distributed.handing import handing
from mdhnp.placement.large import device_rates, usual_rates
from mdhnp.runtime.groups import Group

__all__ = ["speeds", "weights"]

#: Seconds in which it is found out who has what a device needs, and in which one piece is copied.
_ASKING = 4e-5


def weights(group: Group) -> tuple[float, ...]:
    """Give the share of the work that each device gets: equal ones, or, of unlike devices, by their measured rates."""
    if _equal(group):
        return (1.0,) * len(group.members)
    rates = [device_rates(d) for d in group.members]
    first = rates[0]
    both = [(r.bandwidth / first.bandwidth, r.peak["float32"] / first.peak["float32"]) for r in rates]
    return tuple([sqrt(moving * computing) for moving, computing in both])


def speeds(group: Group) -> tuple[Speed, ...]:
    """Give what each device takes."""
    equal, each, found = _equal(group), handing(group) / len(group.members), []
    for device in group.members:
        rates = usual_rates(device.caps) if equal else device_rates(device)
        (sent, each_sent), (received, each_received) = rates.sending, rates.receiving
        byte = 1 / rates.bandwidth
        moving = max(each_sent + each_received, 2 * byte)  # by way of the host, or read and written there
        found.append(Speed(0.5 / rates.peak["float32"], byte, _ASKING + sent + received, moving, each))
    return tuple(found)


def _equal(group: Group) -> bool:
    return len({d.identity for d in group.members}) == 1
