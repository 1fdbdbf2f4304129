"""Writes crates/meno/src/dirichlet/tables.rs: the constants of the special functions.

Run from the root of the repository, with mpmath 1.3.0 (pip install mpmath==1.3.0):

    python scripts/goldens/dirichlet_tables.py && cargo fmt

Every constant is computed with 60 digits and rounded once. The polynomials interpolate at Chebyshev nodes; the script
fails if one is further from its function than 1e-16.
"""

from mpmath import bernoulli, cos, digamma, findroot, linspace, log, loggamma, mp, mpf, pi, polyval, psi, zeta

mp.dps = 60
PATH = "crates/meno/src/dirichlet/tables.rs"
N_COEFFICIENTS = 24
PIECES = [(0, 1), (1, 3), (3, 8)]


def smooth(x):
    """g(x) + ln x + 1/x, which has no singularity right of -1."""
    return 1 + x + loggamma(1 + x) + (1 - x) * digamma(1 + x)


def interpolate(f, low, high, n):
    """Coefficients in t = (x - centre) / half-width, the constant first."""
    centre, half = mpf(low + high) / 2, mpf(high - low) / 2
    angles = [pi * (2 * k + 1) / (2 * n) for k in range(n)]
    values = [f(centre + half * cos(angle)) for angle in angles]
    chebyshev = [2 * sum(v * cos(j * a) for v, a in zip(values, angles)) / n for j in range(n)]
    chebyshev[0] /= 2
    before, now = [mpf(1)], [mpf(0), mpf(1)]
    out = [mpf(0)] * n
    for c in chebyshev:
        for k, b in enumerate(before):
            out[k] += c * b
        doubled = [mpf(0)] + [2 * b for b in now]
        before, now = now, [d - (before[k] if k < len(before) else 0) for k, d in enumerate(doubled)]
    worst = max(abs(polyval(out[::-1], t) - f(centre + half * t)) for t in linspace(-1, 1, 401))
    assert worst < 1e-16, (low, high, worst)
    return out


def array(values):
    return "[" + ", ".join(repr(float(v)) for v in values) + "]"


root = findroot(digamma, mpf("1.4616"))
root_high = float(root)
lines = [
    "//! Constants of the special functions, written by `scripts/goldens/dirichlet_tables.py`.",
    "",
    "/// Half the logarithm of 2 pi.",
    f"pub(super) const HALF_LN_2_PI: f64 = {float(log(2 * pi) / 2)!r};",
    "",
    "/// The Bernoulli numbers B2, B4, ..., B22.",
    f"pub(super) const BERNOULLI: [f64; 11] = {array(bernoulli(2 * k) for k in range(1, 12))};",
    "",
    "/// The series of ln Gamma(2 + z) / z in z: 1 - gamma, then (-1)^k (zeta(k) - 1) / k for k = 2, 3, ...",
    "pub(super) const LN_GAMMA_AT_2: [f64; 27] = "
    + array([1 - mp.euler] + [(-1) ** k * (zeta(k) - 1) / k for k in range(2, 28)]) + ";",
    "",
    "/// The zero of psi: the nearest number and what is left.",
    f"pub(super) const DIGAMMA_ROOT: [f64; 2] = {array([root_high, root - mpf(root_high)])};",
    "",
    "/// The series of psi(root + z) / z in z.",
    "pub(super) const DIGAMMA_AT_ROOT: [f64; 17] = "
    + array(psi(k, root) / mp.factorial(k) for k in range(1, 18)) + ";",
    "",
    "/// Coefficients of a polynomial in `t = (x - centre) * scale`, the constant first.",
    "pub(super) struct Piece {",
    "    pub(super) below: f64,",
    "    pub(super) centre: f64,",
    "    pub(super) scale: f64,",
    f"    pub(super) coefficients: [f64; {N_COEFFICIENTS}],",
    "}",
    "",
    "/// g(x) + ln x + 1/x, each piece from where the one before it ends.",
    f"pub(super) const PIECES: [Piece; {len(PIECES)}] = [",
]
for low, high in PIECES:
    lines.append(
        f"Piece {{ below: {float(high)}, centre: {(low + high) / 2!r}, scale: {2 / (high - low)!r}, "
        f"coefficients: {array(interpolate(smooth, low, high, N_COEFFICIENTS))} }},"
    )
lines.append("];")
with open(PATH, "w", encoding="utf-8") as file:
    file.write("\n".join(lines) + "\n")
