"""Functions of complex numbers, written as functions of their real and imaginary parts.

Takes components, gives components; whether they are traced values or arrays is the caller's choice. Special values are
those of C (C99, Annex G): infinities keep their direction where they have one, and signs of zeros tell the sides of
branch cuts.
"""

from collections.abc import Callable, Mapping
from math import log, pi
from typing import Any

import numpy as np

#: A complex number, or any: real part and imaginary part.
_Complex = tuple[Any, Any]


def where(condition: Any, left: Any, right: Any) -> Any:
    """``numpy.where``, whose types know no traced values."""
    return np.where(condition, left, right)


def _limits(x: Any) -> Any:
    return np.finfo(x.dtype)


def _multiply(a: _Complex, b: _Complex) -> _Complex:
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def _divide(a: _Complex, b: _Complex) -> _Complex:
    """Smith's algorithm, as in NumPy: scaled by the divisor's larger part, so that nothing overflows on the way."""
    wide = np.abs(b[0]) >= np.abs(b[1])
    large, small = where(wide, b[0], b[1]), where(wide, b[1], b[0])
    ratio = small / large
    scale = 1 / (large + small * ratio)
    first, second = where(wide, a[0], a[1]), where(wide, a[1], a[0])
    real = (first + second * ratio) * scale
    imaginary = where(wide, a[1] - a[0] * ratio, a[1] * ratio - a[0]) * scale
    zero = large == 0
    return where(zero, a[0] / np.abs(b[0]), real), where(zero, a[1] / np.abs(b[0]), imaginary)


def _reciprocal(a: _Complex) -> _Complex:
    """Smith's algorithm without what is known of 1."""
    wide = np.abs(a[1]) <= np.abs(a[0])
    large, small = where(wide, a[0], a[1]), where(wide, a[1], a[0])
    ratio = small / large
    scale = large + small * ratio
    return where(wide, 1 / scale, ratio / scale), where(wide, -ratio / scale, -1 / scale)


def _sign(a: _Complex) -> _Complex:
    """The number divided by its size; one infinite part is a direction, two are none."""
    size = np.hypot(a[0], a[1])
    endless = np.isinf(size) & (np.isinf(a[0]) ^ np.isinf(a[1]))
    zero = size == 0

    def part(x: Any) -> Any:
        nothing = x.dtype.type(0)
        return where(endless, where(np.isinf(x), np.sign(x), nothing), where(zero, nothing, x / size))

    return part(a[0]), part(a[1])


def _exp(a: _Complex) -> _Complex:
    """Where only the size overflows, not the parts, it is scaled; infinite powers with no angle have C99's values."""
    real, angle = a
    number = real.dtype.type
    large = real > (88 if real.dtype == np.float32 else 709)
    size = np.exp(real - where(large, number(16), number(0)))
    scale = where(large, number(np.exp(16)), number(1))
    nowhere = np.isinf(real) & ~np.isfinite(angle)
    cosine = where(nowhere, np.maximum(real, number(0)), size * np.cos(angle) * scale)
    sine = where(nowhere & (real < 0), number(0), size * np.sin(angle) * scale)
    return cosine, where(angle == 0, angle, sine)


def _expm1(a: _Complex) -> _Complex:
    """By expm1 of the real part; of large ones 1 is nothing, or all that is left."""
    x, y = a
    half = np.sin(y / 2)
    real = np.expm1(x) * np.cos(y) - 2 * half * half
    whole, sine = _exp(a)
    return where(np.abs(x) > 32, whole - 1, real), sine


def _log(a: _Complex) -> _Complex:
    """Near 1 by what is beyond it, so that nothing cancels; of large numbers by a part of them."""
    x, y = a
    large, small = np.maximum(np.abs(x), np.abs(y)), np.minimum(np.abs(x), np.abs(y))
    huge, tiny = large > _limits(x).max / 4, large < _limits(x).tiny * 2**10
    scale = where(huge, large.dtype.type(0.25), where(tiny, large.dtype.type(2.0**60), large.dtype.type(1)))
    moved = where(huge, large.dtype.type(log(4)), where(tiny, large.dtype.type(-60 * log(2)), large.dtype.type(0)))
    real = np.log(np.hypot(x * scale, y * scale)) + moved
    near = np.log1p((large - 1) * (large + 1) + small * small) / 2
    return where((large > 0.5) & (large < 2), near, real), np.arctan2(y, x)


def _log1p(a: _Complex) -> _Complex:
    x, y = a
    real, angle = _log((x + 1, y))
    small = (np.abs(x) < 0.5) & (np.abs(y) < 0.5)
    return where(small, np.log1p(x * (x + 2) + y * y) / 2, real), angle


def _log_to(base: float) -> Callable[[_Complex], Any]:
    return lambda a: tuple([part * (1 / log(base)) for part in _log(a)])


