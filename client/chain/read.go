package chain

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gagliardetto/solana-go"
	"github.com/gantry-market/gantry/client/records"
)

// Public reports whether this is one of the public clusters, whose members are not all on one site.
func (c *Client) Public(ctx context.Context) (bool, error) {
	genesis, err := c.Genesis(ctx)
	return ClusterOf(genesis) != ClusterLocal, err
}

// Domain returns the cluster's signature domain.
func (c *Client) Domain(ctx context.Context) (records.Domain, error) {
	h, err := c.Genesis(ctx)
	if err != nil {
		return records.Domain{}, err
	}
	return records.DomainOf(h), nil
}

// Explorer returns a builder of links for this client's cluster.
func (c *Client) Explorer(ctx context.Context) (Explorer, error) {
	h, err := c.Genesis(ctx)
	if err != nil {
		return Explorer{}, err
	}
	return Explorer{Cluster: ClusterOf(h), RPCURL: c.nodes[0].ep.RPC}, nil
}

// Slot returns the current slot at a commitment.
func (c *Client) Slot(ctx context.Context, at Commitment) (uint64, error) {
	var out uint64
	err := c.Raw(ctx, &out, "getSlot", commitmentParam(at))
	return out, err
}

// Balance returns an account's lamports; a missing account has none.
func (c *Client) Balance(ctx context.Context, key solana.PublicKey, at Commitment) (Lamports, error) {
	var out struct {
		Value uint64 `json:"value"`
	}
	err := c.Raw(ctx, &out, "getBalance", key, commitmentParam(at))
	return Lamports(out.Value), err
}

// MinimumRent returns the lamports that keep an account of this size alive.
func (c *Client) MinimumRent(ctx context.Context, size uint64, at Commitment) (Lamports, error) {
	var out uint64
	err := c.Raw(ctx, &out, "getMinimumBalanceForRentExemption", size, commitmentParam(at))
	return Lamports(out), err
}

// Airdrop asks a test cluster for lamports and returns the signature; it does not wait.
func (c *Client) Airdrop(ctx context.Context, key solana.PublicKey, amount Lamports) (solana.Signature, error) {
	var sig solana.Signature
	err := c.Raw(ctx, &sig, "requestAirdrop", key, uint64(amount), commitmentParam(Processed))
	return sig, err
}

// LatestBlockhash returns a blockhash for a new transaction.
func (c *Client) LatestBlockhash(ctx context.Context, at Commitment) (Blockhash, error) {
	var out struct {
		Context slotContext `json:"context"`
		Value   struct {
			Blockhash            solana.Hash `json:"blockhash"`
			LastValidBlockHeight uint64      `json:"lastValidBlockHeight"`
		} `json:"value"`
	}
	if err := c.Raw(ctx, &out, "getLatestBlockhash", commitmentParam(at)); err != nil {
		return Blockhash{}, err
	}
	return Blockhash{Hash: out.Value.Blockhash, LastValidBlockHeight: out.Value.LastValidBlockHeight, Slot: out.Context.Slot}, nil
}

// Account reads one account. Error: ErrAccountNotFound.
func (c *Client) Account(ctx context.Context, key solana.PublicKey, at Commitment) (Account, error) {
	var out struct {
		Context slotContext  `json:"context"`
		Value   *accountJSON `json:"value"`
	}
	if err := c.Raw(ctx, &out, "getAccountInfo", key, accountParam(at)); err != nil {
		return Account{}, err
	}
	if out.Value == nil {
		return Account{}, fmt.Errorf("%s: %w", key, ErrAccountNotFound)
	}
	return out.Value.account(key, out.Context.Slot)
}

// maxAccountsPerCall is the node's limit for getMultipleAccounts.
const maxAccountsPerCall = 100

// Accounts reads several accounts; a missing one is nil in its place. Beyond a hundred keys the answer may span several
// slots.
func (c *Client) Accounts(ctx context.Context, keys []solana.PublicKey, at Commitment) ([]*Account, error) {
	accs, _, err := c.AccountsSince(ctx, keys, at, 0)
	return accs, err
}

// AccountsSince reads several accounts from a node that has reached a slot, and returns the slot of the (oldest)
// answer.
func (c *Client) AccountsSince(ctx context.Context, keys []solana.PublicKey, at Commitment, since uint64) ([]*Account, uint64, error) {
	res := make([]*Account, 0, len(keys))
	var slot uint64
	for len(keys) > 0 {
		part := keys[:min(len(keys), maxAccountsPerCall)]
		keys = keys[len(part):]
		var out struct {
			Context slotContext    `json:"context"`
			Value   []*accountJSON `json:"value"`
		}
		p := accountParam(at)
		if since > 0 {
			p["minContextSlot"] = since
		}
		if err := c.Raw(ctx, &out, "getMultipleAccounts", part, p); err != nil {
			return nil, 0, err
		}
		if len(out.Value) != len(part) {
			return nil, 0, fmt.Errorf("getMultipleAccounts: %d answers to %d keys: %w", len(out.Value), len(part), records.ErrLength)
		}
		if slot == 0 || out.Context.Slot < slot {
			slot = out.Context.Slot
		}
		for i, v := range out.Value {
			if v == nil {
				res = append(res, nil)
				continue
			}
			acc, err := v.account(part[i], out.Context.Slot)
			if err != nil {
				return nil, 0, err
			}
			res = append(res, &acc)
		}
	}
	return res, slot, nil
}

