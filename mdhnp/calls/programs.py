"""Programs on disk, beside their binaries: what was generated once for a call need not be generated again.

Choosing a schedule and generating its text takes longer than loading the binary. A record holds for the very sources of
this package, and as long as no other schedule was tuned.
"""

import hashlib
import json
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from mdhnp.calls.plans import Kernels
from mdhnp.codegen.program import Kernel, Program
from mdhnp.mdh.canonical import fingerprint
from mdhnp.mdh.mdhom import Computation
from mdhnp.mdh.stages import Argument
from mdhnp.runtime import binaries
from mdhnp.runtime.devices import Device
from mdhnp.tuning.cache import cache as tuning_cache
from mdhnp.tuning.cache.records import Key, read_schedule
from mdhnp.tuning.lookup import Scheduled, family_choice

#: Folders whose sources decide what a program is.
_SOURCES = ("mdh", "schedule", "codegen", "runtime")


def write(plan: Kernels, keys: list[Key]) -> None:
    """Keep a plan's schedules and program; `keys` are those of its stages in the tuning cache."""
    found = [(s.to_json(), origin) for s, origin in zip(plan.schedules, plan.origins, strict=True)]
    listed, shared = [asdict(key) for key in keys], [_shared(key) for key in keys]
    record = {"found": found, "keys": listed, "near": shared, "program": asdict(plan.program)}
    binaries.store(_name(plan.mdhom, plan.device), json.dumps(record).encode())


def read(h: Computation, device: Device) -> tuple[list[Scheduled], Program] | None:
    """Give what was kept for a computation; None where nothing was, or where it is out of date."""
    text = binaries.load(_name(h, device))
    if text is None:
        return None
    try:
        record = json.loads(text)
        found = [Scheduled(read_schedule(schedule), origin) for schedule, origin in record["found"]]
        keys = [Key(**{**key, "extents": tuple(key["extents"])}) for key in record["keys"]]
        fields = record["program"]
        kernels = [
            Kernel(k["name"], k["global_size"], k["local_size"], tuple([Argument(*a) for a in k["arguments"]]))
            for k in fields["kernels"]
        ]
        program = Program(fields["source"], tuple(kernels), tuple(fields["temporaries"]), tuple(fields["sizes"]))
    except (KeyError, TypeError, ValueError):
        return None
    tuned = [tuning_cache().get(key) for key in keys]
    current = [f.schedule if f.origin == "tuned" else None for f in found]
    is_current = [entry and entry.schedule for entry in tuned] == current
    return (found, program) if is_current and record.get("near") == [_shared(key) for key in keys] else None


def _shared(key: Key) -> list[Any] | None:
    """Give what sizes near to a key's take, where it has no schedule of its own."""
    found = None if tuning_cache().get(key) is not None else family_choice(key)
    return found and [list(found[0]), found[1] if found[1] == "default" else found[1].to_json()]


def _name(h: Computation, device: Device) -> str:
    return hashlib.sha256("\0".join(("program", _stamp(), device.identity, fingerprint(h))).encode()).hexdigest()


@cache
def _stamp() -> str:
    """Tell the sources of this package from those of others."""
    states = [(str(file), (status := file.stat()).st_mtime_ns, status.st_size) for file in sources()]
    return hashlib.sha256(repr(states).encode()).hexdigest()


def sources() -> list[Path]:
    """Give the files that decide what program is generated."""
    root = Path(__file__).parents[1]
    return sorted(file for folder in _SOURCES for file in (root / folder).rglob("*.py"))
