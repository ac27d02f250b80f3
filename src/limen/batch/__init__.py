"""Many rows through one contract: one row in, exactly one row out, at the pace that the routes allow (CONTRACT 12).

`run(llm, rows)` yields results as they come; `run_file(llm, source, out)` does it from file to file, and goes on where
it was killed. `limen batch` is the same as a command.
"""

from limen.batch._file import Batch, Progress, run_file
from limen.batch._gate import Limits
from limen.batch._read import read_row
from limen.batch._row import Row, RowInput, RowResult
from limen.batch._run import Rows, run
from limen.batch._shown import run_shown

__all__ = [
    "Batch",
    "Limits",
    "Progress",
    "Row",
    "RowInput",
    "RowResult",
    "Rows",
    "read_row",
    "run",
    "run_file",
    "run_shown",
]
