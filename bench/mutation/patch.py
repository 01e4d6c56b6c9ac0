"""Breaks functions that are imported already, by giving them the code of a mutant."""

import gc
from pathlib import Path
from types import CodeType, FunctionType

__all__ = ["Functions"]

_Key = tuple[str, str, int]


class Functions:
    """The living functions of a package, by file, name and first line."""

    def __init__(self, package: Path) -> None:
        self._known: dict[_Key, list[FunctionType]] = {}
        for one in gc.get_objects():
            if isinstance(one, FunctionType) and one.__code__.co_filename.startswith(f"{package}/"):
                self._known.setdefault(_key(one.__code__), []).append(one)

    def patch(self, code: CodeType) -> int:
        """Give each function its code in this module's code; how many changed.

        Raises ValueError where a function closes over other names than before.
        """
        changed = 0
        for constant in code.co_consts:
            if not isinstance(constant, CodeType):
                continue
            for function in self._known.get(_key(constant), ()):
                if function.__code__ != constant:
                    function.__code__ = constant
                    changed += 1
            changed += self.patch(constant)
        return changed


def _key(code: CodeType) -> _Key:
    return code.co_filename, code.co_qualname, code.co_firstlineno
