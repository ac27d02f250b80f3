"""`limen routes` and `limen models`: lists of routes and models."""

from typing import TYPE_CHECKING

import click

from limen import _compose
from limen.cli import _settings
from limen.cli._calls import check_route, finish
from limen.cli._options import command, json_option
from limen.cli._report import complain_failure
from limen.cli._show import columns, json_lines
from limen.config import Config, Route, load
from limen.contract import CredentialSource, LlmError, ModelInfo

if TYPE_CHECKING:
    from limen.adapters import Codec


def loaded() -> Config:
    """Read the configuration as a runtime would."""
    return load(_settings.config_file(), known=_compose.known_providers, app=_settings.APP)


@command("routes", example="limen routes --json")
@json_option
def routes(*, as_json: bool) -> int:
    """List the configured routes.

    Shown are adapter, address and where the key comes from; never the key. A route whose settings its adapter does
    not have is listed as it is written, and the exit code is 2.
    """
    config = loaded()
    if not config.routes:
        check_route("", [])
    rows: list[tuple[str, ...]] = []
    faults: list[LlmError] = []
    for route in config.routes:
        try:
            rows.append(_row(route, _compose.codec_of(route), _compose.credential_of(route)))
        except LlmError as fault:
            rows.append(_row(route, None, route.credential))
            faults.append(fault)
    if as_json:
        json_lines([dict(zip(("route", "adapter", "address", "keyFrom"), row, strict=True)) for row in rows])
    else:
        columns([("ROUTE", "ADAPTER", "ADDRESS", "KEY FROM"), *rows])
    return max((complain_failure(fault.failure) for fault in faults), default=0)


def _row(route: Route, codec: "Codec | None", credential: CredentialSource | None) -> tuple[str, ...]:
    adapter = route.adapter if codec is None or codec.dialect == route.adapter else f"{route.adapter} ({codec.dialect})"
    address = route.base_url or (codec.base_url if codec is not None else None) or route.path or "-"
    key = "no key is named" if credential is None else credential.reference.partition(" (")[0]
    return (route.name, adapter, address, key)


@command("models", example="limen models deepseek")
@click.argument("route", required=False)
@json_option
def models(*, route: str | None, as_json: bool) -> int:
    """List the models that the routes know of: those of ROUTE, or of all.

    A provider's own list where it has one, else what is configured. Any other id may be used as well.
    """
    return finish(_models(route, as_json=as_json))


async def _models(route: str | None, *, as_json: bool) -> int:
    failed = 0
    found: list[ModelInfo] = []
    async with _compose.open_runtime(_settings.config_file(), app=_settings.APP) as llm:
        names = [info.id for info in llm.list_providers()]
        if route is not None or not names:
            check_route(route or "", names)
        for name in names if route is None else [route]:
            try:
                found += await llm.list_models(name)
            except LlmError as error:
                failed = max(failed, complain_failure(error.failure))
    if as_json:
        json_lines([_model_facts(model) for model in found])
    elif found:
        columns([("MODEL", "CONTEXT", "MAX TOKENS", "INPUT", "EFFORTS"), *map(_model_row, found)])
    elif not failed:
        click.echo("no models are known; a model's id may still be used, or listed in limen.toml")
    return failed


def _model_row(model: ModelInfo) -> tuple[str, ...]:
    def number(count: int | None) -> str:
        return "-" if count is None else str(count)

    return (
        f"{model.provider}/{model.id}",
        number(model.context_window),
        number(model.default_max_tokens),
        ",".join(model.input_modalities or ()) or "-",
        ",".join(effort.id for effort in model.efforts or ()) or "-",
    )


def _model_facts(model: ModelInfo) -> dict[str, object]:
    """Return what is known of a model, without what is not."""
    facts: dict[str, object] = {
        "route": model.provider,
        "id": model.id,
        "name": model.name,
        "description": model.description,
        "contextWindow": model.context_window,
        "maxTokens": model.default_max_tokens,
        "input": model.input_modalities,
        "efforts": None if model.efforts is None else [effort.id for effort in model.efforts],
        "defaultEffort": model.default_effort,
    }
    return {name: value for name, value in facts.items() if value is not None}
