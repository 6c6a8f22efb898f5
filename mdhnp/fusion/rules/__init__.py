"""The rules, grouped by what they are about, in the order in which they are tried."""

from mdhnp.fusion.rule import Rule
from mdhnp.fusion.rules import beside, equal, maps, online, results, rows, scans

__all__ = ["RULES"]

RULES: tuple[Rule, ...] = (
    *equal.RULES, *rows.RULES, *results.RULES, *maps.RULES, *online.RULES, *scans.RULES, *beside.RULES, *maps.CHAINS,
)  # fmt: skip
