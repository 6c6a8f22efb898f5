"""Fusion: a graph of MDHs is rewritten to a cheaper one that computes the same.

Read `rules/` first: each file is a page of equations, with what has to hold for them. `rule.py` says what a rule is,
`rewrite.py` applies them, `cost.py` says what is cheaper; `compose.py`, `reads.py` and `edit.py` are what rules are
made of. It must not know devices.
"""

from mdhnp.fusion.cost import bytes_of, cost
from mdhnp.fusion.rewrite import ALL, Applied, Rewriting, rewriting, rewriting_of, rewritings
from mdhnp.fusion.rule import Rule
from mdhnp.fusion.rules import RULES

__all__ = [
    "ALL",
    "RULES",
    "Applied",
    "Rewriting",
    "Rule",
    "bytes_of",
    "cost",
    "rewriting",
    "rewriting_of",
    "rewritings",
]
