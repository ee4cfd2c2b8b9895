"""Uses the stock OpenAI client and LiteLLM with a model of random weights: python client.py URL TOKEN MODEL. What it says is
nonsense; who says how much of it is not. It asks for a while, in which one replica may be lost."""

import sys
import threading
import time

import litellm
from openai import OpenAI

url, token, model = sys.argv[1:4]
client = OpenAI(base_url=url, api_key=token, max_retries=0)
question = [{"role": "user", "content": "hello"}]


def same(one, other):
    """Tokens are bytes: the last character may not be whole, which a stream leaves out."""
    return one.rstrip("\ufffd") == other.rstrip("\ufffd")

assert [m.id for m in client.models.list()] == [model]

answer = client.chat.completions.create(model=model, messages=question, max_tokens=8, temperature=0)
assert answer.usage.completion_tokens == 8 and answer.usage.prompt_tokens > 5, answer
assert answer.choices[0].finish_reason == "length", answer

chunks = list(client.chat.completions.create(model=model, messages=question, max_tokens=8, temperature=0, stream=True, stream_options={"include_usage": True}))
text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
assert same(text, answer.choices[0].message.content), (text, answer)
assert chunks[-1].usage.completion_tokens == 8, chunks[-1]
chunks = list(client.chat.completions.create(model=model, messages=question, max_tokens=8, stream=True))
assert all(c.usage is None and c.choices for c in chunks), "usage that nobody has asked for"

done = client.completions.create(model=model, prompt="hello", max_tokens=5, temperature=0)
assert done.usage.completion_tokens == 5, done
said = "".join(c.choices[0].text for c in client.completions.create(model=model, prompt="hello", max_tokens=5, temperature=0, stream=True))
assert same(said, done.choices[0].text), (said, done)

one, two, other = (client.embeddings.create(model=model, input=t, encoding_format="float").data[0].embedding for t in ("six", "six", "seven"))
assert len(one) == 64 and max(abs(a - b) for a, b in zip(one, two)) < 1e-4 < max(abs(a - b) for a, b in zip(one, other))

at = {"api_base": url, "api_key": token, "max_retries": 0}
answer = litellm.completion(model="openai/" + model, messages=question, max_tokens=8, temperature=0, **at)
assert answer.usage.completion_tokens == 8, answer
chunks = list(litellm.completion(model="openai/" + model, messages=question, max_tokens=8, temperature=0, stream=True, **at))
assert same("".join(c.choices[0].delta.content or "" for c in chunks), answer.choices[0].message.content), chunks
assert len(litellm.embedding(model="openai/" + model, input=["six"], encoding_format="float", **at).data[0]["embedding"]) == 64
print("asking", flush=True)

# Requests go on while a replica is lost. One that has begun to answer may be broken off, and says so; no other one fails.
whole, broken, failed = [0], [0], []
until = time.monotonic() + 20


def ask(worker):
    i = 0
    while time.monotonic() < until:
        i += 1
        begun = False
        try:
            asked = [{"role": "user", "content": f"worker {worker} question {i}"}]
            for chunk in client.chat.completions.create(model=model, messages=asked, max_tokens=32, stream=True):
                begun = begun or bool(chunk.choices and chunk.choices[0].delta.content)
            whole[0] += 1
        except Exception as e:
            if begun and "broke off" in str(e):
                broken[0] += 1
            else:
                failed.append(f"{type(e).__name__}: {e}")


workers = [threading.Thread(target=ask, args=(i,)) for i in range(4)]
for w in workers:
    w.start()
for w in workers:
    w.join()
assert not failed, failed
assert whole[0] > 20 and broken[0] <= 4, (whole, broken)
print(f"{whole[0]} whole streams, {broken[0]} broken off")
