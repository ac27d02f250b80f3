"""An adapter around `litellm` before the judge: its violations are printed. The kit must be able to fail.

Run by `make test-litellm`, in an environment of its own. Exits 1 if the judge finds nothing: then the judge is broken.
"""

import asyncio
import sys

import _litellm_adapter

from limen.testing.conformance import check_adapter, page, table


def main() -> int:
    report = asyncio.run(check_adapter(_litellm_adapter.make, "openai-chat"))
    print(table(report))
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w", encoding="utf-8") as file:
            file.write(page(report))
    if report.passed:
        print("the judge found nothing to say, which nobody believes")
        return 1
    print(f"the judge found {len(report.failures)} promises that are not kept, as it should")
    return 0


if __name__ == "__main__":
    sys.exit(main())
