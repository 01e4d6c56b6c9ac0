"""The mutants of a source file, named so that moving a line does not rename them."""

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

from bench.mutation.operators import broken, sole

__all__ = ["Mutant", "blocks", "compiled", "mutants"]

_SKIPPED = {"annotation", "returns", "decorator_list", "bases"}
_COSMETIC = ast.JoinedStr | ast.Subscript | ast.Import | ast.ImportFrom
_DEFINITION = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one file.

    `block` is the first line of the innermost list of statements inside a function; 0 for what runs
    when the module is imported.
    """

    id: str
    file: str
    line: int
    block: int
    function: str
    operator: str
    before: str
    after: str
    index: int


@dataclass(frozen=True, slots=True)
class _Slot:
    parent: ast.AST
    field: str
    at: int
    block: int
    function: str
    node: ast.AST

    def put(self, node: ast.AST) -> None:
        if self.at < 0:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.at] = node


def mutants(root: Path, file: str) -> list[Mutant]:
    """Every mutant of a file below `root`, in the order of its lines."""
    seen: Counter[str] = Counter()
    found: list[Mutant] = []
    for index, (slot, operator, after) in enumerate(_changes(_tree(root / file))):
        before = ast.unparse(slot.node)
        texts = (before, ast.unparse(ast.fix_missing_locations(after)))
        key = "\n".join((file, slot.function, operator, *texts))
        seen[key] += 1
        name = hashlib.sha256(f"{key}\n{seen[key]}".encode()).hexdigest()[:12]
        line = getattr(slot.node, "lineno", slot.block)
        found.append(Mutant(name, file, line, slot.block, slot.function, operator, *texts, index))
    return sorted(found, key=lambda one: (one.line, one.index))


def compiled(root: Path, mutant: Mutant) -> CodeType:
    """The code of the mutant's whole module, with the lines of the file."""
    tree = _tree(root / mutant.file)
    for index, (slot, _, after) in enumerate(_changes(tree)):
        if index == mutant.index:
            slot.put(ast.copy_location(after, slot.node))
            return compile(ast.fix_missing_locations(tree), str(root / mutant.file), "exec")
    raise LookupError(mutant.id)


def blocks(tree: ast.Module) -> list[list[ast.stmt]]:
    """Every list of statements that a mutant can name as its block."""
    found: dict[int, list[ast.stmt]] = {}
    for parent, inside in _parents(tree, inside=False):
        for _, held in ast.iter_fields(parent):
            if inside and _is_block(held):
                found[id(held)] = held
    return list(found.values())


def _parents(node: ast.AST, *, inside: bool) -> Iterator[tuple[ast.AST, bool]]:
    inner = _inside(node, inside)
    yield node, inner
    for child in ast.iter_child_nodes(node):
        yield from _parents(child, inside=inner)


def _inside(node: ast.AST, before: bool) -> bool:  # noqa: FBT001 - the state so far
    if isinstance(node, _DEFINITION):
        return True
    return before and not isinstance(node, ast.ClassDef)


def _is_block(held: object) -> bool:
    return isinstance(held, list) and bool(held) and isinstance(held[0], ast.stmt)


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _changes(tree: ast.Module) -> Iterator[tuple[_Slot, str, ast.AST]]:
    for slot in list(_slots(tree, 0, "")):
        if isinstance(slot.node, ast.stmt) and sole(slot.parent, slot.field):
            continue
        for operator, after in broken(slot.node, (slot.parent, slot.field)):
            yield slot, operator, after


def _slots(parent: ast.AST, block: int, function: str) -> Iterator[_Slot]:
    inside = isinstance(parent, _DEFINITION) or block > 0
    for field, held in ast.iter_fields(parent):
        if field in _SKIPPED or (isinstance(parent, ast.ClassDef) and field == "keywords"):
            continue
        inner = block
        if isinstance(parent, ast.ClassDef) or field == "args":
            inner = 0 if isinstance(parent, ast.ClassDef | _DEFINITION) else block
        elif inside and _is_block(held):
            inner = held[0].lineno
        nodes = held if isinstance(held, list) else [held]
        for at, node in enumerate(nodes):
            if not isinstance(node, ast.stmt | ast.expr | _CARRIERS) or _skipped(node):
                continue
            yield _Slot(parent, field, at if held is nodes else -1, inner, function, node)
            yield from _slots(node, inner, _named(node, function))


_CARRIERS = ast.comprehension | ast.keyword | ast.arguments | ast.ExceptHandler | ast.match_case


def _skipped(node: ast.AST) -> bool:
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING" or "__name__" in ast.unparse(node.test)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id == "field"  # how a dataclass shows and compares
    return isinstance(node, _COSMETIC)


def _named(node: ast.AST, function: str) -> str:
    if isinstance(node, _DEFINITION | ast.ClassDef):
        return f"{function}.{node.name}".lstrip(".")
    return function
