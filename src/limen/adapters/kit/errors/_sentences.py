"""Sentences of error messages and what they mean on every wire; a dialect's own rows come before these.

A sentence is a pattern, compared without case, that quotes a message somebody received. The message stands beside it
with where it was seen: [R] recorded traffic, [D] the provider's documentation, [C] production clients, [Q…] and
`owner/repository#number` public reports. All of it was read by 2026-11.
"""

from typing import Final, TypeAlias

Sentences: TypeAlias = tuple[str, ...]
"""Patterns, case-blind; compiled when the first error comes."""


# Balance, credit, spend or a per-day quota: exhausted also where a hint stands beside it.
HARD_QUOTA: Final[Sentences] = (
    # DeepSeek 402: Insufficient Balance [D]; MiniMax 429, 500: insufficient balance (1008) [MiniMax-M2#62]
    r"insufficient[\s_-]+(?:account[\s_-]+)?(?:balance|credits?|funds|quota)",
    # Anthropic 400: Your credit balance is too low to access the Anthropic API. [D]
    r"balance (?:is |was |has been )?(?:too low|depleted|exhausted|insufficient|not enough)",
    # OpenRouter 402: This request requires more credits, or fewer max_tokens. [D]; xAI 403, 429: … has either used all
    # available credits or reached its monthly spending limit. [continuedev/continue#10740]
    r"(?:out of|requires? more|not enough|used all available) credits",
    r"(?:doesn't|does not) have any credits",  # xAI 403: Your newly created team doesn't have any credits … [C]
    # Together 402, type credit_limit: Credit limit exceeded. Please navigate to … [expectedparrot/edsl#2098]
    r"credit limit exceeded",
    r"out of budget",
    # LiteLLM 400, 429: Budget has been exceeded! Current cost: 10.6, Max budget: 10.0 [NQ319]
    r"budget has been exceeded",
    r"your available balance",
    # Hugging Face 402: You have exceeded … [D]; You have depleted your monthly included credits. Purchase … [C]
    r"(?:exceeded|depleted) your monthly included credits",
    # Anthropic 400: You have reached your specified API usage limits, or: … your specified workspace API usage limits
    # [D]; Fireworks 412: Account x is suspended, possibly due to reaching the monthly spending limit or failure to
    # pay past invoices. [pollinations#12136];
    # Ollama Cloud 429: you (someone) have reached your weekly usage limit, upgrade … [NQ321]; Anthropic plans: You've
    # hit your monthly spend limit [rjwalters/loom#5631]
    r"(?:reach(?:ed|ing)|exceed(?:ed|ing)|hit|over) (?:your |the |its )?(?:\w+ ){0,3}"
    r"(?:spend(?:ing)?|billing|usage) (?:hard )?limit",
    # Z.ai 1308: Usage limit reached for 5 hour. [D]
    r"(?:spend(?:ing)?|billing|usage) (?:hard )?limits? (?:has been |is )?(?:exceeded|reached)",
    # OpenRouter 403, both wires: Key limit exceeded (monthly limit). Manage it using … [gptme/gptme#1449]
    r"\bkey limit exceeded",
    # one-api and new-api gateways 403: user quota is not enough [NQ320]; token quota is not enough, token remain
    # quota: $0.019310, need quota: $0.769410 [C 2026-03]
    r"(?:user|token) quota is not enough",
    # Ark 403: The request failed because your account has an overdue balance. [D 2026]
    r"account has an overdue balance",
    # Ark 429, code SetLimitExceeded: Your account x has reached the set inference limit for the y model, and the model
    # service has been paused. [volcengine/MineContext#328]
    r"reached the set inference limit",
    # Anthropic plans 429: Extra usage is required for long context requests. [NQ316]; Usage credits required for 1M
    # context [anthropics/claude-code#61869]
    r"(?:extra usage is|usage credits) required for",
    r"per[- ]day\b",  # OpenRouter 429: Rate limit exceeded: free-models-per-day [D]
    r"\bdaily (?:\w+ )?(?:limit|quota|allocation)",  # Cloudflare 3036: you have used up your daily free allocation [D]
    # OpenAI, Groq 429: Rate limit reached for … on tokens per day (TPD): Limit 500000, Used … [D]
    r"\b(?:TPD|RPD)\b",
    r"PerDay",  # Gemini quotaId GenerateRequestsPerDayPerProjectPerModel-FreeTier [R]
    # DashScope 400: Access denied, please make sure your account is in good standing.
    r"account is in good standing",
    r"account is not active",  # OpenAI 429: Your account is not active, please check your billing details. [D]
    r"余额不足",  # Z.ai 1113 [continuedev/continue#11823]
    r"欠费",  # DashScope Arrearage
)

