import numpy as np

from benchmarks.images.classifiers import Recipe
from benchmarks.images.discriminator import separate
from benchmarks.images.scores import jensen_shannon_bound, symmetrised_kl
from tests.benchmarks.images.pictures import squares

QUICK = Recipe(epochs=2, batch=16)


def test_images_of_two_distributions_are_distinguished_and_of_one_distribution_are_not():
    real, unseen = squares(160, seed=1), squares(80, seed=2)
    same = separate(real, squares(240, seed=3), unseen=unseen, seed=0, recipe=QUICK)
    brighter = squares(240, seed=3)
    brighter.pixels[...] = np.minimum(brighter.pixels.astype(int) + 70, 255)
    other = separate(real, brighter, unseen=unseen, seed=0, recipe=QUICK)
    assert len(same.real) == len(same.made) == 80
    assert 0.3 < same.accuracy < 0.7
    assert other.accuracy > 0.95
    assert symmetrised_kl(other.made) > 10 * symmetrised_kl(same.made)
    assert jensen_shannon_bound(same.real, same.made) < 0.1 < jensen_shannon_bound(other.real, other.made)
