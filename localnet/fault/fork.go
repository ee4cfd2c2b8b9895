package fault

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"math"

	"github.com/gagliardetto/solana-go"
)

// drawOf is the draw of a slot: the same for each request.
func (p *Proxy) drawOf(slot uint64) (share float64, later bool) {
	var in [16]byte
	binary.LittleEndian.PutUint64(in[:], p.seed)
	binary.LittleEndian.PutUint64(in[8:], slot)
	sum := sha256.Sum256(in[:])
	return float64(binary.LittleEndian.Uint64(sum[:])) / math.MaxUint64, sum[8]&1 == 1
}

// other reports whether this node has another block at a slot, and whether its time is a second later.
func (p *Proxy) other(slot uint64, disagree float64) (differs, later bool) {
	share, later := p.drawOf(slot)
	return share < disagree, later
}

// disagree replaces the block in an answer by the one of this node's fork.
func (p *Proxy) disagree(req request, text []byte, share float64) []byte {
	var slot uint64
	if len(req.Params) == 0 || json.Unmarshal(req.Params[0], &slot) != nil {
		return text
	}
	var a map[string]json.RawMessage
	if json.Unmarshal(text, &a) != nil || len(a["result"]) == 0 || string(a["result"]) == "null" {
		return text
	}
	differs, later := p.other(slot, share)
	seconds := func(raw json.RawMessage) json.RawMessage {
		var t int64
		if !later || json.Unmarshal(raw, &t) != nil {
			return raw
		}
		return encoded(t + 1)
	}
	if req.Method == "getBlockTime" {
		if !differs {
			return text
		}
		a["result"] = seconds(a["result"])
	} else {
		var block map[string]json.RawMessage
		if json.Unmarshal(a["result"], &block) != nil {
			return text
		}
		var parent uint64
		_ = json.Unmarshal(block["parentSlot"], &parent) // 0 for none
		before, _ := p.other(parent, share)
		if before {
			block["previousBlockhash"] = forked(block["previousBlockhash"])
		}
		if differs {
			block["blockhash"], block["blockTime"] = forked(block["blockhash"]), seconds(block["blockTime"])
		}
		if !differs && !before {
			return text
		}
		a["result"] = encoded(block)
	}
	p.count(func(c *Counts) { c.Disagreed++ })
	return encoded(a)
}

// forked is the hash of the fork's block at the slot of a block.
func forked(raw json.RawMessage) json.RawMessage {
	var hash solana.Hash
	if json.Unmarshal(raw, &hash) != nil {
		return raw
	}
	return encoded(solana.Hash(sha256.Sum256(hash[:])))
}

// encoded is a value that came from JSON as JSON.
func encoded(v any) json.RawMessage {
	out, _ := json.Marshal(v)
	return out
}
