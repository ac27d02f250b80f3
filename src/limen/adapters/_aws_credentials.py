"""Credentials by botocore's chain: environment, profiles, SSO, roles, containers, instance metadata.

botocore reads all of these itself, and calls services where it must, so it is asked in a thread.
"""

import asyncio
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from limen.adapters._aws import SERVICE, AwsCredentials, region_fault
from limen.adapters._codec import WireOptions
from limen.contract import LlmError, ValueSource, codes, foreign_text

if TYPE_CHECKING:
    from botocore.credentials import Credentials
    from botocore.session import Session

Made = TypeVar("Made", bound=WireOptions)


def signs(options: WireOptions, *, region: str | None, profile: str | None) -> bool:
    """Tell whether requests are signed: the options bring neither a key nor a header that carries a credential.

    Raises `INVALID_CONFIG` for a region that is none, and for a profile beside a key.
    """
    fault = None if region is None else region_fault(region)
    keyed = options.api_key is not None and not isinstance(options.api_key, ValueSource)
    if fault is None and profile is not None and options.api_key is not None:
        fault = "profile names credentials, and so does the key; keep one of them"
    if fault is not None:
        raise LlmError(fault, codes.INVALID_CONFIG, phase="resolve")
    brought = bool(options.secret_headers) or "authorization" in {name.lower() for name in options.headers}
    return not keyed and not (brought and options.api_key is None)


def with_chain(options: Made, *, profile: str | None) -> Made:
    """Return options whose credential is botocore's chain, unless they have a source of their own."""
    return replace(options, api_key=AwsChain(profile)) if options.api_key is None else options


class AwsChain:
    """A `ValueSource` of what botocore finds: the first credentials of its chain.

    `profile` names one of `~/.aws/config`; without it `AWS_BEARER_TOKEN_BEDROCK` goes first, and the chain's profile
    is `AWS_PROFILE` or the default. Temporary credentials are
    refreshed before they expire. The region is the profile's, or that of `AWS_REGION` or `AWS_DEFAULT_REGION`.
    """

    def __init__(self, profile: str | None = None) -> None:
        self._profile = profile
        self._session: Session | None = None
        self._found: Credentials | None = None
        self._method = ""

    @property
    def reference(self) -> str:
        """The place that the credentials came from, as botocore names it, and the profile."""
        method = f" from {self._method}" if self._method else ""
        profile = "" if self._profile is None else f" (profile {self._profile})"
        return f"the AWS credentials{method}{profile}"

    async def credential(self) -> AwsCredentials:
        """Return the credentials as they are now.

        Raises `MISSING_CREDENTIAL` where there are none, or no botocore to look for them, and `INVALID_CREDENTIAL`,
        naming the source, for those that cannot be refreshed.
        """
        found = await asyncio.to_thread(self._ask)
        if isinstance(found, LlmError):
            # Raised out here, so that no exception chain holds what a foreign exception says (E5).
            raise found
        return found

    def _ask(self) -> AwsCredentials | LlmError:
        try:
            return self._resolved()
        except ImportError:
            words = (
                "AWS credentials need botocore: install limen[bedrock], or name an API key of Bedrock, such as "
                'api_key_env = "AWS_BEARER_TOKEN_BEDROCK"'
            )
            return LlmError(words, codes.MISSING_CREDENTIAL, phase="resolve")
        except Exception as error:  # noqa: BLE001 - every provider of the chain raises errors of its own
            words = f"{self.reference} cannot be used: {foreign_text(error)}"
            return LlmError(words, codes.INVALID_CREDENTIAL, phase="resolve")

    def _resolved(self) -> AwsCredentials | LlmError:
        from botocore.utils import get_token_from_environment

        session = self._session or self._opened()
        region: object = session.get_config_variable("region")
        region = region if isinstance(region, str) else None
        # AWS's own SDKs prefer it to keys that sign; a profile that the route names is more to the point than either.
        bearer = None if self._profile is not None else get_token_from_environment(SERVICE)
        if bearer is not None:
            self._method = "AWS_BEARER_TOKEN_BEDROCK"
            return AwsCredentials(bearer=bearer, region=region, source=self.reference)
        if self._found is None:
            self._found = session.get_credentials()
        if self._found is None:
            words = (
                f"the route has no AWS credentials: botocore found none{self._of_profile()} in the environment, "
                "~/.aws/credentials, ~/.aws/config (SSO, roles), a container's or an instance's role. Put them there, "
                'or name an API key of Bedrock, such as api_key_env = "AWS_BEARER_TOKEN_BEDROCK"'
            )
            return LlmError(words, codes.MISSING_CREDENTIAL, phase="resolve")
        self._method = self._found.method or ""
        keys = self._found.get_frozen_credentials()
        return AwsCredentials(
            access_key=keys.access_key or "",
            secret_key=keys.secret_key or "",
            token=keys.token,
            region=region,
            source=self.reference,
        )

    def _of_profile(self) -> str:
        return "" if self._profile is None else f" for the profile {self._profile}"

    def _opened(self) -> "Session":
        import botocore.session

        # botocore by itself does not read AWS_REGION, which every other SDK of Amazon's does.
        variables = {"region": ("region", ["AWS_REGION", "AWS_DEFAULT_REGION"], None, None)}
        session = botocore.session.Session(session_vars=variables, profile=self._profile)
        self._session = session
        return session

    def __repr__(self) -> str:
        return f"AwsChain(profile={self._profile!r})"
