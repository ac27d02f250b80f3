"""`limen doctor`: findings about configuration and keys, each with what to do next; never a key."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

import click

from limen import _compose
from limen.cli._calls import finish
from limen.cli._options import command, json_option
from limen.cli._report import FAILED, complain
from limen.cli._routes import loaded
from limen.cli._show import json_lines
from limen.config import Config, Route, without_address
from limen.contract import LlmError, clean_header, clean_key, codes, scrub

if TYPE_CHECKING:
    from limen.adapters import Codec

State: TypeAlias = Literal["ok", "note", "fault"]


ONLINE_TIMEOUT_S: Final = 20


class Finding(NamedTuple):
    """One thing that was looked at; `remedy` is what to do next, where there is something to do."""

    state: State
    subject: str
    words: str
    remedy: str = ""


@command("doctor", example="limen doctor --online")
@click.option("--online", is_flag=True, help="Ask each provider for its models, without a paid call.")
@json_option
def doctor(*, online: bool, as_json: bool) -> int:
    """Say what is missing, and what to do next.

    Looks at the configuration and the keys; with --online also at whether each provider answers.
    """
    return finish(_doctor(online=online, as_json=as_json))


async def _doctor(*, online: bool, as_json: bool) -> int:
    config = loaded()
    faults = 0
    async for finding in _findings(config, online=online):
        faults += finding.state == "fault"
        if as_json:
            json_lines([{name: scrub(value) for name, value in finding._asdict().items()}])
            continue
        mark = {"ok": "ok   ", "note": "note ", "fault": "FAULT"}[finding.state]
        click.echo(scrub(f"{mark}  {finding.subject}: {finding.words}"))
        if finding.remedy:
            click.echo(scrub(f"       → {finding.remedy}"))
    if faults:
        words = (
            "needs something done; the arrow says what" if faults == 1 else "need something done; the arrows say what"
        )
        complain(codes.INVALID_CONFIG, f"{faults} of these {words}")
    return FAILED if faults else 0


async def _findings(config: Config, *, online: bool) -> AsyncIterator[Finding]:
    yield Finding("ok", "configuration", f"read from {config.source}, {_counted(len(config.routes))}")
    if not config.routes:
        half: Mapping[str, tuple[str, str]] = without_address(_compose.known_providers()) if config.file is None else {}
        for name, (variable, missing) in half.items():
            words = f"{variable} is set, and the address is missing, which every user of {name} has another of"
            yield Finding("fault", name, words, f"set {missing} too, or write [routes.{name}] into limen.toml")
        if not half:
            variables = ", ".join(sorted(_variables()))
            yield Finding("fault", "routes", "there is none", f"set one of {variables}, or write a limen.toml")
    proxies = [name for name, value in (("http", config.proxies.http), ("https", config.proxies.https)) if value]
    if proxies:
        yield Finding("note", "proxy", f"the environment names one for {' and '.join(proxies)}")
    for name, fault in _compose.faults().items():
        yield Finding("note", f"adapter {name}", fault, "update or uninstall that distribution")
    for route in config.routes:
        found = _adapter_finding(route, config)
        yield found
        if found.state == "fault":
            continue
        key = await _key_finding(route)
        yield key
        for header in await _header_findings(route):
            yield header
        if online and key.state != "fault":
            yield await _online_finding(route, config)


def _variables() -> set[str]:
    """Return every variable that makes a route: of keys, and of the addresses of servers that need none."""
    known = _compose.known_providers()
    keys = {name for row in known for name in row.key_variables}
    return keys | {name for row in known if not row.requires_key for name in row.address_variables}


def _counted(routes: int) -> str:
    return "1 route" if routes == 1 else f"{routes} routes"


def _adapter_finding(route: Route, config: Config) -> Finding:
    try:
        _compose.make_adapter(route, config)
    except LlmError as error:
        return Finding("fault", route.name, error.failure.message, f"change it in {route.place}")
    codec = _compose.codec_of(route)
    address = route.base_url or (codec.base_url if codec is not None else None)
    return Finding("ok", route.name, f"adapter {route.adapter}{f' at {address}' if address else ''}")


async def _key_finding(route: Route) -> Finding:
    from limen.adapters import RowCodec  # loaded by now, with the route's adapter

    codec = _compose.codec_of(route)
    needed = codec is not None and codec.requires_key
    credential = _compose.credential_of(route)
    if credential is None:
        if route.secret_headers or (codec is not None and _brings_auth(route, codec)):
            return Finding("ok", route.name, "no key is named; the route's own headers carry the credential")
        if isinstance(codec, RowCodec) and codec.credentials is not None:
            return Finding("note", route.name, f"no key is named; a call takes {codec.credentials}")
        if not needed:
            return Finding("ok", route.name, "no key is named and none is sent")
        remedy = f'write api_key_env = "{_variable(route)}" into {route.place}, and set that variable'
        return Finding("fault", route.name, "the provider asks for a key and the route names none", remedy)
    reference = credential.reference
    try:
        key = await credential.api_key()
        if key is None:
            return Finding("fault", route.name, f"there is no key in {reference}", f"put the key into {reference}")
        clean_key(key, reference)
    except LlmError as error:
        unusable = error.code == codes.INVALID_CREDENTIAL
        remedy = "put a key there that is one line of printable ASCII" if unusable else f"name another in {route.place}"
        return Finding("fault", route.name, error.failure.message, remedy)
    return Finding("ok", route.name, f"there is a key in {reference}")


def _brings_auth(route: Route, codec: "Codec") -> bool:
    return not {name.lower() for name in route.headers}.isdisjoint((*codec.auth_headers, "authorization"))


async def _header_findings(route: Route) -> list[Finding]:
    """Look whether each secret header of a route has a value, without sending it (K1)."""
    found: list[Finding] = []
    for name, source in route.secret_headers.items():
        place = source.reference
        words, remedy = f"the header {name} has no value in {place}", f"put the value into {place}"
        try:
            value = await source.api_key()
            if value is not None:
                clean_header(value, place)
                words, remedy = f"the header {name} has a value in {place}", ""
        except LlmError as error:
            words = error.failure.message
        found.append(Finding("fault" if remedy else "ok", route.name, words, remedy))
    return found


def _variable(route: Route) -> str:
    codec = _compose.codec_of(route)
    return codec.key_variables[0] if codec is not None and codec.key_variables else "MY_API_KEY"


async def _online_finding(route: Route, config: Config) -> Finding:
    codec = _compose.codec_of(route)
    if codec is not None and codec.models_path is None:
        # A list that nobody is asked for says nothing of the server.
        return Finding("note", route.name, "has no list of models, so it was not asked whether it answers")
    adapter = _compose.make_adapter(route, config)
    try:
        async with asyncio.timeout(ONLINE_TIMEOUT_S):
            models = await adapter.list_models(route.name)
    except TimeoutError:
        words = f"no answer within {ONLINE_TIMEOUT_S} s"
        return Finding("fault", route.name, words, _online_remedy(codes.TIMEOUT, route))
    except LlmError as error:
        return Finding("fault", route.name, f"{error.code}: {error.failure.message}", _online_remedy(error.code, route))
    finally:
        await adapter.aclose()
    return Finding("ok", route.name, f"answers, and lists {len(models)} models")


def _online_remedy(code: str, route: Route) -> str:
    if code in (codes.AUTH, codes.INVALID_CREDENTIAL):
        return "the provider refuses the key: make a new one, and check that it is for this address"
    if code in (codes.TRANSPORT, codes.TIMEOUT):
        return f"check base_url in {route.place}, the network and the proxy"
    if code == codes.QUOTA:
        return "add credit at the provider, or raise its limit"
    return f"check base_url and dialect in {route.place}"
