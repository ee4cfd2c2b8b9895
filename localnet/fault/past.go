package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Codes of JSON-RPC errors of a Solana node.
const (
	codeNoBlock       = -32004
	codeNotReached    = -32016
	codeNoMethod      = -32601
	codeInvalidParams = -32602
	codeInternal      = -32603
)

// timeless are the methods whose answers do not depend on how far a node is, and those that reach the cluster through it.
var timeless = map[string]bool{
	"": true, "getGenesisHash": true, "getVersion": true, "getIdentity": true, "getFirstAvailableBlock": true, "minimumLedgerSlot": true,
	"getMinimumBalanceForRentExemption": true, "sendTransaction": true, "simulateTransaction": true, "requestAirdrop": true,
}

// refusal is a JSON-RPC error.
type refusal struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (r *refusal) Error() string { return fmt.Sprintf("%s (code %d)", r.Message, r.Code) }

// reader answers one request as of a moment.
type reader struct {
	p   *Proxy
	m   *moment
	req request
}

// reads are the methods that have a past.
var reads = map[string]func(reader, context.Context) (any, error){
	"getSlot":                     func(r reader, _ context.Context) (any, error) { return r.m.slots[r.level(0)], nil },
	"getBlockHeight":              func(r reader, _ context.Context) (any, error) { return r.m.height[r.level(0)], nil },
	"getLatestBlockhash":          func(r reader, _ context.Context) (any, error) { return r.m.hash[r.level(0)], nil },
	"getAccountInfo":              reader.accountInfo,
	"getBalance":                  reader.balance,
	"getMultipleAccounts":         reader.multipleAccounts,
	"getProgramAccounts":          reader.programAccounts,
	"getBlock":                    reader.block,
	"getBlockTime":                reader.block,
	"getBlocks":                   reader.blocks,
	"getBlocksWithLimit":          reader.blocks,
	"getTransaction":              reader.transaction,
	"getSignatureStatuses":        reader.statuses,
	"getSignaturesForAddress":     reader.listed,
	"getRecentPrioritizationFees": reader.listed,
}

// past answers a request as the node did a time ago.
func (p *Proxy) past(ctx context.Context, req request, lag time.Duration) ([]byte, error) {
	out := map[string]any{"jsonrpc": "2.0", "id": req.ID}
	result, err := p.asOf(ctx, req, lag)
	switch no := (*refusal)(nil); {
	case err == nil:
		out["result"] = result
		p.count(func(c *Counts) { c.Lagged++ })
	case errors.As(err, &no):
		out["error"] = no
	default:
		return nil, err
	}
	return json.Marshal(out)
}

func (p *Proxy) asOf(ctx context.Context, req request, lag time.Duration) (any, error) {
	m := p.view(lag)
	if m == nil {
		return nil, &refusal{Code: codeInternal, Message: "the proxy knows no past of the node: start it with a History"}
	}
	read := reads[req.Method]
	if read == nil {
		return nil, &refusal{Code: codeNoMethod, Message: "Method not found: the proxy cannot show the past of " + req.Method}
	}
	r := reader{p, m, req}
	conf, err := r.config()
	if err != nil {
		return nil, err
	}
	if at := m.slots[level(conf.Commitment)]; conf.MinContextSlot != nil && *conf.MinContextSlot > at {
		return nil, behind(at)
	}
	return read(r, ctx)
}

func behind(at uint64) *refusal {
	return &refusal{Code: codeNotReached, Message: "Minimum context slot has not been reached", Data: map[string]uint64{"contextSlot": at}}
}

// view is the moment that is shown now, nil without a history.
func (p *Proxy) view(lag time.Duration) *moment {
	if p.node.Past == nil {
		return nil
	}
	m := p.node.Past.at(time.Now().Add(-lag))
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.faults.Lag > 0 && !m.taken.After(p.shown.taken) {
		return p.shown
	}
	p.shown = m
	return m
}