def _power(a: _Complex, b: _Complex) -> _Complex:
    """By logarithms, but for powers of 0, which are 0 where exponents are positive, and the powers 0 and 1."""
    number = a[0].dtype.type
    zero, none, same = (a[0] == 0) & (a[1] == 0), (b[0] == 0) & (b[1] == 0), (b[0] == 1) & (b[1] == 0)
    of_zero = where(b[0] > 0, number(0), number(np.nan))
    real, imaginary = _exp(_multiply(b, _log(a)))
    real, imaginary = where(zero, of_zero, real), where(zero, of_zero, imaginary)
    return where(none, number(1), where(same, a[0], real)), where(none, number(0), where(same, a[1], imaginary))


def _sqrt(a: _Complex) -> _Complex:
    """The larger part by a root, the other by division; scaled where sums overflow or squares underflow."""
    x, y = a
    number = x.dtype.type
    large = np.maximum(np.abs(x), np.abs(y))
    huge, tiny = large > _limits(x).max / 4, large < _limits(x).tiny * 2**20
    scale = where(huge, number(2.0**-2), where(tiny, number(2.0**40), number(1)))
    back = where(huge, number(2), where(tiny, number(2.0**-20), number(1)))
    u, v = x * scale, y * scale
    root = np.sqrt((np.abs(u) + np.hypot(u, v)) / 2)
    other = np.abs(v) / (2 * root)
    right = x >= 0
    real, imaginary = where(right, root, other) * back, np.copysign(where(right, other, root) * back, y)
    zero, endless = (x == 0) & (y == 0), np.isinf(y)
    return where(endless, np.abs(y), where(zero, np.abs(x), real)), where(endless | zero, y, imaginary)


def _sinh_cosh(x: Any) -> tuple[Any, Any, Any]:
    """Hyperbolic sine and cosine, and what both are still to be multiplied by where they would overflow."""
    number = x.dtype.type
    size = np.abs(x)
    large = size > (88 if x.dtype == np.float32 else 709)
    power = np.exp(size - number(16)) / 2
    sinh, cosh = where(large, np.copysign(power, x), np.sinh(x)), where(large, power, np.cosh(x))
    return sinh, cosh, where(large, number(np.exp(16)), number(1))


def _sinh(a: _Complex) -> _Complex:
    x, y = a
    sinh, cosh, scale = _sinh_cosh(x)
    nowhere = ~np.isfinite(y) & (np.isinf(x) | (x == 0))
    return where(nowhere, x, sinh * np.cos(y) * scale), where(y == 0, y, cosh * np.sin(y) * scale)


def _cosh(a: _Complex) -> _Complex:
    x, y = a
    sinh, cosh, scale = _sinh_cosh(x)
    endless, zero = np.isinf(x) & ~np.isfinite(y), (y == 0) | ((x == 0) & ~np.isfinite(y))
    flat = np.copysign(y.dtype.type(0), x) * np.copysign(y.dtype.type(1), y)
    return where(endless, np.abs(x), cosh * np.cos(y) * scale), where(zero, flat, sinh * np.sin(y) * scale)


def _tanh(a: _Complex) -> _Complex:
    """Kahan's formula; beyond 20 the tangent is 1 but for what underflows."""
    x, y = a
    number = x.dtype.type
    tangent, sinh = np.tan(y), np.sinh(where(np.abs(x) > 20, number(0), x))
    beta, rho = 1 + tangent * tangent, np.sqrt(1 + sinh * sinh)
    below = 1 + beta * sinh * sinh
    far = (np.abs(x) > 20) & (np.isinf(x) | np.isfinite(y))
    still = where(np.isfinite(y), 4 * np.sin(y) * np.cos(y), number(0)) * np.exp(-2 * np.abs(x))
    real = where(far, np.copysign(number(1), x), beta * rho * sinh / below)
    return where((x == 0) & ~np.isfinite(y), x, real), where(y == 0, y, where(far, still, tangent / below))


def _around(a: _Complex) -> tuple[_Complex, _Complex]:
    """Roots of 1 - z and 1 + z."""
    return _sqrt((1 - a[0], -a[1])), _sqrt((1 + a[0], a[1]))


def _arcsin(a: _Complex) -> _Complex:
    """Kahan's formula; of infinite numbers only the direction counts."""
    x, y = a
    minus, plus = _around(a)
    endless, blank = np.isinf(x) | np.isinf(y), (x == 0) & np.isnan(y)
    real = np.arctan2(x, minus[0] * plus[0] - minus[1] * plus[1])
    imaginary = np.arcsinh(minus[0] * plus[1] - minus[1] * plus[0])
    real = where(endless, np.arctan2(x, np.abs(y)), where(blank, x, real))
    return real, where(endless, np.copysign(x.dtype.type(np.inf), y), imaginary)


def _arccos(a: _Complex) -> _Complex:
    """Kahan's formula, as that of the arc sine."""
    x, y = a
    minus, plus = _around(a)
    endless, blank = np.isinf(x) | np.isinf(y), (x == 0) & np.isnan(y)
    real = 2 * np.arctan2(minus[0], plus[0])
    imaginary = np.arcsinh(plus[0] * minus[1] - plus[1] * minus[0])
    real = where(endless, np.arctan2(np.abs(y), x), where(blank, x.dtype.type(pi / 2), real))
    return real, where(endless, np.copysign(x.dtype.type(np.inf), -y), imaginary)


