"""What calls take and give that holds arrays: nested tuples, lists and dictionaries."""

from collections.abc import Callable
from typing import Any


def each(x: Any, change: Callable[[Any], Any]) -> Any:
    """Change what is in nested tuples, lists and dictionaries.

    Examples
    --------
    >>> each(([1, 2], {"a": 3}), lambda n: -n)
    ([-1, -2], {'a': -3})
    """
    if isinstance(x, tuple):
        changed = [each(e, change) for e in x]
        return type(x)(*changed) if hasattr(x, "_fields") else tuple(changed)
    if isinstance(x, list):
        return [each(e, change) for e in x]
    return {key: each(e, change) for key, e in x.items()} if isinstance(x, dict) else change(x)
