"""Credentials, signatures, regions and addresses of Amazon's cloud; botocore reads files of the test's own folder."""

import asyncio
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from limen.adapters._aws import AwsCredentials, error_body, located, missing_region, region_fault, signed
from limen.adapters._aws_credentials import AwsChain
from limen.adapters.bedrock import BedrockAdapter, BedrockOptions
from limen.adapters.bedrock._adapter import codec_of
from limen.contract import LlmError, WireRequest, codes, scrub
from limen.transport import HttpRequest

pytest.importorskip("botocore")

SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
KEYS = AwsCredentials(access_key="AKIDEXAMPLE", secret_key=SECRET, source="the test")
MOMENT = datetime(2026, 11, 30, tzinfo=UTC)
HOST = "https://bedrock-runtime.us-east-1.amazonaws.com"
PATH = "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream"
ARN = "arn%3Aaws%3Abedrock%3Aeu-west-1%3A123456789012%3Aapplication-inference-profile%2Fabc"
BODY = b'{"messages":[{"role":"user","content":[{"text":"hi"}]}]}'
ASKED = HttpRequest("POST", HOST + PATH, [("content-type", "application/json"), ("user-agent", "limen/1")], BODY)
ADDRESS = "https://bedrock-runtime.{region}.amazonaws.com"


def authorization(names: str, signature: str, scope: str = "us-east-1") -> str:
    return (
        f"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261130/{scope}/bedrock/aws4_request, "
        f"SignedHeaders={names}, Signature={signature}"
    )


def test_signing_vectors() -> None:
    """The signatures of the wire's sheet, recomputed in two independent implementations, are ours."""
    signature = "b63b9ad89f0ceb65ebe0612cb3f440b072d340fb548ae05081ed4755f8653fe7"
    assert signed(ASKED, KEYS, "us-east-1", MOMENT) == [
        ("x-amz-date", "20261130T000000Z"),
        ("authorization", authorization("content-type;host;x-amz-date", signature)),
    ]
    signature = "eb5163a5a446d12e75383ee6516481960fbff5b25be09692dfedf837cebd05a0"
    temporary = msgspec.structs.replace(KEYS, token="TOKEN")
    assert signed(ASKED, temporary, "us-east-1", MOMENT) == [
        ("x-amz-date", "20261130T000000Z"),
        ("authorization", authorization("content-type;host;x-amz-date;x-amz-security-token", signature)),
        ("x-amz-security-token", "TOKEN"),
    ]


def test_a_codec_signs_as_an_authorizer() -> None:
    """Signed headers carry the region of the address, else the route's, else the profile's (K2)."""
    codec = codec_of(BedrockOptions(region="eu-central-1"))
    headers = dict(codec.authorize(ASKED, KEYS))
    assert "/us-east-1/bedrock/aws4_request" in headers["authorization"]
    there = ASKED._replace(url="https://vpce-1.example.com/model/x/converse-stream")
    assert "/eu-central-1/bedrock/" in dict(codec.authorize(there, KEYS))["authorization"]
    plain = codec_of(BedrockOptions())
    assert (
        "/sa-east-1/bedrock/"
        in dict(plain.authorize(there, msgspec.structs.replace(KEYS, region="sa-east-1")))["authorization"]
    )
    with pytest.raises(LlmError) as caught:
        plain.authorize(there, KEYS)
    assert caught.value.code == codes.INVALID_CONFIG
    bearer = AwsCredentials(bearer="abc-bearer")
    assert list(plain.authorize(there, bearer)) == [("authorization", "Bearer abc-bearer")]
    assert list(codec_of(BedrockOptions(api_key="k")).authorize(there, "k")) == [("authorization", "Bearer k")]


def test_credentials_show_nothing() -> None:
    """No repr shows a key, and what is printed of one is masked (E5)."""
    shown = AwsCredentials(access_key="AKID", secret_key="very-secret-key-1", token="very-secret-token-2", source="x")
    assert repr(shown) == "AwsCredentials(source='x', region=None)"
    assert "very-secret" not in scrub("very-secret-key-1 very-secret-token-2")
    assert "very" not in repr((shown.secret_key, shown.token))


def at(base_url: str, path: str, region: str | None = None, own: str | None = None, method: str = "POST") -> str:
    credential = AwsCredentials(region=own)
    return located(base_url, WireRequest(method, path, {}, b""), region, credential)


def test_regions() -> None:
    """The region is that of the model's ARN, else the route's, else the profile's; else the call says so."""
    model = "/model/x/converse-stream"
    assert at(ADDRESS, f"/model/{ARN}/converse-stream", "us-east-1") == ADDRESS.replace("{region}", "eu-west-1")
    assert at(ADDRESS, model, "us-east-1", "us-west-2") == HOST
    assert at(ADDRESS, model, None, "us-west-2") == ADDRESS.replace("{region}", "us-west-2")
    assert at(ADDRESS, model, "cn-north-1") == "https://bedrock-runtime.cn-north-1.amazonaws.com.cn"
    fips = "https://bedrock-runtime-fips.{region}.amazonaws.com"
    assert at(fips, model, "us-gov-west-1") == "https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com"
    assert at("http://127.0.0.1:1", model) == "http://127.0.0.1:1"
    assert at(ADDRESS, "/foundation-models", "us-east-1", method="GET") == "https://bedrock.us-east-1.amazonaws.com"
    with pytest.raises(LlmError) as caught:
        located(ADDRESS, WireRequest("POST", "/model/arn%3Aaws%3Abedrock%3A%3A1%3Ax/converse", {}, b""), None, "key")
    assert caught.value.failure.message == missing_region().failure.message
    assert region_fault("eu-west-1") is None
    assert region_fault("https://x") == "region is a name such as us-east-1, got 'https://x'"


