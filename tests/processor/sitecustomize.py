"""Loaded by each Python that tests start (see `naming.install`)."""

import naming

naming.install()
