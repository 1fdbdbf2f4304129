"""Writes crates/meno/tests/goldens/dirichlet.json: special functions and Dirichlet entropies to the last digit.

Run from the root of the repository, with mpmath 1.3.0, numpy 2.4, scipy 1.17 and torch 2.x:

    python scripts/goldens/dirichlet_goldens.py    # two minutes

All numbers are computed by mpmath from the textbook formulas, with 60 digits (1500 where concentrations lie beyond
e^-40..e^40, because the textbook formulas cancel). Where SciPy and PyTorch can represent the numbers, the script fails
if theirs differ by more than their own rounding: gammaln, psi and polygamma at every point, dirichlet.entropy and the
entropy and its autograd gradient by torch.distributions for concentrations from e^-7 to e^9.

Inputs are strings, so that no JSON reader rounds them. A special function is [x, ln Gamma, psi, psi'], in "at_exp" of
e^x. A case has ln_alpha and its numbers; "gradient" (by alpha) only for short rows, "log_gradient" (by ln alpha)
always. "scale" and "log_scale" are the larger of the two terms of each derivative, the unit of its rounding. What no
f64 can hold is the largest f64 with its sign.
"""

import json
import math
import random
import warnings

import numpy as np
import torch
from mpmath import digamma, exp, log, loggamma, mp, mpf, psi
from scipy import special, stats

PATH = "crates/meno/tests/goldens/dirichlet.json"
LARGEST = np.finfo(float).max
ROOT = 1.4616321449683623
random.seed(3)
warnings.simplefilter("error")


def number(x):
    """The nearest f64, the largest instead of infinity."""
    if abs(x) > LARGEST:
        return math.copysign(LARGEST, x)
    return float(x)


def close(ours, theirs, tolerance, scale, what):
    if abs(ours - theirs) > tolerance * max(scale, abs(ours)):
        raise SystemExit(f"{what}: {ours} here, {theirs} there")


def special_row(text, x):
    values = [number(loggamma(x)), number(digamma(x)), number(psi(1, x))]
    as_float = float(x)
    if 1e-150 < as_float < 1e150:
        theirs = special.gammaln(as_float), special.psi(as_float), special.polygamma(1, as_float)
        # An x that stands for e^l is itself rounded: half a unit in the last place, times x psi(x) and so on.
        spread = as_float * 2e-16
        scales = [1 + spread * abs(values[1]) * 1e13, 1 + spread * values[2] * 1e13, spread * 1e13 * 3 * values[2] / as_float]
        for ours, their, scale, name in zip(values, theirs, scales, ["ln_gamma", "digamma", "trigamma"]):
            close(ours, float(their), 1e-13, scale, f"{name}({text})")
    return [text, *values]


def specials():
    mp.dps = 60
    xs = [10.0 ** (k / 8) for k in range(-96, 97)]
    xs += [1e-300, 1e-200, 1e-100, 1e-50, 1e-20, 1e20, 1e50, 1e100, 1e200, 1e300]
    xs += [k / 8 for k in range(1, 100)] + [float(k) for k in range(13, 25)]
    for centre in [1.0, 2.0, ROOT]:
        xs += [centre, np.nextafter(centre, 0), np.nextafter(centre, 9)]
        xs += [centre + sign * 10.0**-k for k in range(1, 16, 2) for sign in (-1, 1)]
    for edge in [0.5, 1.5, 2.5, 3.0, 8.0, ROOT - 0.125, ROOT + 0.125]:
        xs += [edge, np.nextafter(edge, 0), np.nextafter(edge, 9)]
    return [special_row(repr(float(x)), mpf(float(x))) for x in sorted(set(map(float, xs)))]


def specials_at_exp():
    mp.dps = 60
    ls = [float(k) for k in range(-690, 691, 30)] + [k / 4 for k in range(-20, 21)]
    ls += [700.0, -700.0, 690.7755278982137, -690.7755278982137, 354.5, -354.5, -355.5, 1e-9, -1e-9, 1e-15, 0.4, -0.4]
    ls += [math.log(2.0), math.log(ROOT), math.log(8.0), math.log(0.5)]
    return [special_row(repr(l), exp(mpf(l))) for l in sorted(set(ls))]


def entropy(alpha):
    k, alpha0 = len(alpha), sum(alpha)
    ln_beta = sum(map(loggamma, alpha)) - loggamma(alpha0)
    return ln_beta + (alpha0 - k) * digamma(alpha0) - sum((a - 1) * digamma(a) for a in alpha)


