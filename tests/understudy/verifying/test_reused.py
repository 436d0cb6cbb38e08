"""The verifier's look at what a plan takes over: the noise of its counts follows from the plan, and nothing else passes."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from core.releases.certificate import sign_certificate
from core.synthesis.plan import Plan
from core.synthesis.reusing import EarlierCounts, with_reuse
from models.idpgan.counts import count_tables
from models.idpgan.measurement import layout_of, measure
from models.randomness import KeyedStreams
from tests.core.releases.certified import SIGNER, Certified, cardinalities, certified_plan, plan_for
from tests.core.synthesis.shapes import Shape
from tests.understudy.verifying.tampering import files_in, resigned
from understudy.verifying.verification import Outcome, verify_bundle