# A quota without such a word: throttling where a delay or "per minute" comes with it.
SOFT_QUOTA: Final[Sentences] = (
    # OpenAI: You exceeded your current quota, please check your plan and billing details. [R]
    r"exceed(?:ed|s)? (?:your |the )?(?:current )?quota",
    # Vertex 429: Quota exceeded for quota metric '… requests per minute' [R]
    r"quota[\s_-](?:has been )?(?:exceeded|exhausted|reached)",
    r"resource has been exhausted",  # google.rpc: Resource has been exhausted (e.g. check quota). [R]
)
PER_MINUTE: Final[Sentences] = (
    # Vertex 429: … quota metric 'Generate Content API requests per minute' … [R]
    r"per[- ]?min(?:ute)?\b",
    r"\b(?:RPM|TPM)\b",  # OpenAI 429: … on tokens per min (TPM): Limit 1, Requested 30. [R]
    r"PerMinute",  # Gemini quotaId GenerateRequestsPerMinutePerProjectPerModel
)

CONTEXT: Final[Sentences] = (
    r"context[_ ]length[_ ]exceeded",  # Q025
    # DeepSeek, vLLM: This model's maximum context length is 1048565 tokens. [R]; vLLM since 2026: … However, you
    # requested 16384 output tokens and your prompt contains at least 180225 input tokens … [NQ315]
    r"maximum context length is [\d,]+",
    # Fireworks: The prompt is too long: N, model maximum context length: M [Q098]
    r"model maximum context length: [\d,]+",
    # OpenAI: Your input exceeds the context window of this model. [R]; SGLang: Requested token count exceeds the
    # model's maximum context length of N tokens. [sgl-project/sglang#3642]; Ollama: the input length exceeds the
    # context length [nano-step/nano-brain#208]
    r"exceeds? (?:the |this )?(?:model'?s? |model )?(?:maximum )?context (?:length|window|size)",
    # Cloudflare Workers AI 413, code 5021: The estimated number of input and maximum output tokens (263008) exceeded
    # this model context window limit (262144). [C 2026-08]
    r"exceeded this model context window limit",
    r"context window (?:exceeds limit|exceeded)",  # MiniMax 2013: invalid params, context window exceeds limit [C]
    r"exceeds? the available context size",  # llama.cpp: request (2009 tokens) exceeds the available context size [R]
    r"context size has been exceeded",  # llama.cpp 500, LM Studio [R] [Q135]
    # xAI: This model's maximum prompt length is X but the request contains Y tokens.
    r"maximum prompt length is [\d,]+",
    # SGLang: The input (N tokens) is longer than the model's context length [QwenLM/Qwen3#1321]
    r"longer than the model'?s? context length",
    # SGLang's scheduler: Input length (33001 tokens) exceeds the maximum allowed length (32768 tokens). [NQ311]
    r"input length \([\d,]+ tokens\) exceeds the maximum allowed length",
    # vLLM, Xinference 400, 500: The decoder prompt (length 66501) is longer than the maximum model length of 65536.
    # [langchain-ai/deepagents#468]
    r"prompt \(length [\d,]+\) is longer than the maximum model length",
    # Poolside [Q098]; NVIDIA NIM: Input length 561 exceeds maximum allowed token size 512 [run-llama/llama_index#15180]
    r"exceeds? (?:the )?maximum allowed (?:input length|token size)",
    # TGI, Together 400: `inputs` tokens + `max_new_tokens` must be <= 4096 [BerriAI/litellm#4934]
    r"tokens?`? \+ .{0,40}max_(?:new_)?tokens`? must (?:not exceed|be (?:<=|less))",
    r"`inputs` must have less than [\d,]+ tokens",  # TGI, Together: … Given: 1244 [stanford-crfm/helm#1820]
    # Together: Input token count + max_tokens parameter must be less than the context length of the model … [D 2026]
    r"token count \+ max_tokens parameter must be less",
    r"too large for model with [\d,]+ maximum context length",  # Mistral 3051
    r"exceeded model token limit",  # Kimi: Your request exceeded model token limit: 262144 (requested: 269030) [R]
    # Moonshot: total message size 9175040 exceeds limit 2097152 [NQ313]
    r"total message size [\d,]+ exceeds limit",
    # DashScope 400, 500: Range of input length should be [1, 129024] [langgenius/dify#14986]
    r"range of input length should be",
    r"prompt (?:is )?too long",  # Anthropic: prompt is too long: 3333404 tokens > 200000 maximum [R]
    # Bedrock gateways: Input is too long for requested model.
    r"(?:too long|too large) for (?:this model|model context|the model'?s? context|requested model)",
    r"prompt exceeds max(?:imum)? length",  # Z.ai 1261
    r"prompt token count of [\d,]+ exceeds the limit of [\d,]+",  # Copilot [R]
    r"greater than the context length",  # LM Studio: …tokens to keep from the initial prompt is greater than the …
    r"keep the first [\d,]+ tokens when context the overflows",  # LM Studio 2025
    r"exceeded (?:max )?context length",  # Ollama: prompt too long; exceeded max context length by N tokens
    r"tokens?, but the configured context size",  # DS4: prompt has N tokens, but the configured context size is M [C]
    r"input token count.{0,40}exceeds the maximum",  # Gemini: The input token count (1200000) exceeds the maximum …
    # OpenAI: Input tokens exceed the configured limit of 922000 tokens. [ultraworkers/claw-code#2984]
    r"input tokens exceed the configured limit",
    r"exceed max message tokens",  # Ark: Total tokens of image and text exceed max message tokens. [C 2026]
    r"too many tokens: size limit exceeded",  # Cohere [R]
    r"reduce the length of the (?:messages|prompt|input)",  # OpenAI, Groq
    # Cerebras 400: … Current length is 42328 while limit is 40000 [cline/cline#5140]
    r"current length is [\d,]+ while limit is [\d,]+",
    # Exceptions' names in a text: ContextWindowOverflowed; LiteLLM's proxy says ContextWindowExceededError: … [R]
    r"context[_ ]?(?:length|window|size)[_ ]?(?:overflowed|exceedederror)",
    # Anthropic 400, models before Sonnet 4.5: input length and `max_tokens` exceed context limit: 199000 + 8000 > … [D]
    r"exceed context limit",
)

