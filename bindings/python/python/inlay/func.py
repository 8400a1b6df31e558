"""Words for functions written in Python."""

from inlay._kinds import FunctionNullHandling, PythonUDFType

DEFAULT = FunctionNullHandling.DEFAULT
SPECIAL = FunctionNullHandling.SPECIAL
NATIVE = PythonUDFType.NATIVE
ARROW = PythonUDFType.ARROW

__all__ = ["ARROW", "DEFAULT", "NATIVE", "SPECIAL", "FunctionNullHandling", "PythonUDFType"]
