"""The version, as the installed package's metadata have it: the build takes it from the last tag."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("mdhnp")
except PackageNotFoundError:  # a checkout on the path that was never installed
    __version__ = "0+unknown"
