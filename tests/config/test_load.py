"""Reading `limen.toml`: every field, every refusal with its place, nothing partial (K5)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from limen.config import Config, EnvironmentKey, FileKey, KeyringKey, Route, load
from limen.contract import Effort, LlmError, ModelInfo, RetryPolicy, Timeouts

Write = Callable[[str], Path]

FULL = """
[app]
name = "my-app/1.0"

[routes.deepseek]
adapter = "deepseek"
api_key_env = "DEEPSEEK_API_KEY"
retry = { mode = "normal", max_retries = 2 }

[routes.work]
adapter = "openai-chat"
dialect = "openrouter"
base_url = "https://router.example/v1"
api_key_file = "/run/secrets/router"
user_agent = "other/2"
default_max_tokens = 900
headers = { X-Title = "limen" }
timeouts = { connect = 10, first_event = 600, idle_bytes = 120, idle_event = 600 }
models = [
  { id = "some/model", context_window = 200000, max_tokens = 32000, input = ["text", "image"], efforts = ["off", { id = "high", name = "High" }], default_effort = "high" },
]

[routes.ring]
adapter = "anthropic-messages"
api_key_keyring = "limen/anthropic"
"""  # noqa: E501 - a line of TOML, whose inline tables end on the line they begin


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a configuration file and return its path."""

    def to_file(text: str) -> Path:
        file = tmp_path / "limen.toml"
        file.write_text(text, encoding="utf-8")
        return file

    return to_file


def refusal(source: object) -> str:
    """Load what must be refused; return the message."""
    assert source is None or isinstance(source, Path | dict)
    with pytest.raises(LlmError) as caught:
        load(source)

    assert caught.value.code == "INVALID_CONFIG"
    assert caught.value.__context__ is None
    return caught.value.failure.message


def test_every_field_of_the_documented_file(write: Write) -> None:
    """A file becomes plain routes: names, data, and credential sources instead of keys (K1, K2)."""
    file = write(FULL)

    config = load(file)

    assert config == Config(
        routes=(
            Route(
                name="deepseek",
                adapter="deepseek",
                place="[routes.deepseek]",
                credential=EnvironmentKey(("DEEPSEEK_API_KEY",), "api_key_env of [routes.deepseek]"),
                app="my-app/1.0",
                retry=RetryPolicy(max_retries=2),
            ),
            Route(
                name="work",
                adapter="openai-chat",
                place="[routes.work]",
                dialect="openrouter",
                base_url="https://router.example/v1",
                credential=FileKey(Path("/run/secrets/router"), "api_key_file of [routes.work]"),
                app="other/2",
                headers={"X-Title": "limen"},
                timeouts=Timeouts(connect=10, first_event=600, idle_bytes=120, idle_event=600),
                models=(
                    ModelInfo(
                        provider="work",
                        id="some/model",
                        name="some/model",
                        input_modalities=("text", "image"),
                        context_window=200000,
                        default_max_tokens=32000,
                        efforts=(Effort("off", "off"), Effort("high", "High")),
                        default_effort="high",
                    ),
                ),
                default_max_tokens=900,
            ),
            Route(
                name="ring",
                adapter="anthropic-messages",
                place="[routes.ring]",
                credential=KeyringKey("limen", "anthropic", "api_key_keyring of [routes.ring]"),
                app="my-app/1.0",
            ),
        ),
        app="my-app/1.0",
        proxies=config.proxies,
        file=file,
    )
    assert config.source == str(file)


def test_the_application_named_in_code_wins_over_the_file(write: Write) -> None:
    """`open_runtime(app=…)` names the application; a route's own `user_agent` still stands (Q7)."""
    config = load(write(FULL), app="in-code/3")

    assert (config.app, [route.app for route in config.routes]) == ("in-code/3", ["in-code/3", "other/2", "in-code/3"])


def test_a_document_read_already_is_checked_the_same_way() -> None:
    """A mapping stands for a file: the same checks, and a key path in place of a line (K5)."""
    config = load({"routes": {"a": {"adapter": "fixture", "models": ({"id": "m"},)}}})

    assert [(route.name, route.models) for route in config.routes] == [("a", (ModelInfo("a", "m", "m"),))]
    assert refusal({"routes": {"a": {"adapter": 3}}}) == "routes.a.adapter - expected str, got int"


