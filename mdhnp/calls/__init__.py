"""The way of every call: `call.py` finds its entry again and runs it, or makes one.

A first call: `operands.py` converts what the user gave, the frontend's function describes what it computes
(`request.py`), `steps.py` says what each step asks for, `states.py` who computes it, `plans.py` how; `entry.py` holds
the plan, and `store.py` the entry. Better plans take its place as the table in `states.py` says. `general.py` serves
sizes not seen before, `loops.py` computes part by part what needs too much memory; `observe.py` lets others look on.
`arrays.py` makes calls on Arrays calls on their views.
"""

from mdhnp.calls.call import call
from mdhnp.calls.request import Described, Routine

__all__ = ["Described", "Routine", "call"]
