"""The peers' side: PyTorch, where its tensors are, and how fast its device is; CuPy computes on the same memory."""

import os
import sys
import time
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from typing import Any, NamedTuple

from benchmarks.problem import Call

__all__ = ["Error", "TorchSide"]

#: Cycles for which the device is kept at work before a sample (about 2 ms).
_AHEAD = 4_000_000
#: Elements of a copy (read and written) and rows of a matrix product that show how fast the device can be.
_COPIED, _PRODUCT = 1 << 28, 8192
#: Runs of each, of which the fastest counts.
_RUNS = 9
#: Products on which others can be built: of float32 three of TF32, of int32 and int16 so many of int8.
_TF32, _INT32, _INT16 = 3, 10, 3


class Error(NamedTuple):
    """How far a result is from the definition: by norms, and of its elements at most, over the largest one."""

    norm: float
    largest: float


@dataclass(frozen=True)
class TorchSide:
    """PyTorch in full precision, and the device of its tensors."""

    torch: Any
    device: str

    @classmethod
    def load(cls) -> "TorchSide":
        """Load PyTorch and set it up, for the current CUDA device if there is one."""
        os.environ.setdefault("CUPY_ACCELERATORS", "cub,cutensor")  # read when CuPy is imported
        import torch

        torch.set_float32_matmul_precision("highest")
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
        torch.set_grad_enabled(False)
        return cls(torch, "cuda" if torch.cuda.is_available() else "cpu")

    def tensor(self, array: Any) -> Any:
        """Bring an array there; one of a GPU is seen where it is."""
        return self.torch.as_tensor(array, device=self.device)

    def exact(self, tensor: Any) -> Any:
        """Give a tensor in double precision, where whole numbers of 32 bits are exact, too."""
        return tensor.to(self.torch.complex128 if tensor.is_complex() else self.torch.float64)

    def wait(self) -> None:
        """Wait for all that was launched, by CuPy, too."""
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def free(self) -> None:
        """Give free memory back."""
        if self.device == "cuda":
            self.wait()
            self.torch.cuda.empty_cache()
        if cupy := sys.modules.get("cupy"):
            cupy.get_default_memory_pool().free_all_blocks()

    def wake(self) -> None:
        """Keep the device at work for a moment: after a rest, and be it short, kernels take up to a tenth longer."""
        if self.device == "cuda":
            self.torch.cuda._sleep(_AHEAD)
            self.wait()

    def limits(self) -> dict[str, Any]:
        """Measure bytes a second (read and written) of a copy, and operations a second by type.

        They are those of cuBLAS's products, or of what can be built of others, as float32 of TF32.
        """
        torch, n = self.torch, _PRODUCT if self.device == "cuda" else 512
        source = torch.ones(_COPIED if self.device == "cuda" else 1 << 20, dtype=torch.float32, device=self.device)
        target = torch.empty_like(source)
        copied = 2 * source.nbytes / self._least(lambda: target.copy_(source))
        rates = {}
        for name in ("float32", "float64", "float16"):
            a = torch.rand(n, n, device=self.device).to(getattr(torch, name))
            rates[name] = 2 * n**3 / self._least(partial(torch.mm, a, a, out=torch.empty_like(a)))
        a = torch.rand(n, n, device=self.device)
        torch.set_float32_matmul_precision("high")
        rates["float32"] = max(rates["float32"], 2 * n**3 / self._least(partial(torch.mm, a, a)) / _TF32)
        torch.set_float32_matmul_precision("highest")
        whole = a.to(torch.int8)
        rates["int8"] = 2 * n**3 / self._least(partial(torch._int_mm, whole, whole.t()))  # which it is made for
        rates |= {"int32": rates["int8"] / _INT32, "int16": rates["int8"] / _INT16}
        rates |= {"complex64": rates["float32"], "complex128": rates["float64"]}
        return {"copy_bytes_per_second": copied, "flops_per_second": rates}

    def _least(self, call: Call) -> float:
        times = []
        for _ in range(_RUNS):
            self.wake()
            begin = time.perf_counter()
            for _ in range(3):
                call()
            self.wait()
            times.append((time.perf_counter() - begin) / 3)
        return min(times)

    @cached_property
    def versions(self) -> dict[str, Any]:
        """Give the versions of the peers and what they came with; none of those that are not installed."""
        torch = self.torch
        found = {"torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}
        try:
            found["cupy"] = import_module("cupy").__version__
            found["cutensor"] = str(import_module("cupyx.cutensor").get_version())
        except Exception:  # without a device of CUDA CuPy may fail in any way
            return found
        return found

    def error(self, result: Any, definition: Any) -> Error:
        """Give how far a result is from the definition, of whole numbers which part of them is another one.

        Parameters
        ----------
        result : array or sequence of them
            What was computed, by any library.
        definition : tensor or tuple of them
            In double precision, or of whole numbers.
        """
        if isinstance(definition, tuple):
            each = [self.error(one, exact) for one, exact in zip(result, definition, strict=True)]
            return Error(*map(max, zip(*each, strict=True)))
        found = self.tensor(result)
        if found.shape != definition.shape:
            raise ValueError(f"a result of shape {tuple(found.shape)} instead of {tuple(definition.shape)}")
        if not (definition.is_floating_point() or definition.is_complex()):
            differing = float((found != definition).double().mean())
            return Error(differing, differing)
        difference = (self.exact(found) - definition).abs()
        size = definition.abs()
        # Of both, NaN where a NaN is: that is no small error.
        return Error(float(difference.norm() / size.norm()), float(difference.max() / size.max()))
