from core.domain.table import TableDomain

__all__ = ["TableDomain"]
