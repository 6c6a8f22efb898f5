"""Shows how a call is computed: its MDH, schedules, OpenCL C text and times."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mdhnp.dispatch import Prepared, observe
from mdhnp.tuning.host import Host

__all__ = ["Explanation", "explain"]

_ORIGINS = {"tuned": "tuned", "similar": "tuned for similar extents", "default": "default", "general": "for all sizes"}


@dataclass(frozen=True)
class Explanation:
    """What :func:`explain` found; printing it shows everything.

    Attributes
    ----------
    launches : tuple of Prepared
        One for each MDH the call ran, in order.
    seconds : float
        The whole call, with everything prepared.
    kernel_seconds : tuple of tuple of float
        For each MDH, the time of each of its kernels on the device.
    """

    launches: tuple[Prepared, ...]
    seconds: float
    kernel_seconds: tuple[tuple[float, ...], ...]

    @property
    def source(self) -> str:
        """OpenCL C text of all kernels."""
        return "\n".join(p.program.source for p in self.launches if p.program is not None)

    @property
    def summary(self) -> str:
        """All but the OpenCL C text."""
        lines = []
        for prepared, seconds in zip(self.launches, self.kernel_seconds, strict=True):
            lines.append(f"mdh       {prepared.mdhom}")
            lines.append(f"extents   {dict(zip(prepared.mdhom.names, prepared.mdhom.extents, strict=True))}")
            lines.append(f"device    {prepared.device.name} ({prepared.device.platform})")
            for schedule, origin in zip(prepared.schedules, prepared.origins, strict=True):
                lines.append(f"schedule  {_ORIGINS[origin]}: {schedule}")
            if prepared.host is not None:
                lines.append(f"computed  by NumPy: {_show(prepared.host)}")
                continue
            if prepared.program is None:
                lines.append("kernels   none: an extent is 0")
                continue
            shown = ", ".join(
                f"{k.name} {s * 1e6:.1f} µs" for k, s in zip(prepared.program.kernels, seconds, strict=True)
            )
            lines.append(f"kernels   {shown}")
        if not self.launches:
            lines.append("mdh       none: the call was left to NumPy")
        lines.append(f"call      {self.seconds * 1e6:.1f} µs")
        return "\n".join(lines)

    def __str__(self) -> str:
        return f"{self.summary}\nsource\n{self.source}" if self.source else self.summary


def explain(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Explanation:
    """Run a call and tell how it is computed.

    The function runs twice (once to prepare and see everything, once to be timed), and after that each kernel three
    times more on the first run's arrays, so it should have no side effects. Calls that it makes in other threads are
    not seen.

    Parameters
    ----------
    function : callable
        Any of this package's functions, or one that calls them.
    *args, **kwargs
        Its arguments.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> import numpy as np
    >>> import mdhnp
    >>> with mdhnp.config(host="never"):  # else NumPy computes this one, being small
    ...     explanation = mdhnp.explain(mdhnp.matmul, np.ones((4, 5)), np.ones((5, 6)))
    >>> print(explanation.launches[0].mdhom)
    md_hom(*, (++, ++, +)) ∘ (A[i,k], B[k,j]) -> C[i,j]
    """
    with observe() as seen:
        function(*args, **kwargs)
    begin = time.perf_counter()
    function(*args, **kwargs)
    seconds = time.perf_counter() - begin
    kernels: list[tuple[float, ...]] = []
    for prepared, arrays in seen:
        if prepared.plan is None:
            kernels.append(())
            continue
        outputs = [np.empty(shape, dtype) for shape, dtype in prepared.outputs]
        kernels.append(tuple(prepared.plan.profile(arrays, outputs)))
    return Explanation(tuple(p for p, _ in seen), seconds, tuple(kernels))


def _show(host: Host) -> str:
    here, there = f"{host.seconds * 1e6:.1f} µs", f"{host.kernels * 1e6:.1f} µs"
    return f"{host.name} takes about {here}, kernels {there} (see mdhnp.config.host)"
