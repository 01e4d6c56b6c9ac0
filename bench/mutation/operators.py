"""What can be broken at one place of a syntax tree: the checks first, cosmetics never."""

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Final

__all__ = ["Place", "broken", "sole"]

Place = tuple[ast.AST, str]
"""The parent of a node and the field of the parent that holds it."""

_SWAPPED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
_NEGATED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_CLAUSES: Final = {"where", "having", "filter"}
_SHAPES: Final = {"order_by", "limit", "distinct"}
_DRESS: Final = {
    "strip", "lstrip", "rstrip", "lower", "upper", "casefold", "translate",
    "removeprefix", "removesuffix",
}  # fmt: skip
_LAST: Final = {"sub", "normalize"}
_LOGS: Final = {"log", "logger", "_log", "_logger", "progress", "console"}

Found = Iterator[tuple[str, ast.AST]]


def broken(node: ast.AST, place: Place) -> Found:
    """Every (operator, node to stand here instead); the given node is left as it is."""
    parent, field = place
    if _is_test(parent, field):
        yield from _decided(node, parent)
    covered = _is_test(parent, field) or isinstance(parent, ast.BoolOp)
    for kind, operator in _BY_NODE:
        if isinstance(node, kind):
            yield from operator(node, covered)


def sole(parent: ast.AST, field: str) -> bool:
    """Whether a statement list of this parent holds one statement, so that dropping it is `if` → no."""
    held = getattr(parent, field)
    return isinstance(parent, ast.If) and isinstance(held, list) and len(held) == 1


def _is_test(parent: ast.AST, field: str) -> bool:
    return (field == "test" and isinstance(parent, ast.If | ast.IfExp | ast.While)) or (
        field in {"ifs", "guard"}
    )


def _decided(node: ast.AST, parent: ast.AST) -> Found:
    if isinstance(node, ast.Constant):
        return
    if not isinstance(parent, ast.While):  # an endless loop tells nothing
        yield "condition is true", ast.Constant(value=True)
    if not isinstance(parent, ast.comprehension):  # an empty result is no finer a break
        yield "condition is false", ast.Constant(value=False)


def _boolean(node: ast.AST, _covered: bool) -> Found:  # noqa: FBT001 - one signature for all
    assert isinstance(node, ast.BoolOp)  # noqa: S101 - narrows
    for index, operand in enumerate(node.values):
        rest = [*node.values[:index], *node.values[index + 1 :]]
        left = rest[0] if len(rest) == 1 else ast.BoolOp(op=node.op, values=rest)
        joint = "and" if isinstance(node.op, ast.And) else "or"
        yield f"{joint} without `{ast.unparse(operand)}`", left


def _comparison(node: ast.AST, covered: bool) -> Found:  # noqa: FBT001
    assert isinstance(node, ast.Compare)  # noqa: S101
    for index, sign in enumerate(node.ops):
        other = _SWAPPED.get(type(sign)) or (None if covered else _NEGATED.get(type(sign)))
        if other is not None:
            signs: Sequence[ast.cmpop] = [*node.ops[:index], other(), *node.ops[index + 1 :]]
            yield (
                "comparison",
                ast.Compare(left=node.left, ops=list(signs), comparators=node.comparators),
            )


def _negation(node: ast.AST, covered: bool) -> Found:  # noqa: FBT001
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and not covered:
        yield "without not", node.operand


def _constant(node: ast.AST, covered: bool) -> Found:  # noqa: FBT001
    if not isinstance(node, ast.Constant) or covered:
        return
    if isinstance(node.value, bool):
        yield "constant", ast.Constant(value=not node.value)
    elif isinstance(node.value, int) and node.value in (0, 1):
        yield "constant", ast.Constant(value=1 - node.value)


def _sets(node: ast.AST, _covered: bool) -> Found:  # noqa: FBT001
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr):
        yield "left operand only", node.left
        yield "right operand only", node.right
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        yield "left operand only", node.left


def _call(node: ast.AST, _covered: bool) -> Found:  # noqa: FBT001
    assert isinstance(node, ast.Call)  # noqa: S101
    name, receiver = _called(node)
    if name in {"any", "all"} and receiver is None:
        other = copy.copy(node)
        other.func = ast.Name(id="all" if name == "any" else "any", ctx=ast.Load())
        yield f"{name} as the other", other
    if receiver is not None and name in _CLAUSES | _SHAPES and len(node.args) <= 1:
        yield f"without .{name}()", receiver
    elif name in _CLAUSES | {"and_", "or_"}:
        for index, argument in enumerate(node.args):
            other = copy.copy(node)
            other.args = [*node.args[:index], *node.args[index + 1 :]]
            yield f"{name} without `{ast.unparse(argument)}`", other
    if name == "replace":
        for keyword in node.keywords:
            other = copy.copy(node)
            other.keywords = [one for one in node.keywords if one is not keyword]
            yield f"without {keyword.arg}=", other
    if receiver is not None and name in _DRESS:
        yield f"without .{name}()", receiver
    if receiver is not None and name in _LAST and node.args:
        yield f"without {name}()", node.args[-1]


def _called(node: ast.Call) -> tuple[str, ast.expr | None]:
    if isinstance(node.func, ast.Attribute):
        return node.func.attr, node.func.value
    return (node.func.id, None) if isinstance(node.func, ast.Name) else ("", None)


def _statement(node: ast.AST, _covered: bool) -> Found:  # noqa: FBT001
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await):
        if not _is_log(node.value):
            yield "without the call", ast.Pass()
    elif isinstance(node, ast.Raise):
        yield "without raise", ast.Pass()
    elif isinstance(node, ast.Continue | ast.Break):
        yield "without the jump", ast.Pass()
    elif isinstance(node, ast.AugAssign) or (
        isinstance(node, ast.Assign)
        and all(isinstance(one, ast.Attribute | ast.Subscript) for one in node.targets)
    ):
        yield "without the assignment", ast.Pass()


def _is_log(node: ast.AST) -> bool:
    first = node
    while isinstance(first, ast.Call | ast.Attribute | ast.Await):
        first = first.func if isinstance(first, ast.Call) else first.value
    return isinstance(first, ast.Name) and first.id in _LOGS


_BY_NODE: Final[tuple[tuple[type[ast.AST], Callable[[ast.AST, bool], Found]], ...]] = (
    (ast.BoolOp, _boolean),
    (ast.Compare, _comparison),
    (ast.UnaryOp, _negation),
    (ast.Constant, _constant),
    (ast.BinOp, _sets),
    (ast.Call, _call),
    (ast.stmt, _statement),
)
