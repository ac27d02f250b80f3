"""Calls without async, as in a notebook cell: the same calls, blocking.

DEEPSEEK_API_KEY=… python examples/notebook.py
"""

import limen.sync

MODEL = "deepseek/deepseek-v4-flash"


def main() -> None:
    """Show an answer as it comes, then one that is collected."""
    with limen.sync.open_runtime() as llm:
        for piece in llm.stream(MODEL, "Say hello.").text():
            print(piece, end="", flush=True)
        print()
        response = llm.complete(MODEL, "What is 20 + 22?", max_tokens=100)
        print(response.text, response.usage)


if __name__ == "__main__":
    main()
