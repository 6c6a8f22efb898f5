"""The way of every call: `call.py` finds its entry again and runs it, or makes one.

A first call: `operands.py` converts what the user gave, the frontend's function describes what it computes
(`request.py`), `make.py` walks down from that :class:`Request` to a plan (`plans.py`), `entry.py` holds the plan, and
`store.py` the entry. `improve.py` puts better plans in place while an entry is in use. `general.py` serves sizes not
seen before; `observe.py` lets others look on. `arrays.py` makes calls on Arrays calls on their views.
"""

from mdhnp.calls.call import call
from mdhnp.calls.request import Described, Routine

__all__ = ["Described", "Routine", "call"]
