"""A check for mode collapse before a generator is released: do its draws vary as the noisy counts, or the domain, say?

Only released things are read: the generator, the anchor's noisy counts and the declared domain. So the check is
post-processing and costs no privacy. Its randomness is a keyed stream of a public key, so a resumed job finds the same.
The sources of the limits below are docs/idpgan.md and benchmarks/results/degenerate.json.
"""

import math
from hashlib import blake2b
from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from core.artifacts.sampling.generator_check import GeneratorCheck
from core.plan.domain.columns.kinds import LabelColumn, Modelled
from core.plan.domain.declared import Domain
from core.plan.domain.images import ImageDomain
from models.idpgan.variety import DRAWS
from models.randomness import KeyedStreams, Purpose
from models.sampled import Integers, outputs, records_of, uniforms_wanted
from models.synthesizer import NoisyVariety, TrainedGenerator, TrainedImageGenerator

PUBLIC_KEY: Final = b"understudy: check of a generator"
LOST: Final = 0.1
"""The variety is lost below this share of what the noisy counts are sure of."""
LEAST_SPREAD: Final = 0.02
"""Smallest share of records off a column's most common value whose loss is reported."""
CONSTANT: Final = 0.002
"""A column of which nothing is known counts as constant below this share of draws off its most common value."""
FEW: Final = 0.02
"""Without an anchor, records repeat below this share of the combinations of the declared domain."""
FEWEST_OF_LABEL, FEWEST_IMAGES_OF_LABEL = 100, 20
"""A label with fewer draws is not judged."""
ALIKE: Final = 2.0 / 255.0
"""Two shrunken images are alike below this root mean squared distance."""
_SHRUNK: Final = 16
_COMPARED: Final = 500
_SHADES: Final = 255.0
_MOST_ALIKE: Final = 0.5
_ALL_DIFFER: Final = 2**52

Shares = npt.NDArray[np.float64]


def check_generator(generator: TrainedGenerator | TrainedImageGenerator, domain: Domain) -> GeneratorCheck:
    """Draw records or images and compare them with what is known."""
    generator.network.eval().float().cpu()
    streams = KeyedStreams(PUBLIC_KEY)
    if isinstance(generator, TrainedImageGenerator):
        assert isinstance(domain, ImageDomain), "images are declared as images"
        return _images(generator, domain, streams)
    assert not isinstance(domain, ImageDomain), "a table is declared as one"
    return _table(generator, domain.coded, streams)


def _table(
    generator: TrainedGenerator, columns: tuple[Modelled, ...], streams: KeyedStreams
) -> GeneratorCheck:
    sizes, target = generator.cardinalities, generator.label_index
    pieces = []
    for number, (_labels, logits) in enumerate(
        outputs(generator, streams, Purpose.GENERATOR_CHECK, rows=DRAWS)
    ):
        wanted = (len(logits), uniforms_wanted(generator))
        uniforms = streams.torch_uniforms(Purpose.GENERATOR_CHECK, 2 + number, wanted)
        pieces.append(records_of(generator, logits, uniforms))
    records = np.concatenate(pieces)
    distinct = len(np.unique(records, axis=0))
    spread = _spreads(records, sizes)
    variety = generator.variety
    if variety is None:
        constant = [column for column, size in enumerate(sizes) if size > 1 and spread[column] == 0]
        few = distinct < FEW * _declared_combinations(sizes)
    else:
        constant = _constant(spread, variety, sizes)
        few = distinct < LOST * variety.combinations
    repeated = [] if target is None else _repeated(records, sizes, target, variety)
    return GeneratorCheck(
        draws=DRAWS,
        distinct_records=distinct,
        constant_columns=tuple(columns[column].name for column in constant),
        repeated_labels=tuple(_label(columns[target], code) for code in repeated)
        if target is not None
        else (),
        few_records=few,
    )


def _spreads(records: Integers, sizes: tuple[int, ...]) -> Shares:
    """Share of the records that do not have their column's most common value; (columns,)."""
    most = [np.bincount(records[:, column], minlength=size).max() for column, size in enumerate(sizes)]
    return 1.0 - np.array(most) / len(records)


