"""Compiles the package's C functions. Everything else about the package stands in pyproject.toml."""

from pathlib import Path

import numpy as np
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

SOURCES = {"_native": ["_native.c"], "_enqueue": ["_enqueue.c", "_lease.c", "_caller.c"]}


class BuildInBoth(build_ext):
    """Leaves the library beside its source, too: Python started in a checkout imports the package from there."""

    def run(self) -> None:
        """Build as always, then copy. What an earlier build left must not stand in for one that fails."""
        for name in SOURCES:
            built = Path(self.get_ext_fullpath(f"mdhnp.{name}"))
            for old in (built, Path("mdhnp") / built.name):
                old.unlink(missing_ok=True)
        super().run()
        if not self.inplace:
            self.copy_extensions_to_source()


setup(
    ext_modules=[
        # Optional: without a C compiler the package installs and does the same in Python.
        Extension(
            f"mdhnp.{name}",
            [f"mdhnp/{file}" for file in files],
            depends=["mdhnp/_lease.h"],
            include_dirs=[np.get_include()],
            optional=True,
        )
        for name, files in SOURCES.items()
    ],
    cmdclass={"build_ext": BuildInBoth},
)
