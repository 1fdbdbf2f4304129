"""Goldens of the calibration and its entropy loss, from PyTorch in double precision.

    python scripts/goldens/calibration_goldens.py

writes crates/meno/tests/goldens/calibration.json. Needs torch.
"""

import json
from pathlib import Path

import torch

OUT = Path(__file__).resolve().parents[2] / "crates/meno/tests/goldens/calibration.json"


def calibrated_entropy(logits, matrix, delta, scale):
    """The entropies of the words; `matrix[i][j]` is what label j takes from label i."""
    alpha = scale * logits.exp()
    eps = alpha @ torch.relu(matrix).T
    largest = eps.amax(dim=1, keepdim=True)
    bound = delta * alpha.amax(dim=1, keepdim=True)
    eps = torch.where(largest > bound, eps * bound / largest, eps)
    left = torch.maximum(alpha - eps, 0.1 * alpha)
    return torch.distributions.Dirichlet(left, validate_args=False).entropy()


def case(seed, n_words, n_labels, spread, off_diagonal, delta, scale):
    random = torch.Generator().manual_seed(seed)

    def uniform(*shape):
        # Numbers that `f32` holds exactly.
        return (torch.rand(*shape, generator=random, dtype=torch.float32) * 2 - 1).double()

    logits = (uniform(n_words, n_labels) * spread).float().double().requires_grad_()
    matrix = uniform(n_labels, n_labels) * off_diagonal
    matrix += torch.diag(0.05 + 0.04 * uniform(n_labels))
    matrix = matrix.float().double().requires_grad_()
    entropy = calibrated_entropy(logits, matrix, delta, scale)
    entropy.mean().neg().backward()
    return {
        "delta": delta,
        "scale": scale,
        "logits": logits.tolist(),
        "matrix": matrix.tolist(),
        "entropy": entropy.tolist(),
        "d_logits": logits.grad.tolist(),
        "d_matrix": matrix.grad.tolist(),
    }


def main():
    cases = {
        # What is taken away stays inside the ball.
        "inside": case(1, 3, 5, 1.0, 0.0, 0.5, 1.0),
        # It is scaled down to the ball, but nothing is held back.
        "scaled": case(2, 4, 6, 0.3, 0.05, 0.05, 1.0),
        # Small concentrations are held back at a tenth.
        "held back": case(3, 4, 18, 3.0, 0.05, 0.1, 2.0),
        # As a trained tagger is: one label far above the others.
        "trained": case(4, 5, 17, 8.0, 0.001, 0.1, 1.0),
    }
    OUT.write_text(json.dumps(cases, indent=1) + "\n")


if __name__ == "__main__":
    main()
