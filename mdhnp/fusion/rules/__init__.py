"""The rules, grouped by what they are about, in the order in which they are tried.

ALIKE is tried where none of the others helps any more, and once before all of them (`rewrite.rewriting`).
"""

from mdhnp.fusion.rule import Rule
from mdhnp.fusion.rules import alike, beside, maps, online, rows

RULES: tuple[Rule, ...] = (
    beside.ONCE, rows.ROWS, maps.FINISH, maps.INTO_READERS, *online.RULES, alike.ALIKE, beside.BOTH,
    maps.WRITTEN_OUT, maps.CHAIN,
)  # fmt: skip
