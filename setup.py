"""Compiles the package's C functions. Everything else about the package stands in pyproject.toml."""

import sysconfig
from pathlib import Path

import numpy as np
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

if sysconfig.get_config_var("Py_GIL_DISABLED"):
    # Both the C functions and plans for repeat calls rely on one thread at a time between two OpenCL calls.
    raise SystemExit("mdhnp does not support free-threaded Python (python3.14t): use the same version with the GIL")

SOURCES = sorted(map(str, Path("mdhnp/compiled").glob("*.c")))


class BuildInBoth(build_ext):
    """Leaves the library beside the package, too: Python started in a checkout imports it from there."""

    def run(self) -> None:
        """Build as always, then copy. What an earlier build left must not stand in for one that fails."""
        built = Path(self.get_ext_fullpath("mdhnp._native"))
        for old in (built, Path("mdhnp") / built.name):
            old.unlink(missing_ok=True)
        super().run()
        if not self.inplace:
            self.copy_extensions_to_source()


setup(
    ext_modules=[
        # Optional: without a C compiler the package installs and does the same in Python.
        Extension(
            "mdhnp._native",
            SOURCES,
            depends=["mdhnp/compiled/shared.h"],
            include_dirs=[np.get_include()],
            optional=True,
        )
    ],
    cmdclass={"build_ext": BuildInBoth},
)
