"""Amazon Bedrock by Converse: the models of every vendor behind one wire."""

from typing import Final

from limen.adapters._aws import AwsCredentials
from limen.adapters._spec import AdapterSpec
from limen.adapters.bedrock._adapter import WIRE, BedrockAdapter, BedrockOptions, codec_of

SPEC: Final = AdapterSpec(
    name="bedrock",
    adapter=BedrockAdapter,
    options=BedrockOptions,
    wire=WIRE,
    codec=codec_of,
    description="limen.testing.wires.bedrock_converse:WIRE",
)

__all__ = ["SPEC", "WIRE", "AwsCredentials", "BedrockAdapter", "BedrockOptions"]
