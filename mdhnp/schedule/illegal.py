"""How a broken rule is reported."""

__all__ = ["IllegalSchedule", "require"]


class IllegalSchedule(ValueError):
    """A schedule that cannot be generated for this MDH and device; the message names the broken rule."""


def require(holds: bool, rule: str) -> None:
    """Raise IllegalSchedule with the rule where it does not hold."""
    if not holds:
        raise IllegalSchedule(rule)
