"""Uses LiteLLM against /openai/v1: python litellm_client.py URL TOKEN MODEL."""

import sys

import litellm

url, token, model = sys.argv[1:4]
litellm.num_retries = 0
at = {"api_base": url, "api_key": token, "max_retries": 0}
name = "openai/" + model
question = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "one two three"}]

answer = litellm.completion(model=name, messages=question, **at)
assert answer.choices[0].message.content == "one two three", answer
assert answer.usage.completion_tokens == 3, answer

chunks = list(litellm.completion(model=name, messages=question, stream=True, stream_options={"include_usage": True}, **at))
text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
assert text.split() == ["one", "two", "three"], text
whole = litellm.stream_chunk_builder(chunks, messages=question)
assert whole.choices[0].finish_reason == "stop", whole

assert litellm.text_completion(model="text-completion-openai/" + model, prompt="four five", **at).choices[0].text == "four five"
assert litellm.embedding(model=name, input=["six"], encoding_format="float", **at).data[0]["embedding"] == [0.5, 0.25]


def fails(kind, call):
    try:
        call()
    except kind:
        return
    raise AssertionError(f"no {kind.__name__}")


fails(litellm.NotFoundError, lambda: litellm.completion(model="openai/none", messages=question, **at))
fails(litellm.AuthenticationError, lambda: litellm.completion(model=name, messages=question, api_base=url, api_key=token + "x", max_retries=0))
fails(litellm.ServiceUnavailableError, lambda: litellm.completion(model="openai/nothing", messages=question, **at))

# Its router goes on with another deployment where one has no replica.
router = litellm.Router(
    model_list=[
        {"model_name": "first", "litellm_params": {"model": "openai/nothing", **at}},
        {"model_name": "second", "litellm_params": {"model": name, **at}},
    ],
    fallbacks=[{"first": ["second"]}],
    num_retries=0,
)
assert router.completion(model="first", messages=question).choices[0].message.content == "one two three"
print("ok")
