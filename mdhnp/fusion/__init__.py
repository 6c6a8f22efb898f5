"""Fusion: a graph of MDHs is rewritten to a cheaper one that computes the same.

Read `rules/` first: each file is a page of equations, with what has to hold for them. `rule.py` says what a rule is and
what rules ask, `rewrite.py` applies them, `cost.py` says what is cheaper; `compose.py` is what rules are
made of. `least_work.py` combines what one factor has alone before a product: every first call asks it, and must not
load the rules for that, so nothing is imported here. `within.py` has steps computed part by part where temporaries
would take too much memory. It must not know devices.
"""
