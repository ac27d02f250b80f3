"""Each dialect row's own server, by the messages that it was seen to send for each kind of failure (E3)."""

import json

import pytest

from limen.adapters.openai_chat import ROWS, WIRE
from limen.contract import codes

CONTEXT = codes.CONTEXT_WINDOW_EXCEEDED
MODEL = codes.MODEL_NOT_FOUND
QUOTA = codes.QUOTA
FILTER = codes.CONTENT_FILTER

# dialect, status, the error's message, its code; where each was seen stands beside its sentence in kit/errors
SEEN = [
    ("openai", 400, "Your input exceeds the context window of this model. Please adjust your input and try", CONTEXT),
    ("openai", 404, "The model `x` does not exist or you do not have access to it.", MODEL),
    ("openai", 429, "You exceeded your current quota, please check your plan and billing details.", QUOTA),
    ("openai", 400, "Your request was rejected as a result of our safety system.", FILTER),
    ("azure", 400, "This model's maximum context length is 128000 tokens. However, your messages resulted in", CONTEXT),
    ("azure", 404, "The API deployment for this resource does not exist.", MODEL),
    ("azure", 400, "The response was filtered due to the prompt triggering Azure OpenAI's content management", FILTER),
    ("azure-entra", 404, "The API deployment for this resource does not exist.", MODEL),
    ("azure-entra", 400, "This model's maximum context length is 128000 tokens.", CONTEXT),
    ("deepseek", 400, "This model's maximum context length is 1048565 tokens. However, you requested 1250025", CONTEXT),
    ("deepseek", 400, "The supported API model names are deepseek-v4-pro or deepseek-v4-flash, but you passed", MODEL),
    ("deepseek", 402, "Insufficient Balance", QUOTA),
    ("deepseek", 400, "Content Exists Risk", FILTER),
    ("deepseek-beta", 400, "Model Not Exist", MODEL),
    ("deepseek-beta", 400, "This model's maximum context length is 1048565 tokens.", CONTEXT),
    ("mistral", 400, "Prompt contains 9000 tokens, too large for model with 8 maximum context length", CONTEXT),
    ("mistral", 400, "Invalid model: x", MODEL),
    ("xai", 400, "This model's maximum prompt length is 131072 but the request contains 140000 tokens.", CONTEXT),
    ("xai", 404, "The model grok-x does not exist or your team 7 does not have access to it.", MODEL),
    ("xai", 429, "Your team 7 has either used all available credits or reached its monthly spending limit.", QUOTA),
    ("xai", 403, "Content violates usage guidelines. Team: 7", FILTER),
    ("moonshot", 400, "Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)", CONTEXT),
    ("moonshot", 404, "Not found the model kimi-x or Permission denied", MODEL),
    ("moonshot", 429, "Your account org-7 is suspended due to insufficient balance, please recharge your", QUOTA),
    ("moonshot", 400, "The request was rejected because it was considered high risk", FILTER),
    ("dashscope", 400, "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1,", CONTEXT),
    ("dashscope", 500, "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 6000]", CONTEXT),
    ("dashscope", 404, "The model `x` does not exist or you do not have access to it.", MODEL),
    ("dashscope", 400, "Access denied, please make sure your account is in good standing.", QUOTA),
    ("dashscope", 400, "Input data may contain inappropriate content.", FILTER),
    ("zai", 400, "Prompt exceeds max length", CONTEXT),
    ("zai", 400, "Unknown Model, please check the model code.", MODEL),
    ("zai", 429, "Insufficient balance or no resource package. Please recharge.", QUOTA),
    ("zai", 429, "余额不足或无可用资源包,请充值。", QUOTA),
    ("zai", 400, "System detected potentially unsafe or sensitive content in input or generation.", FILTER),
    ("minimax", 400, "invalid params, context window exceeds limit (2013)", CONTEXT),
    ("minimax", 400, "invalid params, unknown model 'x' (2013)", MODEL),
    ("minimax", 429, "usage limit exceeded, 5-hour usage limit reached for Token Plan Starter (0/0 used)", QUOTA),
    ("minimax", 422, "output new_sensitive (1027)", FILTER),
    ("perplexity", 400, "Invalid model 'x'. Permitted models can be found in the documentation at https://docs", MODEL),
    ("openrouter", 400, "This endpoint's maximum context length is 32768 tokens. However, you requested", CONTEXT),
    ("openrouter", 400, "x/y is not a valid model ID", MODEL),
    ("openrouter", 402, "Insufficient credits. Add more using https://openrouter.ai/settings/credits", QUOTA),
    ("openrouter", 403, "Key limit exceeded (total limit). Manage it using https://openrouter.ai/settings/keys", QUOTA),
    ("openrouter", 403, 'x/y requires moderation on z. Your input was flagged for "violence/graphic".', FILTER),
    ("groq", 400, "Please reduce the length of the messages or completion.", CONTEXT),
    ("groq", 404, "The model `x` does not exist or you do not have access to it.", MODEL),
    ("groq", 429, "Rate limit reached for model `x` on tokens per day (TPD): Limit 500000, Used 499000", QUOTA),
    ("together", 400, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given:", CONTEXT),
    ("together", 400, "Unable to access non-serverless model x/y. Please visit", MODEL),
    ("together", 402, "Credit limit exceeded. Please navigate to https://api.together.xyz/settings/billing", QUOTA),
    ("fireworks", 400, "The prompt is too long: 140031, model maximum context length: 131071", CONTEXT),
    ("fireworks", 404, "Model not found, inaccessible, and/or not deployed", MODEL),
    ("fireworks", 412, "Account x is suspended, possibly due to reaching the monthly spending limit or failure", QUOTA),
    ("cerebras", 400, "Please reduce the length of the messages or completion. Current length is 9 while", CONTEXT),
    ("nvidia", 400, "This model's maximum context length is 196608 tokens. However, your messages resulted", CONTEXT),
    ("nvidia", 404, "Function 'f-1': Not found for account 'a-1'", MODEL),
    ("huggingface", 422, "Input validation error: `inputs` must have less than 1024 tokens. Given: 1244", CONTEXT),
    ("huggingface", 400, "The requested model 'x/y' is not supported by any provider you have enabled.", MODEL),
    ("huggingface", 402, "You have depleted your monthly included credits. Purchase pre-paid credits to", QUOTA),
    ("ollama", 400, "prompt too long; exceeded max context length by 12 tokens", CONTEXT),
    ("ollama", 400, "the input length exceeds the context length", CONTEXT),
    ("ollama", 404, 'model "x" not found, try pulling it first', MODEL),
    ("ollama", 429, "you (someone) have reached your weekly usage limit, upgrade for higher limits", QUOTA),
    ("vllm", 400, "This model's maximum context length is 1024 tokens. However, your prompt contains 36914", CONTEXT),
    ("vllm", 500, "The decoder prompt (length 66501) is longer than the maximum model length of 65536.", CONTEXT),
    ("vllm", 404, "The model `no-such-model` does not exist. Valid aliases: taught.", MODEL),
    ("sglang", 400, "The input (61709 tokens) is longer than the model's context length (40960 tokens).", CONTEXT),
    ("sglang", 400, "Requested token count exceeds the model's maximum context length of 4096 tokens.", CONTEXT),
    ("sglang", 400, "Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).", CONTEXT),
    ("llamacpp", 400, "request (12298 tokens) exceeds the available context size (1024 tokens), try", CONTEXT),
    ("llamacpp", 500, "Context size has been exceeded.", CONTEXT),
    ("llamacpp", 400, "model not found", MODEL),
    ("lmstudio", 400, "The tokens to keep from the initial prompt is greater than the context length.", CONTEXT),
    ("lmstudio", 400, 'Invalid model identifier "x". Please specify a valid downloaded model (e.g., y).', MODEL),
    ("lmstudio", 400, "No models loaded. Please load a model in the developer page or use the 'lms load'", MODEL),
]  # fmt: skip

# No message is known of these (Cerebras says it by a code); SGLang takes every model's name.
UNKNOWN = {("perplexity", CONTEXT), ("cerebras", MODEL), ("sglang", MODEL)}


@pytest.mark.parametrize(("dialect", "status", "message", "code"), SEEN)
def test_a_servers_own_message_has_its_code(dialect: str, status: int, message: str, code: str) -> None:
    """A row's own server is understood in its own words, without a code beside them and whatever the wrapping."""
    raw = json.dumps({"error": {"message": message}})
    bodies = [raw, json.dumps({"error": message}), json.dumps({"detail": message}), json.dumps({"error": raw})]
    assert {WIRE.classify(status, {}, body.encode(), dialect=dialect).code for body in bodies} == {code}


def test_every_row_has_an_overflow_and_an_unknown_model() -> None:
    """No dialect row is without its own server's sentences for the two failures that agents act on."""
    known = {(dialect, code) for dialect, _, _, code in SEEN}
    rows = [name for name in ROWS if not name.startswith("generic")]
    assert {(name, code) for name in rows for code in (CONTEXT, MODEL)} - known == UNKNOWN
