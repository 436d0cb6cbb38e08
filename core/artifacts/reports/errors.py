"""Errors of reports that compare synthetic rows with real ones.

UnderstudyError
  * InvalidInput
    x ReportTargetUnknown       422  the named column is not modelled
    x ReportForTablesOnly       422  the generator whose plot is asked for makes images
    x ReportNotForModels        422  the release is a private model
"""

from core.errors import InvalidInput


class ReportTargetUnknown(InvalidInput):
    """The column to predict is not one of the modelled columns."""

    code = "report-target-unknown"
    title = "No such column to predict"
    default_remedy = "Name a column of the domain that is neither ignored nor the privacy unit, or none."
    default_detail = "The target is not a modelled column of the domain."


class ReportForTablesOnly(InvalidInput):
    """The generator makes images; plots of the local library show tables."""

    code = "report-for-tables-only"
    title = "Plots show tables only"
    default_remedy = "Draw images and look at them; a service makes owner reports of images, too."
    default_detail = "Plots of the local library show the columns of tables; this generator makes images."


class ReportNotForModels(InvalidInput):
    """The release is a private model, which draws no rows."""

    code = "report-not-for-models"
    title = "There are no owner reports of private models"
    default_remedy = "Read the noisy error rate on the model's certificate, or try its predictions on rows that you hold back."
    default_detail = "An owner report compares synthetic rows with real ones; a private model draws none."
