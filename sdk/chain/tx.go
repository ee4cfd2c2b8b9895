package chain

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/rpc"
)

// Simulation is the outcome of a dry run.
type Simulation struct {
	Slot  uint64
	Units uint64          // compute units consumed
	Logs  []string        // program log
	Err   json.RawMessage // the transaction error, nil on success
	// Accounts are those of SimulateOptions.Accounts after the transaction, in their order; nil for one that does not exist
	// then. There are none where the transaction fails.
	Accounts []*AccountAfter
}

// AccountAfter is an account after a dry run.
type AccountAfter struct {
	Lamports Lamports         `json:"lamports"`
	Owner    solana.PublicKey `json:"owner"`
	Space    uint64           `json:"space"` // bytes of its data
}

// SimulateOptions configure a dry run.
type SimulateOptions struct {
	Commitment     Commitment // state to run on
	SigVerify      bool       // check signatures; otherwise the blockhash is replaced
	MinContextSlot uint64     // refuse to answer from an older state; 0 for any
	// Accounts that the transaction writes, to be shown as it leaves them.
	Accounts []solana.PublicKey
}

// Simulate runs a transaction without effect. Without SigVerify the blockhash and the signatures need not be valid.
func (c *Client) Simulate(ctx context.Context, tx *solana.Transaction, o SimulateOptions) (Simulation, error) {
	raw, err := tx.MarshalBinary()
	if err != nil {
		return Simulation{}, fmt.Errorf("encode transaction: %w", err)
	}
	p := map[string]any{
		"encoding": "base64", "commitment": string(o.Commitment),
		"sigVerify": o.SigVerify, "replaceRecentBlockhash": !o.SigVerify,
	}
	if o.MinContextSlot > 0 {
		p["minContextSlot"] = o.MinContextSlot
	}
	if len(o.Accounts) > 0 {
		p["accounts"] = map[string]any{"encoding": "base64", "addresses": o.Accounts}
	}
	type result struct {
		Err      json.RawMessage `json:"err"`
		Logs     []string        `json:"logs"`
		Units    uint64          `json:"unitsConsumed"`
		Accounts []*AccountAfter `json:"accounts"`
	}
	out, _, err := ask(ctx, c, nil, func(a *at[*result]) error {
		switch {
		case a.Value == nil:
			return wrong("it has no value")
		case notNull(a.Value.Err) == nil && len(a.Value.Accounts) != len(o.Accounts):
			return wrong(fmt.Sprintf("it shows %d accounts, and %d were asked for", len(a.Value.Accounts), len(o.Accounts)))
		}
		return placed(a)
	}, "simulateTransaction", base64.StdEncoding.EncodeToString(raw), p)
	if err != nil {
		return Simulation{}, err
	}
	for i, a := range out.Value.Accounts {
		if a != nil && a.Lamports == 0 { // nodes show an account that was closed in one of these ways
			out.Value.Accounts[i] = nil
		}
	}
	return Simulation{Slot: out.slot(), Units: out.Value.Units, Logs: out.Value.Logs, Err: notNull(out.Value.Err), Accounts: out.Value.Accounts}, nil
}

// SignatureStatus is what a node knows about a signature.
type SignatureStatus struct {
	Found      bool
	Slot       uint64
	Commitment Commitment
	Err        json.RawMessage // the transaction error, nil on success
}

// MaxStatuses is the node's limit of signatures per status call.
const MaxStatuses = 256

// Statuses returns the state of each signature, in order. search also looks into the node's ledger, which is slower.
func (c *Client) Statuses(ctx context.Context, sigs []solana.Signature, search bool) ([]SignatureStatus, error) {
	res := make([]SignatureStatus, 0, len(sigs))
	for len(sigs) > 0 {
		part := sigs[:min(len(sigs), MaxStatuses)]
		sigs = sigs[len(part):]
		var got []SignatureStatus
		err := c.Do(ctx, "getSignatureStatuses", func(ctx context.Context, r *rpc.Client) (err error) {
			got, err = statuses(ctx, r, part, search)
			return err
		})
		if err != nil {
			return nil, err
		}
		res = append(res, got...)
	}
	return res, nil
}

func statuses(ctx context.Context, r *rpc.Client, sigs []solana.Signature, search bool) ([]SignatureStatus, error) {
	var out struct {
		Value []*struct {
			Slot   uint64          `json:"slot"`
			Err    json.RawMessage `json:"err"`
			Status Commitment      `json:"confirmationStatus"`
		} `json:"value"`
	}
	err := rawCall(ctx, r, &out, "getSignatureStatuses", sigs, map[string]any{"searchTransactionHistory": search})
	if err != nil {
		return nil, err
	}
	if len(out.Value) != len(sigs) {
		return nil, wrong(fmt.Sprintf("it has %d statuses for %d signatures", len(out.Value), len(sigs)))
	}
	res := make([]SignatureStatus, len(sigs))
	for i, v := range out.Value {
		if v == nil {
			continue
		}
		res[i] = SignatureStatus{Found: true, Slot: v.Slot, Commitment: v.Status, Err: notNull(v.Err)}
		if res[i].Commitment.rank() == 0 {
			res[i].Commitment = Finalized // statuses from the ledger carry none on old nodes: they are rooted
		}
	}
	return res, nil
}

// PriorityFees returns the prices per compute unit that recent blocks asked of transactions that write these accounts,
// one a slot.
func (c *Client) PriorityFees(ctx context.Context, writable []solana.PublicKey) ([]MicroLamports, error) {
	if len(writable) > 128 {
		writable = writable[:128] // the node's limit
	}
	type fee struct {
		Fee uint64 `json:"prioritizationFee"`
	}
	out, _, err := ask(ctx, c, nil, notNil[[]fee], "getRecentPrioritizationFees", nonNil(writable))
	if err != nil {
		return nil, err
	}
	res := make([]MicroLamports, len(out))
	for i, f := range out {
		res[i] = MicroLamports(f.Fee)
	}
	return res, nil
}

// SignatureInfo is an entry of an account's history.
type SignatureInfo struct {
	Signature solana.Signature `json:"signature"`
	Slot      uint64           `json:"slot"`
	Err       json.RawMessage  `json:"err"`
	BlockTime *int64           `json:"blockTime"`
	// Commitment is how sure the cluster is of it; empty where the node does not say.
	Commitment Commitment `json:"confirmationStatus"`
}

// History lists all transactions that name an account, newest first, page by page until limit (0 for all).
func (c *Client) History(ctx context.Context, key solana.PublicKey, at Commitment, limit int) ([]SignatureInfo, error) {
	var all []SignatureInfo
	for {
		p := map[string]any{"commitment": string(at), "limit": 1000}
		if n := len(all); n > 0 {
			p["before"] = all[n-1].Signature
		}
		page, _, err := ask(ctx, c, nil, notNil[list[SignatureInfo]], "getSignaturesForAddress", key, p)
		if err != nil {
			return nil, err
		}
		for i := range page {
			page[i].Err = notNull(page[i].Err)
		}
		all = append(all, page...)
		if limit > 0 && len(all) >= limit {
			return all[:limit], nil
		}
		if len(page) < 1000 {
			return all, nil
		}
	}
}

// WaitReady asks until an endpoint answers or the context ends.
func (c *Client) WaitReady(ctx context.Context) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := c.Slot(ctx, Processed)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-tick.C:
		}
	}
}

func notNull(r json.RawMessage) json.RawMessage {
	if len(r) == 0 || string(r) == "null" {
		return nil
	}
	return r
}

func nonNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
