"""The public kit: a provider that misbehaves on command (`MockProvider`) and a judge for any adapter.

`limen.testing.server` is the provider, `limen.testing.conformance` the judge, `limen.testing.pytest_plugin` brings
both to pytest.
"""

from limen.testing.server import FAULTS, SCENARIOS, MockProvider, RecordedRequest, Script

__all__ = ["FAULTS", "SCENARIOS", "MockProvider", "RecordedRequest", "Script"]
