"""The peers' side: PyTorch and where its tensors are, and how long a call takes there."""

import time
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks.problem import Call

__all__ = ["TorchSide"]

#: Cycles for which the device waits before it is timed (about 2 ms): the host gets ahead of it meanwhile, so that
#: short kernels follow each other without gaps.
_AHEAD = 4_000_000
#: Elements of a copy (read and written) and rows of a matrix product that show how fast the device can be.
_COPIED, _PRODUCT = 1 << 28, 8192


@dataclass(frozen=True)
class TorchSide:
    """PyTorch in full precision, and the device of its tensors."""

    torch: Any
    device: str

    @classmethod
    def on(cls, device: str) -> "TorchSide":
        """Load PyTorch and set it up."""
        import torch

        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
        torch.set_grad_enabled(False)
        return cls(torch, device)

    def tensor(self, array: Any) -> Any:
        """Bring an array there; one of a GPU is seen where it is."""
        return self.torch.as_tensor(array, device=self.device)

    def done(self) -> None:
        """Wait for all that was launched, and give free memory back."""
        if self.device == "cuda":
            self.torch.cuda.synchronize()
            self.torch.cuda.empty_cache()

    def wake(self) -> None:
        """Keep the device at work for a moment: after a rest, and be it short, kernels take up to a tenth longer."""
        if self.device == "cuda":
            self.torch.cuda._sleep(_AHEAD)
            self.torch.cuda.synchronize()

    def seconds(self, call: Call, launches: int) -> float:
        """Give the time of one call, of several in a row; the first, outside, keeps the device from idling."""
        call()
        if self.device != "cuda":
            start = time.perf_counter()
            for _ in range(launches):
                call()
            return (time.perf_counter() - start) / launches
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.torch.cuda._sleep(_AHEAD)
        begin.record()
        for _ in range(launches):
            call()
        end.record()
        end.synchronize()
        return float(begin.elapsed_time(end)) / 1e3 / launches

    def limits(self) -> dict[str, Any]:
        """Measure bytes a second (read and written) of a copy, and operations a second of products, by type."""
        torch, n = self.torch, _PRODUCT
        source = torch.ones(_COPIED, dtype=torch.float32, device=self.device)
        target = torch.empty_like(source)
        copied = 2 * source.nbytes / self._least(lambda: target.copy_(source))
        rates = {}
        for name in ("float32", "float64", "float16"):
            a = torch.rand(n, n, device=self.device).to(getattr(torch, name))
            out = torch.empty_like(a)
            rates[name] = 2 * n**3 / self._least(partial(torch.mm, a, a, out=out))
        return {"copy_bytes_per_second": copied, "flops_per_second": rates}

    def _least(self, call: Call) -> float:
        return min(self.seconds(call, 3) for _ in range(5))

    def versions(self) -> dict[str, Any]:
        """Give the versions of PyTorch and what it came with."""
        torch = self.torch
        return {"torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}

    def error(self, result: Any, definition: Any, by_norm: bool) -> float:
        """Give how far a result is from the definition: the largest relative difference, or that of the norms.

        Parameters
        ----------
        result : array or sequence of them
            What was computed, by any library.
        definition : tensor or tuple of them
            In float64.
        by_norm : bool
            Whether to divide the norm of all differences by that of all elements. Of whole numbers, those that differ
            count.
        """
        if isinstance(definition, tuple):
            return max(self.error(each, exact, by_norm) for each, exact in zip(result, definition, strict=True))
        found = self.tensor(result).double()
        if found.shape != definition.shape:
            raise ValueError(f"a result of shape {tuple(found.shape)} instead of {tuple(definition.shape)}")
        if not definition.is_floating_point():
            return float((found != definition).double().mean())
        difference = found - definition
        if by_norm:
            return float(difference.norm() / definition.norm())
        return float((difference / definition).abs().max())