def case(ln_alpha):
    """`ln_alpha` as strings."""
    floats = [float(l) for l in ln_alpha]
    mp.dps = 60 if max(map(abs, floats)) <= 40 else 1500
    alpha = [exp(mpf(l)) for l in floats]
    k, alpha0 = len(alpha), sum(alpha)
    if k == 1:
        return {"ln_alpha": ln_alpha, "entropy": 0.0, "plus_one": 0.0, "of_mean": 0.0, "expected": 0.0,
                "information": 0.0, "log_gradient": [0.0], "log_scale": [0.0]}
    at_alpha0 = (alpha0 - k) * psi(1, alpha0)
    gradient = [at_alpha0 - (a - 1) * psi(1, a) for a in alpha]
    # With g' = 1 - (x - 1) psi', the derivative is g'(alpha_i) - (1 - at_alpha0).
    scale = [max(abs(1 - (a - 1) * psi(1, a)), abs(1 - at_alpha0)) for a in alpha]
    p = [a / alpha0 for a in alpha]
    of_mean = -sum(q * log(q) for q in p)
    expected = digamma(alpha0 + 1) - sum(q * digamma(a + 1) for q, a in zip(p, alpha))
    out = {
        "ln_alpha": ln_alpha,
        "entropy": number(entropy(alpha)),
        "plus_one": number(entropy([a + 1 for a in alpha])),
        "of_mean": number(of_mean),
        "expected": number(expected),
        "information": number(of_mean - expected),
        "log_gradient": [number(a * g) for a, g in zip(alpha, gradient)],
        "log_scale": [float(f"{number(a * s):.2e}") for a, s in zip(alpha, scale)],
    }
    if k <= 8:
        out["gradient"] = [number(g) for g in gradient]
        out["scale"] = [min(float(f"{number(s):.2e}"), LARGEST) for s in scale]
    if -7 <= min(floats) and max(floats) <= 9:
        cross_check(out, floats, float(alpha0), [float(a * g) for a, g in zip(alpha, gradient)])
    return out


def cross_check(out, ln_alpha, alpha0, log_gradient):
    alpha = np.exp(np.array(ln_alpha))
    # Both libraries add terms of the size alpha0 ln alpha0, psi at tiny arguments and their rounding.
    size = 1 + alpha0 * (1 + abs(math.log(alpha0))) + sum(1 / alpha) + len(alpha)
    close(out["entropy"], stats.dirichlet.entropy(alpha), 1e-14, size, "scipy.stats.dirichlet.entropy")
    tensor = torch.tensor(ln_alpha, dtype=torch.float64, requires_grad=True)
    theirs = torch.distributions.Dirichlet(tensor.exp()).entropy()
    close(out["entropy"], theirs.item(), 1e-13, size, "torch Dirichlet.entropy")
    theirs.backward()
    for ours, their in zip(log_gradient, tensor.grad.tolist()):
        # The trigamma of PyTorch 2.x is right to 5e-10 only, worst around 1.
        close(ours, their, 1e-9, size, "torch autograd")
    close(out["of_mean"], stats.entropy(alpha / alpha.sum()), 1e-12, 1, "scipy.stats.entropy")
    global n_cross_checked
    n_cross_checked += 1


def rows():
    def texts(values):
        return [f"{v:.3f}".rstrip("0").rstrip(".") for v in values]

    def uniform(k, low, high):
        return texts(random.uniform(low, high) for _ in range(k))

    yield from (["0"], ["16"], ["-19"], ["700"], ["-700"])
    for k in [2, 3, 10, 120]:
        for l in [-27.5, -9, -0.01, 0, 0.01, 2, 9, 27.5]:
            yield texts([l] * k)
    sizes = [2, 2, 2, 3, 3, 4, 5, 7, 8, 12, 20, 33, 72]
    for k in sizes * 2:
        yield uniform(k, -19, 16)
        yield uniform(k, -27.63, 27.63)
        yield uniform(k, -7, 9)
    for k in sizes:
        yield uniform(k, 15, 27.63)
        yield uniform(k, -27.63, -15)
        yield uniform(k, -2, 2)
    # One label far above all others, as a trained tagger is on a word it knows.
    for k in [2, 3, 8, 20, 120, 120]:
        yield texts([random.uniform(8, 16)] + [random.uniform(-19, -3) for _ in range(k - 1)])
    yield from (["27.6", "-27.6"], ["16", "-19"], ["-27", "27", "0"], ["2.079", "2.08"], ["1.098", "1.099", "-19"])
    for k in [2, 2, 3, 4]:
        yield uniform(k, -700, 700)
        yield uniform(k, 600, 700)
        yield uniform(k, -700, -600)
    yield from (["690.7755278982137", "-690.7755278982137"], ["-690.7755278982137"] * 2, ["690.7755278982137"] * 2)
    yield from (["700", "-700"], ["700"] * 3, ["-700"] * 3, ["-350", "-350.5"], ["0", "-700"], ["0", "700"])


n_cross_checked = 0
goldens = {"special": specials(), "at_exp": specials_at_exp(), "cases": [case(row) for row in rows()]}
with open(PATH, "w", encoding="utf-8") as file:
    lines = []
    for name, items in goldens.items():
        body = ",\n".join(json.dumps(item, separators=(",", ":")) for item in items)
        lines.append(f'"{name}":[\n{body}\n]')
    file.write("{\n" + ",\n".join(lines) + "\n}\n")
print({name: len(items) for name, items in goldens.items()}, "cross-checked rows:", n_cross_checked)