# Of a 400 only: alone they may as well speak of a rate.
WEAK_CONTEXT: Final[Sentences] = (
    r"too many tokens",
    r"token limit exceeded",
)

# Where the text speaks of these, tokens are counted per time and not per request.
THROTTLING: Final[Sentences] = (
    r"rate[- _]?limit",
    r"too many requests",
    r"throttl",
    r"tokens? per (?:min|hour|day|second)",
    r"\b[TR]P[MD]\b",
)

FILTERED: Final[Sentences] = (
    r"content violates usage guidelines",  # xAI through OpenRouter, 403 [R]
    r"content exists risk",  # DeepSeek 400 [C]
    r"response was filtered due to the prompt triggering",  # Azure 400 [R]
    r"considered high risk",  # Kimi: The request was rejected because it was considered high risk [D]
    r"violat(?:es|ing|ed) (?:our|the) (?:usage|content) polic(?:y|ies)",  # OpenAI, code invalid_prompt [D]
    r"rejected as a result of our safety system",  # OpenAI: Your request was rejected as a result of our … [C]
    # Anthropic 400 or in the stream: Output blocked by content filtering policy [NQ322]
    r"blocked by content filtering policy",
    # Z.ai 1301: System detected potentially unsafe or sensitive content in input or generation. [D]
    r"potentially unsafe or sensitive content in input or generation",
    r"(?:input|output) new_sensitive",  # MiniMax 422, 500: input new_sensitive (1026) [D] [C]
    # DashScope: Input data may contain inappropriate content. [D]
    r"put (?:text )?data may contain inappropriate content",
    # Ark 400, codes with many endings: … because the input text may contain sensitive information. [D 2026]
    r"may contain sensitive information",
    r"includes sensitive content that violates",  # Ark: … that violates ContentSecurityDetection. [D 2026]
    # OpenRouter 403: x/y requires moderation on z. Your input was flagged for "violence/graphic". [C 2026]
    r"requires moderation\b.{0,80}your input was flagged for",
    r"'code': ?'content_filter'",  # a Python dict as text inside an SSE frame [Q180]
)

