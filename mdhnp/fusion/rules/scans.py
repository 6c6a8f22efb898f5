"""Scans that are combined: a reduction or a scan of prefixes becomes one of pairs, where a law says so."""

from dataclasses import replace
from typing import Any

import numpy as np

from mdhnp.fusion.least_work import law_holds
from mdhnp.fusion.rule import (
    Match,
    Rule,
    known,
    only_read_by_last,
    pairs_of_one_result,
    reads_its_own,
    ufunc,
    written_plainly,
)
from mdhnp.mdh import Combine, Function, Graph, MdHom, Operator, Step, trace
from mdhnp.mdh.trace import Recorder

__all__ = ["RULES"]


def reduces(graph: Graph, match: Match) -> bool:
    """The last one reduces."""
    return bool(graph.mdhom(match[1]).dims("pw"))


def scans(graph: Graph, match: Match) -> bool:
    """The last one scans."""
    return bool(graph.mdhom(match[1]).dims("ps"))


def combines_a_scan(graph: Graph, match: Match) -> bool:
    """The first one is a scan, whose every result the last one combines along the same dimension, as it is."""
    f, s = (graph.mdhom(n) for n in match)
    scanned = f.dims("ps")
    return (
        len(scanned) == 1
        and f.finish is None
        and f.extents == s.extents
        and len(s.inputs) == 1
        and [d for d, c in enumerate(s.combine) if c.kind != "cc"] == [*scanned]
        and reads_its_own(graph, match)
        and s.scalar.body[s.scalar.results[0]].op == "param"
        and not f.dims("pw")
    )


def scan_distributes(graph: Graph, match: Match) -> bool:
    """The scan's operator distributes over the other one."""
    f, s = (graph.mdhom(n) for n in match)
    # Products of floats overflow apart where those of prefixes do not; sums of integers wrap around, extremes do not.
    kinds = "iu" if ufunc(f) == "multiply" else "f"
    return f.scalar.dtypes[0].kind in kinds and law_holds(f.scalar, ufunc(f), ufunc(s))


def _on_pairs(graph: Graph, match: Match) -> Graph:
    """Combine pairs: what the prefixes give, and what the elements do."""
    first, last = match
    step, s = graph.steps[first], graph.mdhom(last)
    f = step.mdhom.last
    assert f.operator is not None and s.operator is not None
    (dtype,) = f.scalar.dtypes
    times, plus = (getattr(np, ufunc(h)) for h in (f, s))

    def combine(a: Any, b: Any) -> Any:
        return plus(a[0], times(a[1], b[0])), times(a[1], b[1])

    function = trace(combine, [dtype] * 4, [dtype] * 2, group=2)
    operator = Operator(f"<{s.operator.name}, {f.operator.name}>", function, None, False)
    scalar = replace(f.scalar, results=f.scalar.results * 2)
    finish = Recorder()
    combined = finish.parameters((dtype, dtype))[0]
    types = tuple([v.dtype for v in f.inputs for _ in v.accesses])
    stored = finish.paste(s.finish, [combined, combined]) if s.finish is not None else (combined,)
    final = Function((dtype, dtype, *types), tuple(finish.body), stored)
    combine_ = tuple([Combine(c.kind, operator) if c.operator is not None else c for c in s.combine])
    new = MdHom.unchecked(f.extents, combine_, scalar, f.inputs, s.outputs, final, f.names)
    moved = {v: (first, n) for n, v in enumerate(graph.values(last))}
    return graph.edited({first: Step(new, step.inputs), last: None}, moved)


def finishes_alone(graph: Graph, match: Match) -> bool:
    """What the last one does with its results uses no index."""
    s = graph.mdhom(match[1])
    return s.finish is None or not s.finish.used_indices()


_SOURCE = "Gorlatch & Steuwer, “Towards High-Level Programming for Systems with Many Cores”, Section 4.2"

RULES = (
    Rule(
        "reduce(⊕) ∘ scan(⊗) = first ∘ reduce(⟨⊕, ⊗⟩) ∘ map(pair)",
        f"{_SOURCE}, (7)",
        pairs_of_one_result,
        (known, written_plainly, reduces, combines_a_scan, scan_distributes, only_read_by_last, finishes_alone),
        _on_pairs,
    ),
    Rule(
        "scan(⊕) ∘ scan(⊗) = map(first) ∘ scan(⟨⊕, ⊗⟩) ∘ map(pair)",
        f"{_SOURCE}, (11)",
        pairs_of_one_result,
        (known, written_plainly, scans, combines_a_scan, scan_distributes, only_read_by_last, finishes_alone),
        _on_pairs,
    ),
)
