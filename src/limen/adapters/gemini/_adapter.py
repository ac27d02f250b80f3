"""Gemini: one adapter, one row for the Developer API and one for Vertex AI."""

import re
from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from limen.adapters._codec import WireOptions
from limen.adapters._http_adapter import WireAdapter
from limen.adapters._spec import CodecWire
from limen.adapters._vendors import Vendor
from limen.adapters.gemini._codec import GenerateCodec
from limen.adapters.gemini._dialects import ROWS, Dialect, vertex_address
from limen.adapters.gemini._google import GoogleCredentials
from limen.adapters.gemini._models import family_of
from limen.contract import AbortSignal, Effort, FrozenDict, LlmError, ModelInfo, codes

WIRE: Final = CodecWire(
    Dialect.wire, {name: GenerateCodec(row) for name, row in ROWS.items()}, default_dialect="gemini"
)

_PROJECT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:-]{0,62}")
_LOCATION: Final = re.compile(r"[a-z0-9-]{1,40}")
_WORD: Final = re.compile(r"[A-Z0-9_]{1,64}")


class GeminiOptions(WireOptions, frozen=True, kw_only=True):
    """Options of `GeminiAdapter`; those of every adapter, and four of this wire.

    - `project`, `location`: project and region at Vertex AI, which mean an access token for each call: without
      `api_key` Google's own credentials are used (extra `limen[vertex]`). `location` is `global` unless given.
    - `credentials_file`: the file of a service account, in place of Google's default credentials.
    - `safety_settings`: thresholds by category, such as `{"HARM_CATEGORY_HARASSMENT": "BLOCK_ONLY_HIGH"}`.
    """

    project: str | None = None
    location: str | None = None
    credentials_file: str | None = None
    safety_settings: Mapping[str, str] = FrozenDict()


class GeminiAdapter(WireAdapter):
    """Gemini at the Developer API (`gemini`) and at Vertex AI (`vertex`).

    Mapped:

    - `system` and system messages before the first turn as `systemInstruction`; user messages as `user` contents,
      neighbours as one; tool results together, in the order of their calls, as one content of `functionResponse` parts
      with `{"output": text}` or `{"error": text}`; blank parts are left out.
    - Images and files as `inlineData` or `fileData`; images of results inside the result from Gemini 3 on, before in a
      content after it.
    - `tools` by their schema where it can be said in one of the wire's two forms; `tool_choice` as mode `AUTO`, `NONE`,
      `ANY`, a named one with `allowedFunctionNames`.
    - `temperature`, `top_p`, `max_tokens`, `stop` (five), `seed`, JSON and schemas in `generationConfig`.
    - `reasoning_effort` as thinking level, of Gemini 2.5 as budget (1,024, 8,192, 24,576); thoughts are asked for with
      it. `off` is a budget of 0, where the model has it.
    - `extra["gemini-generate"]`, merged last: `cachedContent`, `labels`, `serviceTier`, `googleSearch` …
    - Text, thoughts, calls and images of an answer as blocks; streamed arguments as JSON text.
    - Replay state: the parts of a turn, their order, signatures and ids, code execution and unknown parts go back byte
      for byte, to the model that made them. The first call of a turn without such state has the placeholder that Google
      documents, from Gemini 3 on.
    - A stop after calls is one for calls; filters, a refused prompt among them, are `CONTENT_FILTER`; `CONTINUATION` is
      a token limit, and a history that ends with such a turn goes on with it.

    Refused before any I/O (`UNSUPPORTED…`, naming the field):

    - `cache`, `parallel_tool_calls` switched off, strict tools, schemas that are not to be strict;
    - schemas that neither form can say, with the path; names outside `[A-Za-z_][A-Za-z0-9_.:-]*`, 128 characters;
    - sampling for models that ignore it; efforts outside the model's list;
    - addresses that the host does not read; answers of audio, more than one candidate; system messages later on.

    Ignored: `session_id` and `purpose`. Left out of the answer: other candidates, grounding, citations, safety ratings,
    log-probabilities, audio (kept for replay), and fields and parts unknown here.
    """

    def __init__(self, options: GeminiOptions | None = None) -> None:
        made = GeminiOptions() if options is None else options
        codec = codec_of(made)
        names = {name.lower() for name in (*made.headers, *made.secret_headers)}
        if made.api_key is None and codec.row.project and not names & codec.auth_headers:
            made = replace(made, api_key=GoogleCredentials(made.credentials_file))
        super().__init__(made, codec)

    async def resolve_model(self, provider: str, model: str, *, signal: AbortSignal | None = None) -> ModelInfo:
        """Return what is configured for one exact model, with the efforts of its family; no I/O (R10)."""
        found = await super().resolve_model(provider, model, signal=signal)
        efforts = family_of(model).efforts
        if found.efforts is not None or efforts is None:
            return found
        return replace(found, efforts=tuple(Effort(effort, effort) for effort in efforts))


def codec_of(options: GeminiOptions) -> GenerateCodec:
    """Return the row that options name, at the project's address where there is one. Raises `INVALID_CONFIG`."""
    project, location = options.project, options.location
    dialect = "vertex" if options.dialect is None and project is not None else options.dialect
    row = ROWS[WIRE.codec_at(replace(options, dialect=dialect)).dialect]
    if row.name != "vertex" and (project is not None or options.location is not None):
        raise _invalid("project and location belong to the dialect vertex")
    if project is not None:
        place = "global" if location is None else location
        if not _PROJECT.fullmatch(project) or not _LOCATION.fullmatch(place):
            raise _invalid(f"project and location are names, got {project!r} and {place!r}")
        # No key is required of the route: without one the adapter has Google's credentials.
        row = replace(
            row,
            address=vertex_address(project, place),
            key_header="bearer",
            requires_key=False,
            vendor=Vendor(),
            project=project,
        )
    elif location is not None or options.credentials_file is not None:
        raise _invalid("location and credentials_file need a project")
    for category, threshold in options.safety_settings.items():
        if not _WORD.fullmatch(category) or not _WORD.fullmatch(threshold):
            raise _invalid(f"safety_settings: {category!r} = {threshold!r} are no words of the API")
    if options.safety_settings:
        row = replace(row, safety=FrozenDict(options.safety_settings))
    return GenerateCodec(row)


def _invalid(words: str) -> LlmError:
    return LlmError(words, codes.INVALID_CONFIG, phase="resolve")
