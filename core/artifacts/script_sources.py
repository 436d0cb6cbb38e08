"""Parts of the scripts in bundles: modules of this package as they are, and data as Python literals."""

import inspect
import json
import re
from types import ModuleType
from typing import Final

_OWN_IMPORTS: Final = re.compile(r"^from core\.\S+ import (?:\([^)]*\)|[^(\n]*)\n", re.MULTILINE)


def source_of(module: ModuleType) -> str:
    """The source of a module without its imports from this package."""
    # Not by ast: where two threads of Python 3.11 parse at once, one can end in a SystemError.
    return _OWN_IMPORTS.sub("", inspect.getsource(module))


def literal(document: object) -> str:
    """A JSON text as a Python literal: no declared word can end it."""
    return repr(json.dumps(document, sort_keys=True, ensure_ascii=True))
