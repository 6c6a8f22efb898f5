"""What ``config.debug`` shows of a plan that is put in place, on standard error."""

import sys
from collections.abc import Iterator

from mdhnp.calls.candidates import choose
from mdhnp.calls.plans import ByNumpy, Kernels, Leaf, Nothing, Plan, SlicedKernels
from mdhnp.calls.request import Request
from mdhnp.settings import config


def show(request: Request, plan: Plan, seconds: float) -> None:
    if config.debug:
        said = lines(request, plan, seconds, config.debug)
        print("\n".join(f"mdhnp: {line}" for line in said), file=sys.stderr, flush=True)


def lines(request: Request, plan: Plan, seconds: float, level: int) -> Iterator[str]:
    """Give the lines that are shown at a level of 1 to 4."""
    h = request.mdhom
    leaves = {id(one): one for one, _ in plan.parts}.values() if isinstance(plan, SlicedKernels) else [plan]
    extents = ", ".join(f"{name}={n}" for name, n in zip(h.loops.names, h.extents, strict=True))
    first = next(iter(leaves))
    assert isinstance(first, Leaf)
    where = " or ".join(device.name for device in first.devices) or "no device yet"
    asked = "" if h.precision == "highest" else f"{h.precision} precision, "
    made = f"{asked}on {where}, made in {seconds * 1e3:.1f} ms"
    yield f"{request.function}: {_kind(plan)} ({first.why}): {h}, {extents or 'one point'}, {made}"
    if level > 1 and 0 not in h.extents and request.devices:
        for candidate in choose(h, request.devices):
            yield f"  candidate {candidate.name}: about {candidate.seconds * 1e6:.1f} µs"
    for leaf in leaves:
        if isinstance(leaf, Kernels):
            if level > 2:
                yield from (f"  schedule {o}: {s}" for s, o in zip(leaf.schedules, leaf.origins, strict=True))
            if level > 3:
                yield from (f"  | {line}" for line in leaf.program.source.splitlines())


def _kind(plan: Plan) -> str:
    match plan:
        case ByNumpy():
            return f"by {plan.function.name}"
        case Kernels():
            return f"kernels, {' and '.join(dict.fromkeys(plan.origins))} schedule"
        case SlicedKernels():
            return f"kernels, in {len(plan.parts)} parts"
        case Nothing():
            return "nothing to launch"
    raise AssertionError(plan)
