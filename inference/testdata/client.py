"""Uses the stock OpenAI client against /openai/v1: python client.py URL TOKEN MODEL."""

import sys

from openai import APIStatusError, AuthenticationError, BadRequestError, InternalServerError, NotFoundError, OpenAI

url, token, model = sys.argv[1:4]
client = OpenAI(base_url=url, api_key=token, max_retries=0)

assert [m.id for m in client.models.list()] == ["nothing", model]
assert client.models.retrieve(model).owned_by == "gantry"

question = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "one two three"}]
answer = client.chat.completions.create(model=model, messages=question)
assert answer.choices[0].message.content == "one two three", answer
assert answer.usage.completion_tokens == 3, answer

text, finish = "", None
for chunk in client.chat.completions.create(model=model, messages=question, stream=True):
    text += chunk.choices[0].delta.content or ""
    finish = chunk.choices[0].finish_reason or finish
assert text.split() == ["one", "two", "three"] and finish == "stop", text

assert client.completions.create(model=model, prompt="four five").choices[0].text == "four five"
said = "".join(c.choices[0].text for c in client.completions.create(model=model, prompt="four five", stream=True))
assert said.split() == ["four", "five"], said
assert client.embeddings.create(model=model, input="six", encoding_format="float").data[0].embedding == [0.5, 0.25]

answer = client.responses.create(model=model, input="seven eight", store=False)
assert answer.output_text.split() == ["seven", "eight"], answer
assert answer.usage.output_tokens == 2, answer
said, ended = "", None
for event in client.responses.create(model=model, input=[{"role": "user", "content": "seven eight"}], stream=True):
    if event.type == "response.output_text.delta":
        said += event.delta
    ended = event.type
assert said.split() == ["seven", "eight"] and ended == "response.completed", said
heard = client.audio.transcriptions.create(model=model, file=("a.wav", b"RIFF" + bytes(100)))
assert heard.text == "a recording of 104 bytes", heard
assert client.images.generate(model=model, prompt="a house").data[0].b64_json == "YSBwaWN0dXJl"


def fails(kind, call):
    try:
        call()
    except kind as e:
        return e
    raise AssertionError(f"no {kind.__name__}")


e = fails(NotFoundError, lambda: client.chat.completions.create(model="none", messages=question))
assert e.code == "model_not_found", e
fails(AuthenticationError, lambda: OpenAI(base_url=url, api_key=token + "x", max_retries=0).models.list())
e = fails(InternalServerError, lambda: client.chat.completions.create(model="nothing", messages=question))
assert isinstance(e, APIStatusError) and e.status_code == 503 and e.response.headers["retry-after"] == "10", e
e = fails(BadRequestError, lambda: client.responses.create(model=model, input="more", previous_response_id="resp_1"))
assert e.param == "previous_response_id", e
print("ok")