def test_the_keys_of_a_document_are_strings() -> None:
    """A number for a name is the name that TOML would read (K5)."""
    assert [route.name for route in load({"routes": {5: {"adapter": "fixture"}}}).routes] == ["5"]
    assert refusal({5: {}}).startswith("5 - unknown key")


def test_what_is_not_plain_data_is_refused() -> None:
    """A mapping that no TOML document could be is refused whole (K5)."""
    message = refusal({"routes": {"a": {"adapter": object()}}})

    assert message.startswith("a configuration is plain data, like TOML: ")


def test_what_is_neither_a_path_nor_a_document() -> None:
    """Anything else is no configuration."""
    with pytest.raises(LlmError, match="a configuration is a path or a mapping, not a int"):
        load(3)


def test_no_file_and_an_empty_one_are_different(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`./limen.toml` is used if it is there, also when it is empty; else the environment is asked (K7)."""
    monkeypatch.chdir(tmp_path)

    assert load(None).file is None
    (tmp_path / "limen.toml").write_text("", encoding="utf-8")
    assert load(None).file == tmp_path / "limen.toml"
    assert load(None).source == "limen.toml"


def test_the_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    """An editor's mark at the beginning of the file is no part of it."""
    file = tmp_path / "limen.toml"
    file.write_bytes(b"\xef\xbb\xbf[app]\r\nname = 'a/1'\r\n")

    assert load(file).app == "a/1"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("[routes.a]\nadapter = deepseek\n", 2, "this is not TOML: Invalid value"),
        ("[route.a]\nadapter = 'x'\n", 1, "route - unknown key; a configuration has [app] and [routes.NAME]; did"),
        ("app = 3", 1, "app - expected object, got int"),
        ('[app]\nname = "a\\tb"', 2, 'app.name - an application is named like "my-app/1.0"'),
        ("[app]\nnamed = 'x'", 2, "app.named - unknown key; known here: name, model; did you mean name?"),
        ("routes = 3", 1, "routes - expected object, got int"),
        ("\n[routes]\na = 3", 3, "routes.a - expected object, got int"),
        ("[routes.a]\n", 1, "routes.a - adapter is missing"),
        ("[routes.a]\nadapter = ''", 2, "routes.a.adapter - the adapter's name is empty"),
        ("[routes.a]\nadapter = 3", 2, "routes.a.adapter - expected str, got int"),
        ("[routes.'a/b']\nadapter = 'x'", 1, "routes.'a/b' - a route's name has no spaces, no slash"),
        (
            "[routes.a]\nadapter = 'x'\n\n# why\nbaseurl = 'y'",
            5,
            "routes.a.baseurl - unknown key; known here: adapter,",
        ),
        ("[routes.a]\nadapter = 'x'\nbase_url = 'y'", 3, "routes.a.base_url - it is no http(s) address"),
        ("[routes.a]\nadapter = 'x'\nbase_url = 'ftp://y'", 3, "routes.a.base_url - it is no http(s) address"),
        ("[routes.a]\nadapter = 'x'\nbase_url = 'http://[::1'", 3, "routes.a.base_url - it is no http(s) address"),
        ("[routes.a]\nadapter = 'x'\nbase_url = 'http://h:99999/'", 3, "routes.a.base_url - it is no http(s) address"),
        ("[routes.a]\nadapter = 'x'\nbase_url = 'https://me@h/'", 3, "routes.a.base_url - it holds a user or password"),
        ("[routes.a]\nadapter = 'x'\nbase_url = 'https://h/?a=b'", 3, "routes.a.base_url - a base address has neither"),
        (
            "[routes.a]\nadapter = 'x'\napi_key_env = 'K'\nbase_url = 'http://far.example'",
            4,
            "routes.a.base_url - the key would travel unencrypted over plain http",
        ),
        ("[routes.a]\nadapter = 'x'\ntimeouts = { connect = -1 }", 3, "routes.a.timeouts - timeouts.connect is a pos"),
        ("[routes.a]\nadapter = 'x'\ntimeouts.connect = 'y'", 3, "routes.a.timeouts.connect - expected float, got str"),
        ("[routes.a]\nadapter = 'x'\ntimeouts.conect = 1", 3, "routes.a.timeouts.conect - unknown key; known here: co"),
        (
            "[routes.a]\nadapter = 'x'\nretry.mode = 'y'",
            3,
            "routes.a.retry.mode - unknown word 'y'; it is normal or al",
        ),
        ("[routes.a]\nadapter = 'x'\nretry.jitter = 2", 3, "routes.a.retry - jitter is a number from 0 to 1, got 2"),
        (
            "[routes.a]\nadapter = 'x'\nretry.codes = ['HTTP_418', 'TIMEOUTS']",
            3,
            "routes.a.retry.codes - TIMEOUTS is no code of a failure; did you mean TIMEOUT?",
        ),
        (
            "[routes.a]\nadapter = 'x'\noptions.a = " + "[" * 140 + "]" * 140,
            3,
            "routes.a.options - the value is nested",
        ),
        ("[routes.a]\nadapter = 'x'\nretry.codes = ['x']", 3, "routes.a.retry.codes - x is no code of a failure"),
        ("[routes.a]\nadapter = 'x'\nlimits.depth = 0", 3, "routes.a.limits - limits.depth is a positive whole number"),
        ("[routes.a]\nadapter = 'x'\nheaders.A = 3", 3, "routes.a.headers - expected str, got int"),
        ("[routes.a]\nadapter = 'x'\nheaders.'a b' = 'y'", 3, "routes.a.headers.'a b' - this is no header's name"),
        ("[routes.a]\nadapter = 'x'\nheaders.a = 'ü'", 3, "routes.a.headers.a - a header's value is printable ASCII"),
        ("[routes.a]\nadapter = 'x'\nuser_agent = ''", 3, 'routes.a.user_agent - an application is named like "my-a'),
        ("[routes.a]\nadapter = 'x'\ndefault_max_tokens = 0", 3, "routes.a.default_max_tokens - a number of tokens is"),
        (
            "[routes.a]\nadapter = 'x'\napi_key_env = 'K'\napi_key_file = 'f'",
            4,
            "routes.a.api_key_file - api_key_env and api_key_file are both given; a route has one credential: keep one",
        ),
        ("[routes.a]\nadapter = 'x'\napi_key_file = ' '", 3, "routes.a.api_key_file - this is the path of a file, and"),
        ("[routes.a]\nadapter = 'x'\napi_key_keyring = 'y'", 3, "routes.a.api_key_keyring - a keyring entry is named"),
        (
            "[routes.a]\nadapter = 'x'\nmodels = [\n  { id = 'm' },\n  { id = 'n', efforts = [3] },\n]",
            3,
            "routes.a.models[1].efforts[0] - expected str | object, got int",
        ),
        ("[routes.a]\nadapter = 'x'\n[[routes.a.models]]\nid=' '", 4, "routes.a.models[0].id - a model's id is not em"),
        (
            "[routes.a]\nadapter = 'x'\n[[routes.a.models]]\nid='m'\n[[routes.a.models]]\nid='m'",
            6,
            "routes.a.models[1].id - the model m is listed twice",
        ),
        (
            "[routes.a]\nadapter = 'x'\nmodels = [{ id = 'm', context_window = 0 }]",
            3,
            "routes.a.models[0].context_window - a number of tokens is positive, got 0",
        ),
        (
            f"[routes.a]\nadapter = 'x'\nmodels = [{{ id = 'm', max_tokens = {2**53} }}]",
            3,
            "routes.a.models[0].max_tokens - a number of tokens is below 2**53",
        ),
        (
            f"[routes.a]\nadapter = 'x'\ndefault_max_tokens = {2**70}",
            3,
            "routes.a.default_max_tokens - a number of tokens is below 2**53",
        ),
        (
            "[routes.a]\nadapter = 'x'\nmodels = [{ id = 'm', input = ['text', 'text'] }]",
            3,
            "routes.a.models[0] - input lists each kind once",
        ),
        (
            "[routes.a]\nadapter = 'x'\nmodels = [{ id = 'm', input = ['smell'] }]",
            3,
            "routes.a.models[0].input[0] - unknown word 'smell'; it lists text and image",
        ),
        (
            "[routes.a]\nadapter = 'x'\nmodels = [{ id = 'm', efforts = ['low', 'low'] }]",
            3,
            "routes.a.models[0].efforts - efforts names each effort once",
        ),
        (
            "[routes.a]\nadapter = 'x'\nmodels = [{ id = 'm', efforts = [], default_effort = 'low' }]",
            3,
            "routes.a.models[0].default_effort - low is no effort of this model; it has none",
        ),
        (
            "[routes.a]\nadapter = 'x'\nmodels = [{ id = 'm', default_effort = ' ' }]",
            3,
            "routes.a.models[0].default_effort - the effort is empty",
        ),
    ],
)
def test_a_fault_names_file_line_and_key_path(write: Write, text: str, line: int, message: str) -> None:
    """What does not validate is refused with file, line, key path and what is wrong (K5)."""
    file = write(text)

    assert refusal(file).startswith(f"{file}:{line}: {message}")


