"""Secret scrubbing (E5).

Keys that limen has used are remembered and replaced wherever they occur, whatever their form; other text that has
the form of a credential is replaced by pattern. Both work on text only and know no wire.
"""

import re
from collections import OrderedDict
from functools import cache
from typing import Final

MASK: Final = "[redacted]"

# Enough for a process that rotates keys all day; the oldest is forgotten first.
_REMEMBERED_MAX: Final = 512
_remembered: OrderedDict[str, None] = OrderedDict()
_kept: dict[str, None] = {}

# Patterns, each with a sample of its form; the named groups of a match are kept. A prefix alone is no secret, so a run
# of key characters must follow.
_PATTERNS: Final = (
    # an Authorization header: Bearer abc, also with %20
    r"(?P<scheme>\b(?i:bearer|basic)(?:\s|%20|\+)+)[A-Za-z0-9._~+/=-]{6,}",
    # OpenAI/DeepSeek/OpenRouter "sk-…", Anthropic "sk-ant-…", Groq "gsk_…", xAI "xai-…", NVIDIA "nvapi-…", HF "hf_…"
    r"\b(?:sk|rk|pk|gsk|xai|nvapi|hf|csk|fw|pplx|tgp|r8|key)[-_][A-Za-z0-9_-]{12,}",
    # Google "AIza…" (39 characters), AWS access key ids, GitHub tokens
    r"\bAIza[0-9A-Za-z_-]{30,}|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{20,}",
    # JSON web tokens
    r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}",
    # a query or a header or a JSON field that is named like a key, with its value
    r"(?P<name>(?i:api[-_]?key|x-api-key|access[-_]?token|auth[-_]?token|client[-_]?secret|password|secret[-_]?key)"
    r"[\"']?\s*[:=]\s*[\"']?(?!(?i:bearer|basic)\s+\[redacted\])(?:(?i:bearer|basic)\s+)?)(?!\[redacted\])[^\s\"'&,;}]{4,}",
    # a URL with user and password
    r"(?P<url>\b(?i:[a-z][a-z0-9+.-]*)://)[^/\s:@]+:[^/\s@]+(?=@)",
)


@cache
def _pattern() -> re.Pattern[str]:
    """All patterns as one, compiled at first use: most processes never fail."""
    return re.compile("|".join(_PATTERNS))


# Names of fields and headers that hold a key, in lower case and without separators, and how such names end: gateways
# call theirs CF-AIG-Authorization, X-Portkey-Api-Key, X-Gateway-Token, Ocp-Apim-Subscription-Key.
_SECRET_NAMES: Final = frozenset(
    {
        "accesskey", "accesstoken", "apikey", "apisecret", "apitoken", "auth", "authkey", "authorization", "authtoken",
        "bearer", "bearertoken", "clientsecret", "cookie", "credential", "credentials", "key", "password",
        "proxyauthorization", "secret", "secretkey", "setcookie", "token", "xapikey", "xapitoken", "xauthtoken",
        "xgoogapikey",
    }
)  # fmt: skip
_SECRET_ENDINGS: Final = (
    "accesskey", "apikey", "auth", "authorization", "password", "secret", "subscriptionkey", "token",
)  # fmt: skip
# Headers alone: X-Gateway-Key holds a key, while a field `cache_key` of a request does not.
_SECRET_HEADER_ENDINGS: Final = ("key", "cookie", "session")
_NO_SECRET_HEADERS: Final = frozenset({"idempotencykey", "xidempotencykey"})


def names_secret(name: str, *, header: bool = False) -> bool:
    """Tell whether a field of this name holds a credential; `header` for the name of an HTTP header (K1, E5)."""
    plain = re.sub(r"[-_ ]", "", name.lower())
    if plain in _SECRET_NAMES or plain.endswith(_SECRET_ENDINGS):
        return True
    return header and plain.endswith(_SECRET_HEADER_ENDINGS) and plain not in _NO_SECRET_HEADERS


def remember_header(value: str) -> None:
    """Remember a header's secret value: the whole, and each part of `Bearer abc` and of `session=abc; user=def`."""
    remember_secret(value)
    for part in re.split(r"[;,\s]+", value):
        remember_secret(part)
        remember_secret(part.partition("=")[2])


def remember_secret(secret: str, *, keep: bool = False) -> None:
    """Remember a key, so that `scrub` replaces it from now on in this process.

    A key under 4 characters, or of up to 7 letters only, is not remembered: replacing "k" or "other" everywhere would
    hide nothing and garble every message. White space around a key is no part of it. Of other keys the oldest are
    forgotten first; `keep` is for a key that is not named here again with each call, so it is not forgotten.
    """
    secret = secret.strip()
    if keep and len(secret) >= 8:
        _kept.update(_forms(secret))
        return
    if secret in _remembered:
        _remembered.move_to_end(secret)
        return
    if len(secret) < 4 or (len(secret) < 8 and secret.isalpha()):
        return
    for form in _forms(secret):
        _remembered.pop(form, None)
        _remembered[form] = None
    while len(_remembered) > _REMEMBERED_MAX:
        _remembered.popitem(last=False)


def _forms(secret: str) -> dict[str, None]:
    """Return the spellings of a key: plain, in a URL, in a Python repr, and in JSON, also inside a JSON string.

    A key may be any text, also one that cannot be sent: an environment variable that is no UTF-8 holds half
    surrogates, and such a key is shown as it is, as U+FFFD, or escaped.
    """
    from urllib.parse import quote  # imported here: it takes longer to load than all of this module

    escaped = secret.replace("\\", "\\\\")
    quoted = escaped.replace('"', '\\"')
    again = quoted.replace("\\", "\\\\").replace('"', '\\"')
    slashed = quoted.replace("/", "\\/")
    forms = [secret, quote(secret, safe="", errors="surrogatepass"), escaped, quoted, again, slashed]
    if not secret.isascii():
        forms.append(re.sub("[\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", secret))
        in_json = "".join(map(_json_escaped, quoted))
        forms += [repr(secret)[1:-1], ascii(secret)[1:-1], in_json]
        forms.append(in_json.replace("\\", "\\\\").replace('"', '\\"'))
    return dict.fromkeys(forms)


def _json_escaped(character: str) -> str:
    """Return a character as JSON in ASCII writes it; beyond U+FFFF that is two escapes."""
    if character.isascii():
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def scrub(text: str) -> str:
    """Return the text with every known or recognisable credential replaced by `[redacted]`.

    Known secrets and patterns are both matched on the original text, so that one mask cannot hide another secret.
    """
    spans = [*_remembered_spans(text), *_recognised_spans(text)]
    if not spans:
        return text
    parts: list[str] = []
    end = 0
    for first, last in sorted(spans):
        if first >= end:
            parts += [text[end:first], MASK]
        end = max(end, last)
    return "".join(parts) + text[end:]


def looks_secret(text: str) -> bool:
    """Return true if a text holds something with the form of a credential, whatever is remembered (K1)."""
    return bool(_recognised_spans(text))


def _remembered_spans(text: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    # A copy, since another thread may add a key meanwhile.
    for secret in (*_remembered, *_kept):
        at = text.find(secret)
        while at >= 0:
            spans.append((at, at + len(secret)))
            at = text.find(secret, at + 1)
    return spans


def _recognised_spans(text: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for found in _pattern().finditer(text):
        kept = found["scheme"] or found["name"] or found["url"] or ""
        spans.append((found.start() + len(kept), found.end()))
    return spans
