"""Published figures of others, shown beside our measurements; ours are never adjusted to them.

The paper is Fang et al., Acta Electronica Sinica 48(10), 2020, tables 1 to 4. Its epsilon is not a valid guarantee
(docs/idpgan.md), its faces are CelebA at 48x48, ours are others at 32x32. The best published figures are of methods
without public data, with valid accounting, as this project's design gathered them in 2026: generative adversarial
networks ("GAN") and any method at all (diffusion with a warm start).
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """Accuracy of the convolutional classifier at one epsilon; None where nothing is known or wanted.

    Args:
        paper: what the paper claims for IDPGAN.
        gan: best published private GAN.
        best: best published method.
        bar: what this project set out to reach.
        hoped: what it hoped for.
    """

    paper: float | None = None
    gan: float | None = None
    best: float | None = None
    bar: float | None = None
    hoped: float | None = None


ACCURACY: dict[tuple[str, float], Bars] = {
    ("mnist", 1.0): Bars(paper=0.858, gan=0.924, best=0.971, bar=0.935, hoped=0.97),
    ("mnist", 2.0): Bars(paper=0.927),
    ("mnist", 4.0): Bars(paper=0.961, bar=0.961, hoped=0.975),
    ("mnist", 8.0): Bars(paper=0.973),
    ("mnist", 10.0): Bars(gan=0.950, best=0.981, bar=0.965, hoped=0.981),
    ("fashion_mnist", 1.0): Bars(gan=0.718, best=0.823, bar=0.73, hoped=0.82),
    ("fashion_mnist", 10.0): Bars(gan=0.703, best=0.873, bar=0.80, hoped=0.87),
    ("faces", 10.0): Bars(bar=0.85, hoped=0.92),
}

PAPER_ROWS: dict[str, list[tuple[str, str, str, str]]] = {
    "mnist": [
        ("real data", "", "99.6 %", "9.96 ± 0.03"),
        ("WGAN-GP, not private", "", "97.9 %", "9.21 ± 0.03"),
        ("DPGAN", "4", "94.2 %", "8.64 ± 0.03"),
        ("GANobfuscator", "4", "95.4 %", "8.89 ± 0.02"),
        ("DPACGAN", "4", "94.7 %", "8.81 ± 0.03"),
        ("IDPGAN", "1", "85.8 %", ""),
        ("IDPGAN", "2", "92.7 %", "8.56 ± 0.02"),
        ("IDPGAN", "4", "96.1 %", "8.93 ± 0.03"),
        ("IDPGAN", "8", "97.3 %", "8.96 ± 0.03"),
    ],
}
"""The paper's tables 1 and 3: method, its epsilon at delta 1e-5, accuracy of the CNN, inception score."""

PAPER_FACES: list[tuple[str, str, str]] = [
    ("WGAN-GP, not private", "", "0.09 ± 0.01"),
    ("DPGAN", "10", "0.29 ± 0.01"),
    ("GANobfuscator", "10", "0.26 ± 0.01"),
    ("DPACGAN", "10", "0.24 ± 0.01"),
    ("IDPGAN", "3", "0.42 ± 0.02"),
    ("IDPGAN", "6", "0.30 ± 0.01"),
    ("IDPGAN", "10", "0.21 ± 0.01"),
]
"""The paper's table 2, on CelebA: method, its epsilon at delta 1e-5, "JS divergence" (a symmetrised one)."""
