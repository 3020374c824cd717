"""Quantiles and tails of distributions, to the last bit those of ``scipy.stats``.

They are computed by the same special functions, which load in a tenth of the time and need 50 MB
less memory than ``scipy.stats``; also these only where a distribution is asked for, as most readers
of a run need none.
"""

from __future__ import annotations

import math
from typing import Any


def t_quantile(p: Any, freedom: Any) -> Any:
    """Quantile of Student's t.

    Parameters
    ----------
    p : float or array
        Probability below it, in (0, 1].
    freedom : float or array
        Degrees of freedom, also infinite; with 0 or less there is none (nan).

    Examples
    --------
    >>> round(float(t_quantile(0.975, 4)), 3)
    2.776
    """
    from scipy import special

    return special.stdtrit(freedom, p)


def t_tail(t: Any, freedom: Any) -> Any:
    """Probability that Student's t is larger.

    Examples
    --------
    >>> round(float(t_tail(2.776, 4)), 3)
    0.025
    """
    import numpy as np
    from scipy import special

    return special.stdtr(freedom, np.negative(t))


def normal_quantile(p: Any) -> Any:
    """Quantile of the standard normal distribution.

    Examples
    --------
    >>> round(float(normal_quantile(0.975)), 2)
    1.96
    """
    from scipy import special

    return special.ndtri(p)


def normal_tail(z: Any) -> Any:
    """Probability that a standard normal value is larger.

    Examples
    --------
    >>> round(float(normal_tail(1.96)), 3)
    0.025
    """
    import numpy as np
    from scipy import special

    return special.ndtr(np.negative(z))


def normal_density(z: Any) -> Any:
    """Density of the standard normal distribution.

    Examples
    --------
    >>> round(float(normal_density(0.0)), 4)
    0.3989
    """
    import numpy as np

    return np.exp(-np.square(z) / 2) / math.sqrt(2 * math.pi)


def f_quantile(p: Any, above: Any, below: Any) -> Any:
    """Quantile of F, a ratio of two mean squares.

    Parameters
    ----------
    p : float or array
        Probability below it.
    above, below : float or array
        Degrees of freedom of the numerator and of the denominator.

    Examples
    --------
    >>> round(float(f_quantile(0.95, 2, 10)), 2)
    4.1
    """
    from scipy import special

    return special.fdtri(above, below, p)


def f_tail(f: Any, above: Any, below: Any) -> Any:
    """Probability that F is larger; 1 for less than 0.

    Examples
    --------
    >>> round(float(f_tail(4.1028, 2, 10)), 3)
    0.05
    """
    import numpy as np
    from scipy import special

    return special.fdtrc(above, below, np.maximum(f, 0.0))


def chi_square_quantile(p: Any, freedom: Any) -> Any:
    """Quantile of chi-square.

    Examples
    --------
    >>> round(float(chi_square_quantile(0.95, 3)), 3)
    7.815
    """
    import numpy as np
    from scipy import special

    return 2 * special.gammaincinv(np.asarray(freedom) / 2, p)
