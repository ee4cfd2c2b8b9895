"""Writes a GGUF file with a tiny llama of random weights: python model.py FILE. Its tokens are bytes, and what it says has no meaning."""

import sys

import numpy as np
from gguf import GGUFWriter, TokenType

EMBED, HEADS, LAYERS, FEED, CONTEXT = 64, 4, 2, 128, 2048
TOKENS = [("<unk>", TokenType.UNKNOWN), ("<s>", TokenType.CONTROL), ("</s>", TokenType.CONTROL)]
TOKENS += [(f"<0x{b:02X}>", TokenType.BYTE) for b in range(256)]
TOKENS += [("\u2581", TokenType.NORMAL)] + [(chr(c), TokenType.NORMAL) for c in range(33, 127)]

random = np.random.default_rng(1)
w = GGUFWriter(sys.argv[1], "llama")
w.add_name("random weights")
w.add_context_length(CONTEXT)
w.add_embedding_length(EMBED)
w.add_block_count(LAYERS)
w.add_feed_forward_length(FEED)
w.add_head_count(HEADS)
w.add_head_count_kv(HEADS)
w.add_layer_norm_rms_eps(1e-5)
w.add_rope_dimension_count(EMBED // HEADS)
w.add_tokenizer_model("llama")
w.add_token_list([text for text, _ in TOKENS])
w.add_token_scores([0.0] * len(TOKENS))
w.add_token_types([kind for _, kind in TOKENS])
w.add_bos_token_id(1)
w.add_eos_token_id(2)
w.add_unk_token_id(0)
w.add_chat_template("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:")


def weights(name, *shape):
    w.add_tensor(name + ".weight", (random.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32))


def ones(name):
    w.add_tensor(name + ".weight", np.ones(EMBED, np.float32))


weights("token_embd", len(TOKENS), EMBED)
weights("output", len(TOKENS), EMBED)
ones("output_norm")
for i in range(LAYERS):
    ones(f"blk.{i}.attn_norm")
    ones(f"blk.{i}.ffn_norm")
    for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
        weights(f"blk.{i}.{part}", EMBED, EMBED)
    weights(f"blk.{i}.ffn_gate", FEED, EMBED)
    weights(f"blk.{i}.ffn_up", FEED, EMBED)
    weights(f"blk.{i}.ffn_down", EMBED, FEED)
w.write_header_to_file()
w.write_kv_data_to_file()
w.write_tensors_to_file()
w.close()
