"""The numbers that the code holds itself to (ARCHITECTURE, last section)."""

import ast
import statistics

from _source import ROOT, SRC, TESTS, Function, body_lines, functions, modules, tree, where


def test_files_stay_small() -> None:
    """The median source file has at most 250 lines, the largest 500, and no test file has over 800."""
    sizes = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in modules(SRC)}
    tests = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in modules(TESTS)}

    assert statistics.median(size for size in sizes.values() if size) <= 250
    assert [f"{path.relative_to(ROOT)}: {size}" for path, size in sizes.items() if size > 500] == []
    assert [f"{path.relative_to(ROOT)}: {size}" for path, size in tests.items() if size > 800] == []


def test_functions_stay_short() -> None:
    """No function has over 60 lines beside its docstring."""
    long = [where(path, node) for path in modules(SRC) for node in functions(tree(path)) if body_lines(node) > 60]

    assert long == []


def parameters(node: Function) -> list[ast.arg]:
    """A function's parameters without self and cls."""
    names = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return [name for name in names if name.arg not in ("self", "cls")]


def test_signatures_stay_narrow() -> None:
    """No function takes over 7 parameters, and what comes after the fourth is given by keyword."""
    wide = [
        where(path, node)
        for path in modules(SRC)
        for node in functions(tree(path))
        if len(parameters(node)) > 7 and node.name not in ("of", "__init__")
    ]
    positional = [
        where(path, node)
        for path in modules(SRC)
        for node in functions(tree(path))
        if len([name for name in node.args.args if name.arg not in ("self", "cls")]) > 5
    ]

    assert wide == []
    assert positional == []
