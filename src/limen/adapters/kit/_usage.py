"""Token counts of a wire to disjoint ones (contract, section 1; W7)."""

from typing import Final, TypeAlias, TypeVar

import msgspec

Count: TypeAlias = int | float | None
S = TypeVar("S", bound=msgspec.Struct)

# A surplus of reasoning over completion up to here is rounding: OpenRouter was recorded with 11 over 10 (2026-07).
ROUNDING: Final = 5


def first_count(*places: Count) -> int | None:
    """Return the first count that is there; one below zero is nobody's count, so it is unknown.

    Raises `ValueError` for a fraction; an integral float is a count.
    """
    for count in places:
        if count is None or count < 0:
            continue
        if isinstance(count, float) and not count.is_integer():
            raise ValueError(f"a token count of {count}")
        return int(count)
    return None


def merged(old: S | None, new: S | None) -> S | None:
    """Return two reports as one: field by field the later value that is not null (W7)."""
    if old is None or new is None:
        return new or old
    fields = {name: getattr(new, name) for name in new.__struct_fields__}
    return msgspec.structs.replace(old, **{name: value for name, value in fields.items() if value is not None})


def uncached(prompt: int | None, cached: int, written: int) -> int | None:
    """Return the uncached input of a prompt count that includes the cache's.

    Where cached tokens exceed the prompt, the wire counts them beside it and nothing is subtracted; the same holds
    for writes that do not fit into the rest.
    """
    if prompt is None or cached > prompt:
        return prompt
    rest = prompt - cached
    return rest if written > rest else rest - written


def with_reasoning(
    completion: int | None, reasoning: int | None, *, prompt: int | None = None, total: int | None = None
) -> tuple[int | None, int | None]:
    """Return output and its reasoning part, from counts where reasoning may stand beside the completion.

    A surplus of at most `ROUNDING` is clamped. A larger one, or a total that is the sum of all three, says that
    output is completion plus reasoning (xAI: 12 + 1 + 290 = 303, recorded 2026-02).
    """
    if completion is None or reasoning is None:
        return completion, reasoning
    apart = prompt is not None and total == prompt + completion + reasoning
    if apart or reasoning > completion + ROUNDING:
        return completion + reasoning, reasoning
    return completion, min(reasoning, completion)
