"""What a recording may hold: the one cleaner of traffic (E5)."""

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limen.contract import remember_secret
from limen.recording import Redaction
from limen.recording._redact import REQUEST_HEADERS, RESPONSE_HEADERS

CLEAN = Redaction()
KEY = "sk-0123456789abcdefXYZ"


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("nothing to see", "nothing to see"),
        (f"key {KEY} end", "key [redacted] end"),
        ("Authorization: Bearer abcdefgh.ijkl", "Authorization: Bearer [redacted]"),
        ("of org-ABCDEFGH12345678, sorry", "of [redacted], sorry"),
        ("project proj_ABCDEFGH1234", "project [redacted]"),
        ("an org-structure and an org_chart", "an org-structure and an org_chart"),
        ('{"organization":"acme"}', '{"organization":"acme"}'),
        ('{"organizationId":"acme","x":1}', '{"organizationId":"[redacted]","x":1}'),
        ('{"organization_id": null}', '{"organization_id": "[redacted]"}'),
        ('{"Set-Cookie" : ["a=1","b=2"], "x":1}', '{"Set-Cookie" : "[redacted]", "x":1}'),
        ('{"cookie":{"a":{"b":"}"}},"x":[1]}', '{"cookie":"[redacted]","x":[1]}'),
        ('{"authorization":12345}', '{"authorization":"[redacted]"}'),
        ('[{"organization_id":true}]', '[{"organization_id":"[redacted]"}]'),
        ('{"organization_id":"a\\"b\\\\"}', '{"organization_id":"[redacted]"}'),
        (
            r'{"text":"{\"organization_id\":\"a\\\"b\",\"x\":1}"}',
            r'{"text":"{\"organization_id\":\"[redacted]\",\"x\":1}"}',
        ),
        ('{"organization_id":"never closed', '{"organization_id":"[redacted]"'),
        ('{"organization_id":{"never":"closed"', '{"organization_id":"[redacted]"'),
        ('{"organization_id":', '{"organization_id":"[redacted]"'),
        ('{"organization_id":true,"x":1}', '{"organization_id":"[redacted]","x":1}'),
        (r'{"x":"line\nsk-0123456789abcdefXYZ\tend"}', r'{"x":"line\n[redacted]\tend"}'),
        (r'{"x":"password=hunter22\" and on"}', r'{"x":"password=[redacted]\" and on"}'),
        (r'{"x":"{\"y\":\"\\nsk-0123456789abcdefXYZ\"}"}', r'{"x":"{\"y\":\"\\n[redacted]\"}"}'),
        (r'{"x":"\ud83d\nsk-0123456789abcdefXYZ"}', r'{"x":"\ud83d\n[redacted]"}'),
        (r'"\q sk-0123456789abcdefXYZ" \ x', r'"\q [redacted]" \ x'),
    ],
)
def test_texts_are_cleaned(text: str, cleaned: str) -> None:
    """Keys, tokens, organizations and cookies go, in plain text, in JSON, and in JSON inside a JSON string."""
    assert CLEAN.text(text) == cleaned
    assert CLEAN.text(cleaned) == cleaned


def test_a_stream_is_cleaned_document_by_document() -> None:
    """Of an event stream each line's document is cleaned; its frames, and lines that are no JSON, stay."""
    stream = (
        'event: x\ndata: {"x":"a\\nsk-0123456789abcdefXYZ","password":"two words"}\r\n\r\n: sk-0123456789abcdefXYZ\n'
    )
    assert CLEAN.text(stream) == (
        'event: x\ndata: {"x":"a\\n[redacted]","password":"[redacted]"}\r\n\r\n: [redacted]\n'
    )
    assert CLEAN.text('{"x":"\\u0073k-0123456789abcdefXYZ"}') == '{"x":"[redacted]"}'


def test_further_fields_are_cleaned() -> None:
    """The named fields lose their values wherever they stand, whatever the values are."""
    redaction = Redaction(["patient", "no.te"])
    body = {"a": [{"patient": {"name": "x"}}], "no.te": 'q"\\', "noXte": "stays", "b": json.dumps({"patient": "y"})}
    cleaned = json.loads(redaction.text(json.dumps(body)))
    assert cleaned == {
        "a": [{"patient": "[redacted]"}],
        "no.te": "[redacted]",
        "noXte": "stays",
        "b": '{"patient": "[redacted]"}',
    }


def test_a_field_inside_a_cleaned_field_is_gone_with_it() -> None:
    """What stands inside a value that goes is not looked for any more."""
    assert CLEAN.text('{"organization_id":{"cookie":"x","y":1},"z":2}') == '{"organization_id":"[redacted]","z":2}'