def test_error_types_stand_in_a_header() -> None:
    """The type of a failed answer is read from `x-amzn-errortype`; a body with one of its own stays."""
    header = {"x-amzn-errortype": "ValidationException:http://internal.amazon.com/coral/x/"}
    assert error_body(header, b'{"message":"m"}') == b'{"type":"ValidationException","message":"m"}'
    assert error_body({}, b'{"message":"m"}') == b'{"message":"m"}'
    assert error_body(header, b"<html>") == b"<html>"
    assert error_body(header, b'{"error":{}}') == b'{"error":{}}'


def test_options_that_exclude_each_other() -> None:
    """A region that is none, and a profile beside a key, are `INVALID_CONFIG`."""
    for options in (
        BedrockOptions(region="US East"),
        BedrockOptions(profile="dev", api_key="k"),
        BedrockOptions(key_header="x-key"),
    ):
        with pytest.raises(LlmError) as caught:
            BedrockAdapter(options)
        assert caught.value.code == codes.INVALID_CONFIG
    assert codec_of(BedrockOptions(headers={"Authorization": "Bearer x"})).signs is False
    assert codec_of(BedrockOptions()).signs is True


# -- botocore's chain


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without credentials, whose files stand in a folder of the test's own."""
    for name in (
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_PROFILE",
        "AWS_DEFAULT_PROFILE",
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
        "AWS_BEARER_TOKEN_BEDROCK",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    return tmp_path


def found(chain: AwsChain) -> AwsCredentials:
    return asyncio.run(chain.credential())


def refused(chain: AwsChain) -> tuple[str, str]:
    with pytest.raises(LlmError) as caught:
        asyncio.run(chain.credential())
    assert caught.value.__cause__ is None
    return caught.value.code, caught.value.failure.message


def test_keys_of_the_environment(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys and region of the environment are found, and their source is named."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID1")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-environment")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token-of-environment")
    monkeypatch.setenv("AWS_REGION", "eu-north-1")
    chain = AwsChain()
    assert chain.reference == "the AWS credentials"
    for _ in range(2):
        assert found(chain) == AwsCredentials(
            access_key="AKID1",
            secret_key="secret-of-environment",
            token="token-of-environment",
            region="eu-north-1",
            source="the AWS credentials from env",
        )
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-key")
    bearer = found(AwsChain())
    assert (bearer.bearer, bearer.region) == ("bedrock-key", "eu-north-1")
    assert bearer.source == "the AWS credentials from AWS_BEARER_TOKEN_BEDROCK"


def test_a_profile(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A profile's keys and region are its own, and come before a bearer token of the environment."""
    (home / "credentials").write_text("[dev]\naws_access_key_id = AKID2\naws_secret_access_key = secret-of-profile\n")
    (home / "config").write_text("[profile dev]\nregion = us-west-2\n")
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-key")
    chain = AwsChain("dev")
    keys = found(chain)
    assert (keys.access_key, keys.region, keys.bearer) == ("AKID2", "us-west-2", None)
    assert chain.reference == "the AWS credentials from shared-credentials-file (profile dev)"
    assert repr(chain) == "AwsChain(profile='dev')"


def test_no_credentials(home: Path) -> None:
    """Without any the call says every place that was looked at (K4); an unknown profile is named."""
    code, message = refused(AwsChain())
    assert code == codes.MISSING_CREDENTIAL
    assert "botocore found none in the environment, ~/.aws/credentials, ~/.aws/config" in message
    (home / "config").write_text("[profile bare]\nregion = us-west-2\n")
    assert "found none for the profile bare in" in refused(AwsChain("bare"))[1]
    code, message = refused(AwsChain("nobody"))
    assert code == codes.INVALID_CREDENTIAL
    assert message.startswith("the AWS credentials (profile nobody) cannot be used: ")


def test_credentials_that_cannot_be_refreshed_name_their_source(home: Path) -> None:
    """An expired sign-in says which source and profile it is of, and nothing is sent."""
    (home / "config").write_text(
        "[profile sso]\nregion = us-west-2\nsso_start_url = https://x.awsapps.com/start\nsso_region = us-west-2\n"
        "sso_account_id = 123456789012\nsso_role_name = Dev\n"
    )
    code, message = refused(AwsChain("sso"))
    assert code == codes.INVALID_CREDENTIAL
    assert message.startswith("the AWS credentials from sso (profile sso) cannot be used: ")


def test_credentials_of_a_process_are_refreshed(home: Path) -> None:
    """Temporary credentials near their end are fetched again by the source that they came from."""
    count = home / "count"
    script = home / "process.py"
    script.write_text(
        "import json, pathlib, sys\n"
        "place = pathlib.Path(sys.argv[1])\n"
        "number = int(place.read_text() or 0) + 1 if place.exists() else 1\n"
        "place.write_text(str(number))\n"
        "print(json.dumps({'Version': 1, 'AccessKeyId': f'AKID{number}', 'SecretAccessKey': 'secret-of-process',\n"
        "    'SessionToken': 'token-of-process', 'Expiration': sys.argv[2]}))\n"
    )
    soon = (datetime.now(UTC) + timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    (home / "config").write_text(
        f"[profile temp]\ncredential_process = {sys.executable} {script} {count} {soon}\nregion = us-west-2\n"
    )
    chain = AwsChain("temp")
    assert [found(chain).access_key, found(chain).access_key] != ["AKID1", "AKID1"]
    assert chain.reference == "the AWS credentials from custom-process (profile temp)"


def test_without_botocore(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra, the call says what to install or which key to name (K4)."""
    monkeypatch.setitem(sys.modules, "botocore.utils", None)
    code, message = refused(AwsChain())
    assert code == codes.MISSING_CREDENTIAL
    assert "install limen[bedrock]" in message
