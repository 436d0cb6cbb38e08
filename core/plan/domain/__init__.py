from core.plan.domain.table import TableDomain

__all__ = ["TableDomain"]
