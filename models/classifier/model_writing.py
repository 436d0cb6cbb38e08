"""Export: a trained classifier becomes the files of a bundle (the format is core.artifacts.private_models.bundle)."""

from typing import Any

from core.artifacts.private_models.bundle import ModelBundle, ModelManifest
from core.plan.domain.images import ImageDomain
from core.plan.domain.table import TableDomain
from core.plan.private_models.plan import ModelPlan
from models.bundle import weights_bytes
from models.classifier.private_training import TrainedClassifier
from models.classifier.scattering import ScatteringTransform


def model_bundle(
    trained: TrainedClassifier,
    plan: ModelPlan,
    domain: TableDomain | ImageDomain,
    *,
    certificate: dict[str, Any],
) -> ModelBundle:
    """Return the bundle of a release; its certificate is a child's report before it is made."""
    # Imports onnx; see models.bundle.
    from models.classifier.classifier_onnx import image_model, table_model

    if isinstance(domain, ImageDomain):
        shape = (domain.height, domain.width, domain.channels)
        transform = ScatteringTransform(shape) if plan.options.features == "scattering" else None
        model = image_model(trained.network, shape=shape, classes=plan.classes, transform=transform)
        manifest = ModelManifest(target=plan.target, classes=plan.classes, image=shape, cardinalities=())
    else:
        read = tuple(
            codes for place, codes in enumerate(domain.cardinalities) if place != domain.target_index
        )
        model = table_model(trained.network, cardinalities=read, classes=plan.classes)
        manifest = ModelManifest(target=plan.target, classes=plan.classes, image=None, cardinalities=read)
    return ModelBundle(
        manifest=manifest,
        model=model,
        weights=weights_bytes(trained.network),
        domain=domain.to_json(),
        certificate=certificate,
    )