def test_a_document_that_ends_too_early_says_so(write: Write) -> None:
    """Where TOML's own error has no line, the message says that the end of the document was reached."""
    file = write("a = {")

    words = "this is not TOML at the end of the document: Invalid initial character for a key part"
    assert refusal(file) == f"{file}: {words}"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """A missing file, a folder, binary data and a giant are refused with the path and the reason (K5)."""
    missing, binary, giant = tmp_path / "none.toml", tmp_path / "b.toml", tmp_path / "g.toml"
    binary.write_bytes(b"a = '\xff'")
    giant.write_bytes(b"#" * (1024 * 1024 + 1))

    assert refusal(missing).startswith(f"{missing}: there is no such file; name another one")
    assert refusal(tmp_path) == f"{tmp_path}: the file cannot be read: Is a directory"
    assert refusal(binary) == f"{binary}: the file is not UTF-8 text (byte 5)"
    assert refusal(giant).startswith(f"{giant}: the file is larger than 1048576 bytes")


def test_nesting_without_end_is_no_recursion_error(write: Write) -> None:
    """A document nested past what the reader can hold is refused like any other (K5)."""
    file = write("a = " + "[" * 5000)

    assert refusal(file).startswith(f"{file}: this is not TOML")


def test_plain_http_with_a_key(write: Write) -> None:
    """A key may go over plain http to this machine, or where the route allows it, or when there is no key (K6)."""
    allowed = """
[routes.here]
adapter = "openai-chat"
api_key_env = "K"
base_url = "http://127.0.0.1:8080/v1"
[routes.name]
adapter = "openai-chat"
api_key_env = "K"
base_url = "http://api.localhost:8080/v1"
[routes.dot]
adapter = "openai-chat"
api_key_env = "K"
base_url = "http://localhost.:8080/v1"
[routes.there]
adapter = "openai-chat"
api_key_env = "K"
allow_plain_http = true
base_url = "http://far.example/v1"
[routes.open]
adapter = "openai-chat"
base_url = "http://far.example/v1"
"""

    assert len(load(write(allowed)).routes) == 5


