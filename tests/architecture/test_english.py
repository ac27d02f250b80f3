"""Docstrings begin with a noun or a verb of the field, so that their first words say what the thing is or does."""

import ast

import pytest
from _source import SRC, Function, modules, tree

# First words that begin a clause without its head: "What a call came to", "To look at how a try fails".
HEADLESS = {"What", "Whatever", "Where", "Wherever", "Who", "Whoever", "Whose", "Whom", "Which", "Whichever"} | {
    "To",
    "Of",
    "That",
    "Those",
    "How",
    "When",
    "Whenever",
    "Whether",
    "Why",
}


def first_word(text: str) -> str:
    """The first word of a docstring."""
    return text.split(maxsplit=1)[0].rstrip(",:") if text.strip() else ""


def documented(module: ast.Module) -> list[tuple[int, str]]:
    """Line and text of every docstring of a module, its classes and functions, and of the strings after assignments."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(module):
        body: list[ast.stmt] = node.body if isinstance(node, ast.Module | ast.ClassDef | Function) else []
        found += [
            (statement.lineno, statement.value.value)
            for statement in body
            if isinstance(statement, ast.Expr)
            and isinstance(statement.value, ast.Constant)
            and isinstance(statement.value.value, str)
        ]
    return sorted(found)


def headless(source: ast.Module) -> list[int]:
    """The lines of the docstrings that begin without their head."""
    return [line for line, text in documented(source) if first_word(text) in HEADLESS]


def package(name: str) -> list[str]:
    """Places in one folder, or among the modules beside the folders, whose docstring begins without its head."""
    files = [path for path in modules(SRC) if (path.relative_to(SRC).parts[0] if path.parent != SRC else "") == name]
    return [f"{path.relative_to(SRC)}:{line}" for path in files for line in headless(tree(path))]


FOLDERS = sorted({path.relative_to(SRC).parts[0] if path.parent != SRC else "" for path in modules(SRC)})


@pytest.mark.parametrize("name", FOLDERS)
def test_docstrings_begin_with_their_head(name: str) -> None:
    """No docstring of the source begins with a clause that has no noun before it."""
    assert package(name) == []


@pytest.mark.parametrize(
    ("text", "caught"),
    [
        ("What a call came to, from the pieces that knew.", True),
        ("To look at how a try fails.", True),
        ("Where, from now on, it only passes on.", True),
        ("Whether `abort()` was called.", True),
        ("Build the Response of a finished call.", False),
        ("Whole answers.", False),
        ("Tokens of one call.", False),
        ("", False),
    ],
)
def test_the_check_catches_a_headless_clause(text: str, caught: bool) -> None:
    """The check itself fails on a headless clause, and passes a noun or a verb."""
    assert (headless(ast.parse(f'"""{text}"""')) == [1]) is caught
