"""MDHs written by users: `md_hom` gives a callable that runs on arrays like any other call here."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from weakref import ref

import numpy.typing as npt

from mdhnp.calls import Described, Routine, call
from mdhnp.calls.request import results
from mdhnp.documentation import exported
from mdhnp.errors import ARGUMENTS, raise_named
from mdhnp.frontend.contraction import Arrays
from mdhnp.frontend.public import public
from mdhnp.mdh import Function, MdHom, Pattern, cc
from mdhnp.mdh.combine import CombineSpec, require_distributive
from mdhnp.mdh.pattern import md_hom as pattern
from mdhnp.mdh.pattern import whole_extents
from mdhnp.settings import config


@exported
class Computation:
    """A multi-dimensional homomorphism to be called on arrays; made by :func:`md_hom`.

    Examples
    --------
    >>> import numpy as np
    >>> import mdhnp
    >>> dot = mdhnp.md_hom(np.multiply, {"k": mdhnp.pw("add")}, "x[k], y[k] -> z[]")
    >>> float(dot(np.ones(3), np.arange(3.0)))
    3.0
    """

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern

    def __call__(self, *arrays: "npt.ArrayLike", schedule: Any = None, **extents: int) -> Any:
        """Compute.

        Parameters
        ----------
        *arrays : array_like
            One an input, in the order of the views.
        schedule : Schedule or sequence of Schedule, optional
            By which kernels compute, in place of ``config.schedule``, which tells more.
        **extents : int
            Extents of dimensions that the arrays' shapes do not fix, and, by the name of an array that says where
            results go, how many places there are.

        Returns
        -------
        ndarray or tuple of ndarray
            One new array an output.

        Raises
        ------
        IndexError
            If an element that is an index is less than -n, or n or more, along an axis of n elements without a
            boundary mode. Elements are looked at in each call, for which devices with memory of their own are waited
            for.
        """
        try:
            if schedule is not None:
                with config.block("md_hom", {"schedule": schedule}):
                    return self(*arrays, **extents)
            if extents:
                extents = whole_extents(extents)
            # The computation itself is the key: the same views with another function are another computation. Held
            # weakly, so that its plans go with it.
            return call((_MD_HOM, ref(self), *extents.items()), arrays, owners=(self,))
        except ARGUMENTS as error:
            raise_named("md_hom", error)

    def __matmul__(self, other: Any) -> Any:
        """Compose: ``(f @ g)(x)`` is ``f(g(x))``, fused as by :func:`mdhnp.fuse`; extents by name are those of `g`.

        Examples
        --------
        >>> import numpy as np
        >>> import mdhnp
        >>> square = mdhnp.md_hom(np.square, {"i": mdhnp.cc}, "x[i] -> y[i]")
        >>> total = mdhnp.md_hom(lambda x: x, {"i": mdhnp.pw("add")}, "x[i] -> y[]")
        >>> float((total @ square)(np.array([3.0, 4.0])))
        25.0
        """
        if not callable(other):
            return NotImplemented
        from mdhnp.frontend.fuse import after  # which few programs need

        return after(self, other)

    def bind(self, *arrays: "npt.ArrayLike", **extents: int) -> MdHom:
        """Give the MdHom for these arrays, for printing, interpreting or scheduling by hand.

        Parameters
        ----------
        *arrays : array_like
            One an input, in the order of the views.
        **extents : int
            Extents of dimensions that the arrays' shapes do not fix.

        Returns
        -------
        MdHom
            With extents, types and strides filled in.

        Raises
        ------
        ValueError
            If the arrays do not fit the views.
        """
        return self.pattern.bind(*arrays, **extents)


def _describe(arrays: Arrays, computation: "ref[Computation]", *extents: tuple[str, int]) -> Described:
    known = computation()
    assert known is not None  # it is being called
    bound = known.bind(*arrays, **dict(extents))
    for (_, spec), combine in zip(known.pattern.combine, bound.combine, strict=True):
        if spec.over and spec.check and combine.operator is not None:
            totals = [total.resolve(bound.scalar.dtypes).operator for total in spec.over]
            require_distributive(combine.operator, [t for t in totals if t is not None], apply=_applied)
    return Described(bound, None, results)


def _applied(function: Function, values: Arrays) -> tuple[Any, ...]:
    """Apply an operator's function to operands, by a kernel where it is OpenCL C text."""
    if not function.texts:
        return function.evaluate(values)
    (text,), count = function.texts, len(values)
    views = f"{', '.join([f'x{n}[i]' for n in range(count)])} -> {', '.join([f'y{n}[i]' for n in range(count // 2)])}"
    found = md_hom(text, {"i": cc}, views, results=function.dtypes)(*values)
    return found if isinstance(found, tuple) else (found,)