def test_a_key_that_passed_limen_is_known() -> None:
    """A key that looks like nothing is found because it was used."""
    remember_secret("plain-as-day-7781")
    assert CLEAN.text("it is plain-as-day-7781!") == "it is [redacted]!"


@pytest.mark.parametrize("cut", range(40))
def test_a_secret_cut_in_two_is_found(cut: int) -> None:
    """Wherever the network cut a body, its key is gone, and the reads together are the clean body."""
    body = f"data: your key {KEY} is odd\n\n"
    reads = CLEAN.reads([body[:cut], body[cut:]])
    assert "".join(reads) == "data: your key [redacted] is odd\n\n"
    assert len(reads) == 2


def test_reads_are_cut_where_they_were() -> None:
    """Before and behind a secret the reads keep their places; a cut inside it moves behind its mask."""
    reads = ["data: a", f" {KEY[:8]}", f"{KEY[8:]} b", "", "\n\n"]
    assert CLEAN.reads(reads) == ["data: a", " [redacted]", " b", "", "\n\n"]
    assert CLEAN.reads(["clean", "", "ly"]) == ["clean", "", "ly"]
    assert CLEAN.reads([]) == []
    assert CLEAN.reads([f"{KEY}"]) == ["[redacted]"]
    assert CLEAN.reads([KEY[:10], KEY[10:]]) == ["[redacted]", ""]


@settings(max_examples=200, deadline=None, database=None)
@given(
    st.lists(
        st.sampled_from([KEY, "data: ", '{"organization_id":"acme"}', "\n\n", "é", " ", "a", "[redacted]"]), max_size=8
    ),
    st.lists(st.integers(0, 200), max_size=6),
)
def test_any_cut_of_any_body_is_cleaned_as_the_whole(pieces: list[str], places: list[int]) -> None:
    """The reads together are what the whole body becomes, and there are as many as before."""
    body = "".join(pieces)
    cuts = sorted({0, len(body), *(min(place, len(body)) for place in places)})
    reads = [body[start:end] for start, end in itertools.pairwise(cuts)]
    cleaned = CLEAN.reads(reads)
    assert "".join(cleaned) == CLEAN.text(body)
    assert len(cleaned) == len(reads)


def test_headers_pass_by_name() -> None:
    """Only allowed headers are kept, lower-case and cleaned; several of one name are joined."""
    headers = [
        ("Content-Type", "application/json"),
        ("Authorization", "Bearer secret"),
        ("X-Api-Key", "secret"),
        ("Cookie", "a=1"),
        ("OpenAI-Organization", "org-1"),
        ("User-Agent", f"app {KEY}"),
        ("user-agent", "limen"),
    ]
    assert CLEAN.headers(headers, REQUEST_HEADERS) == {
        "content-type": "application/json",
        "user-agent": "app [redacted], limen",
    }
    assert Redaction(["content-type"]).headers(headers[:1], REQUEST_HEADERS) == {}
    assert CLEAN.headers([("X-Request-Id", "r1"), ("Set-Cookie", "a")], RESPONSE_HEADERS) == {"x-request-id": "r1"}


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("https://user:pass@host.example/v1/chat/completions", "/v1/chat/completions"),
        ("https://host/v1/m:stream?key=AIzaSecret&alt=sse", "/v1/m:stream?key=[redacted]&alt=[redacted]"),
        (f"https://host/{KEY}/x?", "/[redacted]/x"),
        ("/v1/messages", "/v1/messages"),
    ],
)
def test_of_a_url_the_path_is_kept(url: str, path: str) -> None:
    """Host and login go, of the query only the names stay."""
    assert CLEAN.path(url) == path


SPICES = [
    KEY,
    "\\",
    '"',
    "\n",
    "password=hunter22",
    "api_key: ",
    "Bearer abcdefghij",
    "https://u:p@h/",
    ",",
    "}",
    "x",
    "\ud83d",
    "é",
]
STRINGS = st.lists(st.sampled_from(SPICES), max_size=6).map(" ".join)
DOCUMENTS = st.recursive(
    STRINGS | st.integers() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(STRINGS | st.sampled_from(["cookie", "password", "x"]), inner, max_size=3)
        | inner.map(json.dumps)
    ),
    max_leaves=8,
)


@settings(max_examples=400, deadline=None, database=None)
@given(DOCUMENTS, st.booleans())
def test_json_stays_json(document: object, ascii_only: bool) -> None:
    """Whatever a document holds, what is kept of it can be read, is clean, and is cleaned no further."""
    text = json.dumps(document, ensure_ascii=ascii_only)
    cleaned = CLEAN.text(text)
    json.loads(cleaned)
    assert KEY not in cleaned
    assert CLEAN.text(cleaned) == cleaned
