"""Make digits.npz from the copy that scikit-learn carries (``pip install scikit-learn``; not needed otherwise)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits  # type: ignore[import-untyped]

if __name__ == "__main__":
    bunch = load_digits()
    images = bunch.images.astype(np.uint8)  # (1797, 8, 8), whole numbers from 0 to 16
    labels = bunch.target.astype(np.uint8)  # (1797,), 0 to 9
    assert (images == bunch.images).all(), "the source holds whole numbers, so nothing is lost"
    np.savez_compressed(Path(__file__).with_name("digits.npz"), images=images, labels=labels)
