"""A call that was proved before it costs anything (R3)."""

from collections.abc import Callable, Mapping

from limen.contract import GenerateOptions, ModelInfo, RetryPolicy
from limen.runtime._prepare import Binding
from limen.runtime._stream import ModelStream


class PreparedCall:
    """Options, model facts, retry policy and dispatch of one adapter generation; used once (R3).

    It is served by the adapter that it was prepared with, also where the route has another by now.
    """

    __slots__ = ("_binding", "_make", "_used")

    def __init__(self, binding: Binding, make: Callable[[Binding], ModelStream]) -> None:
        self._binding = binding
        self._make = make
        self._used = False

    @property
    def options(self) -> GenerateOptions:
        """The options with the adapter's defaults in them; the same object as was given where it declares none."""
        return self._binding.options

    @property
    def model(self) -> ModelInfo:
        """What the adapter knows of the model."""
        return self._binding.model

    @property
    def adapter_defaults(self) -> Mapping[str, object]:
        """What of the options is the adapter's default, as `{field: value}` (R4)."""
        return self._binding.defaults

    @property
    def retry_policy(self) -> RetryPolicy:
        """The route's retry policy when the call was prepared."""
        return self._binding.policy

    def stream(self) -> ModelStream:
        """Make the stream of this call. A second one, or one whose options an interceptor changed, ends in
        `INVALID_PREPARED_CALL`.
        """
        binding = self._binding._replace(spent=True) if self._used else self._binding
        self._used = True
        return self._make(binding)