_MD_HOM = Routine("md_hom", _describe)


@public(
    "Describe a multi-dimensional homomorphism, ``md_hom(f, (op_1, …, op_d)) ∘ views``, to be called on arrays.",
    scalar="callable or str: The scalar function f: from one value each access of the inputs, in order, to a value or "
    "a tuple of values; a NumPy ufunc, a Python function of operators and ufuncs, or OpenCL C text whose last function "
    "it is.",
    combine="mapping of str to combine operator: The dimensions in order, each with `cc`, ``pw(...)`` or ``ps(...)``.",
    views='str: Accesses in the papers\' notation, ``"I[p+r,q+s], F[r,s] -> O[p,q]"``. Indices are affine, or an '
    "element of another input plus what is affine, as in ``T[rows[i],j]``; of an output such an element alone, as in "
    "``Y[s[i],j]``, where what goes to the same place is combined. Arrays are given in the order in which "
    "they are named, and the function gets what is accessed outside of indices. OpenCL C text may read all of an axis, "
    'as in ``"A[i,:]"``: it is given a pointer, then the length and the step of each such axis.',
    finish="callable, optional: Applied to each combined result before it is stored: from the results and then all "
    "accesses to the outputs.",
    boundary="mapping of str to str, optional: For inputs whose indices may leave the array: ``constant`` (zero), "
    "``nearest``, ``reflect``, ``mirror`` or ``wrap``. Keys are inputs' names.",
    results="dtype or sequence of dtype, optional: Types of the results; needed with OpenCL C text only, where that "
    "does not return one of NumPy's types.",
    segments="mapping of str to str, optional: For a reduced dimension k of whose points each point i of another one "
    'has its own: those from ``offsets[i]`` up to before ``offsets[i + 1]``, as ``{"k": "offsets[i]:offsets[i+1]"}``. '
    "The array `offsets` is given after those of the views.",
    nested="bool: Combine strictly from the last dimension to the first; needed where operators are mixed.",
    returns="Computation: Call it on arrays; keep it, for each new one is compiled anew.",
    raises={
        "ValueError": "If the views cannot be read or name unknown dimensions, a dimension's name is no identifier, or "
        "there is no such boundary mode or input.",
        "TypeError": "If `combine` holds anything but combine operators.",
    },
    notes="""Python functions are called with symbols, once for each combination of the arrays' types: numbers they
refer to are constants.

Source: Rasch & Gorlatch, "Multi-dimensional homomorphisms and their implementation in OpenCL", Definition 6.""",
    example="""
>>> shortest = mdhnp.md_hom(
...     np.add, {"i": mdhnp.cc, "j": mdhnp.cc, "k": mdhnp.pw("min")}, "A[i,k], B[k,j] -> C[i,j]"
... )
>>> d = np.array([[0, 1], [2, 0]])
>>> shortest(d, d)
array([[0, 1],
       [2, 0]])""",
)
def md_hom(
    scalar: Callable[..., Any] | str,
    combine: Mapping[str, CombineSpec],
    views: str,
    *,
    finish: Callable[..., Any] | None = None,
    boundary: Mapping[str, str] | None = None,
    results: Sequence[npt.DTypeLike] | npt.DTypeLike | None = None,
    nested: bool = False,
    segments: Mapping[str, str] | None = None,
) -> Computation:
    options: Any = {"finish": finish, "boundary": boundary, "results": results, "nested": nested}
    return Computation(pattern(scalar, combine, views, segments=segments, **options))