UNKNOWN_MODEL: Final[Sentences] = (
    # OpenAI: The model `x` does not exist or you do not have access to it. / The requested model 'x' … [R]
    r"the (?:requested )?model [`'\"]?[^\s`'\"]+[`'\"]? (?:does not exist|was not found|has been deprecated)",
    # Groq: The model `x` has been decommissioned … [C]; LiteLLM: OpenAIException - model: x does not exist [R 2026-11]
    r"\bmodel:? [`'\"]?[^\s`'\"]+[`'\"]? (?:does not exist|has been decommissioned)",
    r"\bmodel does not exist\b",  # SiliconFlow 400: Model does not exist. Please check it carefully. [C 2026]
    r"the model or endpoint \S+ does not exist",  # Ark 404 [D 2026] [volcengine/MineContext#328]
    r"has not activated the model \S",  # Ark 404: Your account x has not activated the model y. [D 2026]
    # Ollama: model 'x:latest' not found; Cohere: model 'x' not found, … [R]
    r"model [`'\"][^`'\"]+[`'\"] (?:is )?not found",
    # xAI 400: Model not found: grok-x [R]; llama.cpp as a router 400: model not found [ggml-org/llama.cpp#17968];
    # Fireworks 404: Model not found, inaccessible, and/or not deployed [warpdotdev/warp#15107]; Venice 404: Specified
    # model not found: auto [C 2026]; each also behind a gateway's prefix, as in "XaiException - Model not found: x"
    r"(?:^|[\n:.({\-\"'] ?|\b(?:specified|requested) )model not found\b",
    r"\bmodel not exist\b",  # DeepSeek 400: Model Not Exist [langbot-app/LangBot#1643]
    # DeepSeek 400: The supported API model names are deepseek-v4-pro or deepseek-v4-flash, but you passed x. [C 2026]
    r"the supported api model names are\b",
    # Vertex 404: Publisher Model `projects/…` was not found or your project does not have access to it. [NQ318]
    r"publisher model \S+ (?:was )?not found",
    # LiteLLM 400: /chat/completions: Invalid model name passed in model=x. Call `/v1/models` … [BerriAI/litellm#3142]
    r"invalid model name passed in model=",
    r"invalid model '[^']*'\. permitted models",  # Perplexity 400 [BerriAI/litellm#37761]
    r"\binvalid model: \S",  # Mistral 400, code 1500: Invalid model: x [D]
    # LM Studio 400: Invalid model identifier "x". Please specify a valid … [assafelovic/gpt-researcher#1556]
    r"invalid model identifier \"",
    # LM Studio 400: No models loaded. Please load a model in the developer page … [lmstudio-bug-tracker#1730]
    r"no models loaded\. please load a model",
    # Z.ai 1211: Unknown Model, please check the model code. [D]; MiniMax, both wires: unknown model 'x' (2013)
    r"unknown model(?:, please check| [`'\"])",
    # Together 400, 404: Unable to access non-serverless model x. Please visit … [HeyPuter/puter#3168]
    r"unable to access (?:non-serverless )?model \S",
    # Hugging Face 400: The requested model 'x' is not supported by any provider you have enabled. [cline/cline#5098]
    r"not supported by (?:any provider you have enabled|provider \S)",
    r"the requested model is not supported",  # Copilot 400 [decolua/9router#470]
    r"server is pinned to '[^']*'; requested '",  # transformers serve 400 [R 2026-11]
    r"\bno such model \S",  # Cloudflare 5007: No such model x or task [D 2026]
    r"not found the model \S",  # Moonshot 404: Not found the model kimi-x or Permission denied [C]
    r"is not a valid model(?: id)?\b",  # OpenRouter 400: openai/gpt-x is not a valid model ID [R]
    r"models/\S+ is not found for api version",  # Gemini 404 [R]
    r"api deployment for this resource does not exist",  # Azure 404, code DeploymentNotFound [R]
    r"provided model identifier is invalid",  # Bedrock 400 [R]
    r"model version has reached the end of its life",  # Bedrock 404: This model version has reached … [R]
    r"function '[^']*': not found for account",  # NVIDIA 404 [R 2026-08]
    r"no endpoints found for ",  # OpenRouter 404: No endpoints found for x/y. [D]
)

OVERLOADED: Final[Sentences] = (
    r"overload",  # DeepSeek 503: The server is overloaded due to high traffic [D]
    r"server (?:is )?(?:too )?busy",  # Ollama 503: server busy, please try again
    r"(?:at|over|out of|insufficient) capacity",  # Cloudflare 3040: out of capacity [D]
    # Google: No capacity available for model x on the server [su-kaka/gcli2api#313]
    r"no capacity available for model",
    r"request limit reached \(",  # NVIDIA: ResourceExhausted: Worker local total request limit reached (33/32) [R 2026]
    r"loading model",  # llama.cpp 503: Loading model
    r"high demand",  # OpenRouter: High demand for … on OpenRouter [R]
)

# Of a 5xx, or of an error inside a stream: the request is at fault, so asking again changes nothing.
WRONG_REQUEST: Final[Sentences] = (
    # llama.cpp 500: image input is not supported - hint: if this is unexpected, you may need to provide the mmproj [R];
    # the same of audio [C]
    r"(?:image|audio) input is not supported",
    # llama.cpp 500, of the history's arguments, again on every later turn [ggml-org/llama.cpp#25510]
    r"failed to parse tool call arguments as json",
    r"tools param requires --jinja flag",  # llama.cpp 500 [C 2026-09]
    # llama.cpp 500, from a chat template: Jinja Exception: After the optional system message, conversation roles must
    # alternate user and assistant roles … [C 2026]
    r"conversation roles must alternate",
    # llama-cpp-python 500: 1 validation error: {'type': 'literal_error', … [R 2026-11]
    r"(?:^|\n)\d+ validation errors?: ",
)
