"""A certificate whose plan states less than it costs agrees with itself everywhere, and is refused all the same."""

from dataclasses import replace

import pytest

from core.artifacts.certificate import sign_certificate, verify_certificate
from core.artifacts.errors import InvalidCertificate
from core.dp.accountant import Epsilons
from tests.core.artifacts.certified import SIGNER, certified, statement


@pytest.mark.parametrize(("stated", "honest"), [(0.5, False), (1.0, True)])
def test_a_forged_epsilon_is_refused_although_all_of_it_fits(stated, honest):
    plan = certified().plan
    forged = replace(plan, epsilons=Epsilons(pld=stated * plan.epsilons.pld, rdp=stated * plan.epsilons.rdp))
    artefacts = {"artefacts": certified().certificate["artefacts"]}
    document = sign_certificate(statement(forged) | artefacts, SIGNER).to_json()
    if honest:
        assert verify_certificate(document) == plan.epsilons
        return
    with pytest.raises(InvalidCertificate, match="above what the certificate states"):
        verify_certificate(document)