def _arccosh(a: _Complex) -> _Complex:
    real, imaginary = _arccos(a)
    return np.abs(imaginary), np.copysign(real, a[1])


def _arctanh(a: _Complex) -> _Complex:
    """Kahan's formula for the right half plane; far away 1/z, which is scaled, at the pole a logarithm."""
    x, y = np.abs(a[0]), a[1]
    number, size = x.dtype.type, np.abs(y)
    large = np.maximum(x, size)
    far, pole = large > 1 / _limits(x).eps, (x == 1) & (size < _limits(x).eps)
    away = 1 - x
    real = np.log1p(4 * x / (away * away + size * size)) / 4
    ratio = np.minimum(x, size) / large
    distant = x / large / large / (1 + ratio * ratio)
    real = where(far, distant, where(pole, (number(log(2)) - np.log(size)) / 2, real))
    angle = np.arctan2(2 * y, away * (1 + x) - size * size) / 2
    endless = np.isinf(x) | np.isinf(y)
    real = where((x == 0) | endless, number(0), real)
    right = (far | endless) & ~np.isnan(y)
    return np.copysign(real, a[0]), where(right, np.copysign(number(pi / 2), y), angle)


def _exchanged(function: Callable[[_Complex], _Complex]) -> Callable[[_Complex], _Complex]:
    """Give f(iz)/i of a hyperbolic function f: that of the angle, whose parts are f's in the other order."""
    return lambda a: function((a[1], a[0]))[::-1]


def _either(test: Callable[[Any], Any]) -> Callable[[_Complex], Any]:
    return lambda a: test(a[0]) | test(a[1])


def _beyond(less: Callable[[Any, Any], Any], last: Callable[[Any, Any], Any]) -> Callable[[_Complex, _Complex], Any]:
    """Compare real parts, equal ones by imaginary parts, as NumPy does; a NaN is neither before nor behind."""

    def compared(a: _Complex, b: _Complex) -> Any:
        known = ~(np.isnan(a[1]) | np.isnan(b[1]))
        return (less(a[0], b[0]) & known) | ((a[0] == b[0]) & last(a[1], b[1]))

    return compared


def _outer(before: Callable[[_Complex, _Complex], Any]) -> Callable[[_Complex, _Complex], _Complex]:
    """Choose the number that is not before the other; NaN, the first one if both are."""

    def chosen(a: _Complex, b: _Complex) -> _Complex:
        first = before(b, a) | np.isnan(a[0]) | np.isnan(a[1])
        return where(first, a[0], b[0]), where(first, a[1], b[1])

    return chosen


#: What operations on complex numbers mean, in real ones.
FORMULAS: Mapping[str, Callable[..., Any]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "subtract": lambda a, b: (a[0] - b[0], a[1] - b[1]),
    "multiply": _multiply,
    "divide": _divide,
    "reciprocal": _reciprocal,
    "square": lambda a: _multiply(a, a),
    "power": _power,
    "sqrt": _sqrt,
    "exp": _exp,
    "expm1": _expm1,
    "log": _log,
    "log1p": _log1p,
    "log2": _log_to(2),
    "log10": _log_to(10),
    "sin": _exchanged(_sinh),
    "cos": lambda a: _cosh((-a[1], a[0])),
    "tan": _exchanged(_tanh),
    "sinh": _sinh,
    "cosh": _cosh,
    "tanh": _tanh,
    "arcsin": _arcsin,
    "arccos": _arccos,
    "arctan": _exchanged(_arctanh),
    "arcsinh": _exchanged(_arcsin),
    "arccosh": _arccosh,
    "arctanh": _arctanh,
    "rint": lambda a: (np.rint(a[0]), np.rint(a[1])),
    "sign": _sign,
    "negative": lambda a: (-a[0], -a[1]),
    "positive": lambda a: a,
    "conjugate": lambda a: (a[0], -a[1]),
    "absolute": lambda a: np.hypot(a[0], a[1]),
    "real": lambda a: a[0],
    "imag": lambda a: a[1],
    "equal": lambda a, b: (a[0] == b[0]) & (a[1] == b[1]),
    "not_equal": lambda a, b: (a[0] != b[0]) | (a[1] != b[1]),
    "less": _beyond(np.less, np.less),
    "less_equal": _beyond(np.less, np.less_equal),
    "greater": _beyond(np.greater, np.greater),
    "greater_equal": _beyond(np.greater, np.greater_equal),
    "maximum": _outer(_beyond(np.less, np.less_equal)),
    "minimum": _outer(_beyond(np.greater, np.greater_equal)),
    "isnan": _either(np.isnan),
    "isinf": _either(np.isinf),
    "isfinite": lambda a: np.isfinite(a[0]) & np.isfinite(a[1]),
}
