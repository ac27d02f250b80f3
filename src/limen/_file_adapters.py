"""The two adapters that answer from a file, with no network: `fixture` and `cassette`."""

from collections.abc import Sequence
from typing import Final

import msgspec

from limen._registration import wire_names, wire_of
from limen.adapters import AdapterSpec
from limen.contract import ModelInfo
from limen.fixture import FixtureLlmAdapter, load_fixture
from limen.recording import Cassette, CassetteAdapter


class FixtureOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of the adapter `fixture`: `path` is the fixture's file, or the bare name of a sample."""

    path: str


class CassetteOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of the adapter `cassette`: `path` is a file or a folder, `models` are facts of the recorded route."""

    path: str
    models: Sequence[ModelInfo] = ()


def _fixture(options: FixtureOptions) -> FixtureLlmAdapter:
    return FixtureLlmAdapter(load_fixture(options.path))


def _cassette(options: CassetteOptions) -> CassetteAdapter:
    return CassetteAdapter(Cassette.load(options.path), [wire_of(name) for name in wire_names()], models=options.models)


FIXTURE: Final = AdapterSpec(name="fixture", adapter=_fixture, options=FixtureOptions)
CASSETTE: Final = AdapterSpec(name="cassette", adapter=_cassette, options=CassetteOptions)
