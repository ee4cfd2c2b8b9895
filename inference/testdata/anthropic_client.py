"""Uses the stock Anthropic client against /anthropic: python anthropic_client.py URL TOKEN MODEL."""

import sys

from anthropic import Anthropic, AuthenticationError, InternalServerError, NotFoundError

url, token, model = sys.argv[1:4]
client = Anthropic(base_url=url, api_key=token, max_retries=0)

assert [m.id for m in client.models.list()] == ["nothing", model]
assert client.models.retrieve(model).display_name == model

question = {"model": model, "max_tokens": 100, "system": "be brief", "messages": [{"role": "user", "content": "one two three"}]}
answer = client.messages.create(**question)
assert answer.content[0].text == "one two three" and answer.usage.output_tokens == 3, answer

with client.messages.stream(**question) as stream:
    assert "".join(stream.text_stream).split() == ["one", "two", "three"]
    whole = stream.get_final_message()
assert whole.usage.output_tokens == 3 and whole.stop_reason == "end_turn", whole

counted = client.messages.count_tokens(model=model, messages=question["messages"])
assert counted.input_tokens == 3, counted
assert Anthropic(base_url=url, auth_token=token, max_retries=0).messages.create(**question).usage.input_tokens == 3


def fails(kind, call):
    try:
        call()
    except kind as e:
        return e
    raise AssertionError(f"no {kind.__name__}")


e = fails(NotFoundError, lambda: client.messages.create(**{**question, "model": "none"}))
assert e.body["error"]["type"] == "not_found_error", e.body
fails(AuthenticationError, lambda: Anthropic(base_url=url, api_key=token + "x", max_retries=0).models.list())
e = fails(InternalServerError, lambda: client.messages.create(**{**question, "model": "nothing"}))
assert e.body["error"]["type"] == "overloaded_error" and e.response.headers["retry-after"] == "10", e.body
print("ok")
