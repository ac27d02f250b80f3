"""Adapter of Acme's wire: its one dialect row, the codec, the options and the registration."""

from typing import ClassVar, Final, Literal

from acme_limen._reader import AcmeReader
from acme_limen._request import HONOURS, write_request
from acme_limen._wire import WIRE
from limen.adapters import AdapterSpec, BuildContext, CodecWire, Row, RowCodec, Vendor, WireAdapter, WireOptions
from limen.contract import GenerateOptions, IdSeed, Limits, WireReader, WireRequest

Tone = Literal["plain", "formal"]


class AcmeRow(Row, frozen=True, kw_only=True):
    """A dialect of Acme's wire; it has no field beyond those of every wire."""

    wire: ClassVar[str] = WIRE


ACME: Final = AcmeRow(
    name="acme",
    vendor=Vendor(addresses={WIRE: "https://api.acme.test/v3"}, keys=("ACME_API_KEY",)),
    path="/generate",
    key_header="x-acme-key",
)


class AcmeCodec(RowCodec[AcmeRow]):
    """Acme's wire, without its network."""

    honours = HONOURS
    efforts = ()

    def __init__(self, row: AcmeRow, tone: Tone | None = None) -> None:
        super().__init__(row)
        self._headers = {"content-type": "application/json"} | ({} if tone is None else {"x-acme-tone": tone})

    def build(self, options: GenerateOptions, context: BuildContext) -> WireRequest:
        """Make the request without credentials, or refuse it before any I/O."""
        return WireRequest("POST", self.row.path, self._headers, write_request(options, context, self.row.name))

    def reader(
        self, *, id_seed: IdSeed = b"", limits: Limits | None = None, content_type: str | None = None
    ) -> WireReader:
        """Make the reader of one answer."""
        return AcmeReader(self.errors, id_seed=id_seed, limits=limits, content_type=content_type)


LINES: Final = CodecWire(WIRE, {ACME.name: AcmeCodec(ACME)}, default_dialect=ACME.name)


class AcmeOptions(WireOptions, frozen=True, kw_only=True):
    """Options of `AcmeAdapter`; `tone` is how Acme speaks, its own default unless given."""

    tone: Tone | None = None


def codec_of(options: AcmeOptions) -> AcmeCodec:
    """Return the codec of these options; a dialect other than `acme` is `UNSUPPORTED`."""
    LINES.codec_at(options)
    return AcmeCodec(ACME, options.tone)


class AcmeAdapter(WireAdapter):
    """Acme's models (https://docs.acme.test/lines, read 2026-11-30).

    Mapped: text, tool calls and results, `system`, `tools`, `temperature`, `max_tokens`, `stop`, `extra["acme-lines"]`.
    A thought goes back under the seal that came with it; of any other history it is left out and reported.
    Refused: images, efforts, JSON formats, tool choice, strict tools, `top_p`, `seed`, `cache`.
    Ignored: `session_id`, `purpose`; of an answer, fields that Acme's page does not name.
    """

    def __init__(self, options: AcmeOptions) -> None:
        super().__init__(options, codec_of(options))


SPEC: Final = AdapterSpec(
    name="acme",
    adapter=AcmeAdapter,
    options=AcmeOptions,
    wire=LINES,
    codec=codec_of,
    description="acme_limen.conformance:WIRE",
)
