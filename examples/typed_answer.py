"""An answer as a value of a type: the schema goes with the request, and the text is validated.

OPENAI_API_KEY=… python examples/typed_answer.py
"""

import asyncio
from dataclasses import dataclass

import limen


@dataclass
class Weather:
    """The weather of a place."""

    place: str
    celsius: float


async def main() -> None:
    """Ask for a `Weather`; text that is none is an `LlmError`, `INVALID_OUTPUT`, with the path of the fault."""
    async with limen.open_runtime() as llm:
        format_ = limen.JsonSchema.of(Weather)
        response = await llm.complete("openai/gpt-4o-mini", "The weather in Paris?", response_format=format_)
    weather = response.parse(Weather)
    print(f"{weather.place}: {weather.celsius} °C")


if __name__ == "__main__":
    asyncio.run(main())