def test_relative_paths_belong_to_the_file(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path is relative to the configuration file, `~` is the home folder; a bare name stays one."""
    monkeypatch.setenv("HOME", "/home/someone")
    (tmp_path / "here.json").write_text("{}", encoding="utf-8")
    text = "[routes.a]\nadapter = 'fixture'\npath = '{}'\napi_key_file = '{}'\n"

    found = [
        (route.path, route.credential)
        for names in (("sample", "key"), ("here.json", "~/key"), ("sub/x.json", "/key"))
        for route in load(write(text.format(*names))).routes
    ]

    place = "api_key_file of [routes.a]"
    assert found == [
        ("sample", FileKey(tmp_path / "key", place)),
        (str(tmp_path / "here.json"), FileKey(Path("/home/someone/key"), place)),
        (str(tmp_path / "sub/x.json"), FileKey(Path("/key"), place)),
    ]


def test_a_home_that_nobody_knows(write: Write) -> None:
    """`~nobody` stays as it is written: reading it says that there is no such file."""
    config = load(write("[routes.a]\nadapter = 'x'\napi_key_file = '~no-such-user/key'\n"))

    assert config.routes[0].credential == FileKey(Path("~no-such-user/key"), "api_key_file of [routes.a]")


def test_the_order_of_keys_changes_nothing(write: Write) -> None:
    """Two files that say the same give equal routes, so that a reload can tell what changed."""
    one = load(write("[routes.a]\nadapter = 'x'\ndialect = 'y'\nheaders = { A = '1', B = '2' }\n"))
    two = load(write("[routes.a]\nheaders = { B = '2', A = '1' }\ndialect = 'y'\nadapter = 'x'\n"))

    assert one == two