def _constant(spread: Shares, variety: NoisyVariety, sizes: tuple[int, ...]) -> list[int]:
    """Columns that lost what the noisy counts are sure of, or are constant where these say nothing and several codes are declared."""
    lost = (variety.spread >= LEAST_SPREAD) & (spread < LOST * variety.spread)
    unknown = variety.is_open & (spread < CONSTANT) & (np.array(sizes) > 1)
    return [int(column) for column in np.flatnonzero(lost | unknown)]


def _declared_combinations(sizes: tuple[int, ...]) -> float:
    """Number of distinct records among `DRAWS` uniform draws of the declared domain.

    Wide domains have more combinations than a float holds; so many more than draws that all draws differ.
    """
    combinations = math.prod(sizes)
    if combinations == 1:
        return 1.0
    if combinations > _ALL_DIFFER:
        return float(DRAWS)
    return -combinations * math.expm1(DRAWS * math.log1p(-1.0 / combinations))


def _repeated(
    records: Integers, sizes: tuple[int, ...], target: int, variety: NoisyVariety | None
) -> list[int]:
    """Labels of which every column lost its variety; without an anchor, of which all records are the same."""
    found = []
    for label in range(sizes[target]):
        own = records[records[:, target] == label]
        if len(own) < FEWEST_OF_LABEL:
            continue
        spread = _spreads(own, sizes)
        if variety is None or variety.spread_within is None:
            rest = [size for column, size in enumerate(sizes) if column != target]
            repeats = math.prod(rest) > 1 and not spread.any()
        else:
            known = variety.spread_within[label] >= LEAST_SPREAD
            repeats = bool(known.any() and (spread < LOST * variety.spread_within[label])[known].all())
        if repeats:
            found.append(label)
    return found


def _label(column: Modelled, code: int) -> str:
    if isinstance(column, LabelColumn) and code < len(column.words):
        return column.words[code]
    return "missing" if code == column.null_code else f"code {code}"


def _images(generator: TrainedImageGenerator, domain: ImageDomain, streams: KeyedStreams) -> GeneratorCheck:
    labels, shrunk, seen = [], [], set[bytes]()
    for classes, images in outputs(generator, streams, Purpose.GENERATOR_CHECK, rows=DRAWS):
        shown = torch.round(torch.nan_to_num(images.float().clamp(0.0, 1.0)) * _SHADES)
        seen.update(
            blake2b(image.tobytes(), digest_size=16).digest() for image in shown.to(torch.uint8).numpy()
        )
        small = (min(images.shape[2], _SHRUNK), min(images.shape[3], _SHRUNK))
        shrunk.append(nn.functional.adaptive_avg_pool2d(shown / _SHADES, small).flatten(start_dim=1))
        labels.append(classes)
    made, label_of = torch.cat(shrunk), np.concatenate(labels)
    repeated = [
        label
        for label in range(max(1, len(domain.labels)))
        if (label_of == label).sum() >= FEWEST_IMAGES_OF_LABEL
        and _alike(made[torch.from_numpy(label_of == label)], label, generator.spread_within)
    ]
    return GeneratorCheck(
        draws=DRAWS,
        distinct_records=len(seen),
        repeated_labels=tuple(domain.labels[label] for label in repeated if domain.labels),
        few_records=bool(repeated) and not domain.labels,
    )


def _alike(images: Tensor, label: int, spread_within: Shares | None) -> bool:
    """Whether images of one label lost the variety that the anchor describes; without one, whether most have a twin."""
    if spread_within is not None:
        spread = float((images - images.mean(dim=0)).square().mean().sqrt())
        return spread < LOST * float(spread_within[label])
    compared = images[:_COMPARED]
    distances = torch.cdist(compared, compared).fill_diagonal_(math.inf) / math.sqrt(images.shape[1])
    return float((distances.amin(dim=1) < ALIKE).float().mean()) > _MOST_ALIKE
