"""The rules, grouped by what they are about, in the order in which they are tried."""

from mdhnp.fusion.rule import Rule
from mdhnp.fusion.rules import beside, maps, online, results

__all__ = ["RULES"]

RULES: tuple[Rule, ...] = (*maps.RULES, *results.RULES, *online.RULES, *beside.RULES)
