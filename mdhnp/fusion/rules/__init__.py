"""The rules, grouped by what they are about, in the order in which they are tried."""

from mdhnp.fusion.rule import Rule
from mdhnp.fusion.rules import beside, maps, online, rows

__all__ = ["RULES"]

RULES: tuple[Rule, ...] = (
    *beside.ONCE, *rows.RULES, *maps.FINISHES, *maps.RULES, *online.RULES, *beside.RULES, *maps.CHAINS,
)  # fmt: skip