// config are the named parameters, wherever they stand.
func (r reader) config() (c accountConfig, err error) {
	for _, raw := range r.req.Params {
		if len(raw) > 0 && raw[0] == '{' {
			if err := json.Unmarshal(raw, &c); err != nil {
				return c, &refusal{Code: codeInvalidParams, Message: "Invalid params: " + err.Error()}
			}
		}
	}
	return c, nil
}

// level is the place of the commitment that is asked for, at least this one.
func (r reader) level(least int) int {
	c, _ := r.config() // asOf has read it
	return max(level(c.Commitment), least)
}

// param reads a parameter by its place.
func (r reader) param(i int, into any) error {
	if i >= len(r.req.Params) {
		return &refusal{Code: codeInvalidParams, Message: fmt.Sprintf("Invalid params: %s needs %d", r.req.Method, i+1)}
	}
	if err := json.Unmarshal(r.req.Params[i], into); err != nil {
		return &refusal{Code: codeInvalidParams, Message: "Invalid params: " + err.Error()}
	}
	return nil
}

// now passes the request on and reads the node's answer. The node's refusals are refusals here.
func (r reader) now(ctx context.Context, into any) error {
	params := make([]any, len(r.req.Params))
	for i, raw := range r.req.Params {
		params[i] = raw
	}
	return r.p.up.call(ctx, into, r.req.Method, params...)
}

// block shows a block, or its time, that was there.
func (r reader) block(ctx context.Context) (any, error) {
	var slot uint64
	if err := r.param(0, &slot); err != nil {
		return nil, err
	}
	if slot > r.m.slots[r.level(1)] {
		return nil, &refusal{Code: codeNoBlock, Message: fmt.Sprintf("Block not available for slot %d", slot)}
	}
	var out json.RawMessage
	err := r.now(ctx, &out)
	return out, err
}

// blocks lists those that were there.
func (r reader) blocks(ctx context.Context) (any, error) {
	var slots []uint64
	if err := r.now(ctx, &slots); err != nil {
		return nil, err
	}
	last := r.m.slots[r.level(1)]
	return slices.DeleteFunc(slots, func(s uint64) bool { return s > last }), nil
}

// transaction shows one that had landed, else null.
func (r reader) transaction(ctx context.Context) (any, error) {
	var out json.RawMessage
	if err := r.now(ctx, &out); err != nil {
		return nil, err
	}
	if slotOf(out) > r.m.slots[r.level(1)] {
		return nil, nil
	}
	return out, nil
}

// listed leaves out what was not there yet of a list whose elements have a slot.
func (r reader) listed(ctx context.Context) (any, error) {
	list := []json.RawMessage{}
	if err := r.now(ctx, &list); err != nil {
		return nil, err
	}
	last := r.m.slots[r.level(1)]
	return slices.DeleteFunc(list, func(x json.RawMessage) bool { return slotOf(x) > last }), nil
}

// statuses shows those of transactions that had landed, as sure as they were.
func (r reader) statuses(ctx context.Context) (any, error) {
	var out struct {
		Context map[string]any    `json:"context"`
		Value   []json.RawMessage `json:"value"`
	}
	if err := r.now(ctx, &out); err != nil {
		return nil, err
	}
	for i, raw := range out.Value {
		slot := slotOf(raw)
		if len(raw) == 0 || string(raw) == "null" || slot > r.m.slots[0] {
			out.Value[i] = json.RawMessage("null")
			continue
		}
		var status map[string]any
		if err := json.Unmarshal(raw, &status); err != nil {
			return nil, fmt.Errorf("getSignatureStatuses: %w", err)
		}
		for at, name := range levels {
			if slot <= r.m.slots[at] {
				status["confirmationStatus"] = name
			}
		}
		changed, err := json.Marshal(status)
		if err != nil {
			return nil, fmt.Errorf("getSignatureStatuses: %w", err)
		}
		out.Value[i] = changed
	}
	out.Context["slot"] = r.m.slots[0]
	return out, nil
}

// slotOf is the slot that a document names, 0 if none.
func slotOf(raw json.RawMessage) uint64 {
	var x slotContext
	_ = json.Unmarshal(raw, &x) // null has none
	return x.Slot
}
