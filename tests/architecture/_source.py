"""Reading the source tree as data, for the checks in this folder."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src" / "limen"
TESTS = ROOT / "tests"

Function = ast.FunctionDef | ast.AsyncFunctionDef


def modules(folder: Path = SRC) -> list[Path]:
    """Every Python file below a folder."""
    return sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)


def tree(path: Path) -> ast.Module:
    """The file's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def functions(node: ast.AST) -> Iterator[Function]:
    """Every function and method below a node."""
    for child in ast.walk(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child


def where(path: Path, node: Function) -> str:
    """A place to name in a failure."""
    return f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"


def body_lines(node: Function) -> int:
    """Lines of a function without its docstring."""
    first = node.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and len(node.body) > 1
    start = first.end_lineno if documented and first.end_lineno is not None else node.lineno
    return (node.end_lineno or node.lineno) - start
