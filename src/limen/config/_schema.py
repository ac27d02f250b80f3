"""The shape of `limen.toml`, field by field; unknown keys are refused."""

from collections.abc import Mapping, Sequence

import msgspec

from limen.contract import ErrorMatch, FrozenDict, Limits, Modality, RetryPolicy, Timeouts


class AppTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[app]`: `name` is the application's part of the `User-Agent`, such as "my-app/1.0" (Q7).

    `model` is the model that the command asks where it is given none, as ROUTE/MODEL.
    """

    name: str | None = None
    model: str | None = None


class EffortTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One reasoning effort of a model, where its id alone does not say enough."""

    id: str
    name: str | None = None
    description: str | None = None


class ModelTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One model of a route: only what is known of it (R10).

    `max_tokens` becomes the request's `max_tokens` where a call names none (R4).
    """

    id: str
    name: str | None = None
    description: str | None = None
    context_window: int | None = None
    max_tokens: int | None = None
    input: Sequence[Modality] | None = None
    efforts: Sequence[str | EffortTable] | None = None
    default_effort: str | None = None


class RouteSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of a route that mean the same in the file and in `Route`; each but `options` is an adapter's option.

    `path` is the file of an adapter that answers from one. `proxy`, `ca_file`, `client_cert_file` and
    `client_key_file` together make the adapter's option `transport`. `options` are those of the adapter alone, checked
    against its own options type (`settings_of`).
    """

    dialect: str | None = None
    base_url: str | None = None
    allow_plain_http: bool = False
    headers: Mapping[str, str] = FrozenDict[str]()
    key_header: str | None = None
    query: Mapping[str, str] = FrozenDict[str]()
    errors: Sequence[ErrorMatch] = ()
    require_finish: bool = False
    proxy: str | None = None
    ca_file: str | None = None
    client_cert_file: str | None = None
    client_key_file: str | None = None
    timeouts: Timeouts | None = None
    limits: Limits | None = None
    retry: RetryPolicy | None = None
    default_max_tokens: int | None = None
    path: str | None = None
    options: Mapping[str, object] = FrozenDict[object]()


class RouteTable(RouteSettings, frozen=True):
    """`[routes.NAME]`: one adapter under one name; beside the settings its credential, name and models."""

    adapter: str
    api_key_env: str | None = None
    api_key_file: str | None = None
    api_key_keyring: str | None = None
    headers_env: Mapping[str, str] = FrozenDict[str]()
    headers_file: Mapping[str, str] = FrozenDict[str]()
    user_agent: str | None = None
    models: Sequence[ModelTable] = ()


TABLES: Mapping[str, type[msgspec.Struct]] = {
    "app": AppTable,
    "timeouts": Timeouts,
    "limits": Limits,
    "retry": RetryPolicy,
    "errors": ErrorMatch,
    "models": ModelTable,
    "efforts": EffortTable,
}
"""Struct of each named table, for messages that list the known keys."""
