"""Python programs that tests start."""

import os
import subprocess
import sys
from pathlib import Path

import mdhnp

__all__ = ["in_a_new_process"]


def in_a_new_process(code: str, **environment: str) -> str:
    """Run `code` in a fresh interpreter, since OpenCL and the default device are looked up once a process."""
    others = ("OCL_", "CL_CONFIG_", "MDHNP_DEVICE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(others)}
    root = os.pathsep.join([str(Path(mdhnp.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**kept, "PYTHONPATH": root, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout.strip()