// Filter narrows program accounts. The zero filter matches all.
type Filter struct {
	Prefix   []byte // first bytes of the data, such as a discriminator
	DataSize uint64 // exact length, 0 for any
	Fields   []Field
}

// Field is bytes of an account's data at an offset.
type Field struct {
	Offset uint64
	Bytes  []byte
}

// Params returns the filter in the RPC's form, nil when it matches all.
func (f Filter) Params() []any {
	var out []any
	memcmp := func(off uint64, b []byte) {
		out = append(out, map[string]any{"memcmp": map[string]any{
			"offset": off, "bytes": base64.StdEncoding.EncodeToString(b), "encoding": "base64",
		}})
	}
	if len(f.Prefix) > 0 {
		memcmp(0, f.Prefix)
	}
	for _, x := range f.Fields {
		memcmp(x.Offset, x.Bytes)
	}
	if f.DataSize > 0 {
		out = append(out, map[string]any{"dataSize": f.DataSize})
	}
	return out
}

// Matches reports whether account data passes the filter.
func (f Filter) Matches(data []byte) bool {
	lacks := func(x Field) bool {
		n := uint64(len(data))
		return x.Offset > n || uint64(len(x.Bytes)) > n-x.Offset || !bytes.Equal(data[x.Offset:x.Offset+uint64(len(x.Bytes))], x.Bytes)
	}
	return bytes.HasPrefix(data, f.Prefix) && !slices.ContainsFunc(f.Fields, lacks) &&
		(f.DataSize == 0 || f.DataSize == uint64(len(data)))
}

// ProgramAccounts reads all accounts of a program that pass the filter, and the slot of the answer.
func (c *Client) ProgramAccounts(ctx context.Context, program solana.PublicKey, at Commitment, f Filter) ([]Account, uint64, error) {
	p := accountParam(at)
	p["withContext"] = true
	if fp := f.Params(); fp != nil {
		p["filters"] = fp
	}
	var out struct {
		Context slotContext `json:"context"`
		Value   []struct {
			Pubkey  solana.PublicKey `json:"pubkey"`
			Account accountJSON      `json:"account"`
		} `json:"value"`
	}
	if err := c.Raw(ctx, &out, "getProgramAccounts", program, p); err != nil {
		return nil, 0, err
	}
	res := make([]Account, 0, len(out.Value))
	for i := range out.Value {
		acc, err := out.Value[i].Account.account(out.Value[i].Pubkey, out.Context.Slot)
		if err != nil {
			return nil, 0, err
		}
		res = append(res, acc)
	}
	return res, out.Context.Slot, nil
}

// ProgramAddresses lists the accounts of a program that pass the filter, without what they hold.
func (c *Client) ProgramAddresses(ctx context.Context, program solana.PublicKey, at Commitment, f Filter) ([]solana.PublicKey, error) {
	p := accountParam(at)
	p["dataSlice"] = map[string]any{"offset": 0, "length": 0}
	if fp := f.Params(); fp != nil {
		p["filters"] = fp
	}
	var got []struct {
		Pubkey solana.PublicKey `json:"pubkey"`
	}
	if err := c.Raw(ctx, &got, "getProgramAccounts", program, p); err != nil {
		return nil, err
	}
	out := make([]solana.PublicKey, len(got))
	for i := range got {
		out[i] = got[i].Pubkey
	}
	return out, nil
}

type slotContext struct {
	Slot uint64 `json:"slot"`
}

type accountJSON struct {
	Lamports   uint64           `json:"lamports"`
	Owner      solana.PublicKey `json:"owner"`
	Data       json.RawMessage  `json:"data"`
	Executable bool             `json:"executable"`
}

func (a *accountJSON) account(key solana.PublicKey, slot uint64) (Account, error) {
	var pair [2]string
	if err := json.Unmarshal(a.Data, &pair); err != nil || pair[1] != "base64" {
		return Account{}, fmt.Errorf("account %s: data is not base64: %w", key, ErrNotFound)
	}
	data, err := base64.StdEncoding.DecodeString(pair[0])
	if err != nil {
		return Account{}, fmt.Errorf("account %s: %w", key, err)
	}
	return Account{Key: key, Owner: a.Owner, Lamports: Lamports(a.Lamports), Data: data, Executable: a.Executable, Slot: slot}, nil
}

func commitmentParam(at Commitment) map[string]any { return map[string]any{"commitment": string(at)} }

func accountParam(at Commitment) map[string]any {
	return map[string]any{"commitment": string(at), "encoding": "base64"}
}
