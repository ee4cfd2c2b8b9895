package chain

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/records"
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
	n, _, err := ask(ctx, c, nil, positive, "getSlot", commitmentParam(at))
	return uint64(n), err
}

// Balance returns an account's lamports; a missing account has none.
func (c *Client) Balance(ctx context.Context, key solana.PublicKey, level Commitment) (Lamports, error) {
	var lamports unsigned
	_, _, err := ask(ctx, c, nil, func(a *at[*unsigned]) error {
		if a.Value == nil {
			return wrong("it names no balance")
		}
		lamports = *a.Value
		return placed(a)
	}, "getBalance", key, commitmentParam(level))
	return Lamports(lamports), err
}

// MinimumRent returns the lamports that keep an account of this size alive.
func (c *Client) MinimumRent(ctx context.Context, size uint64, at Commitment) (Lamports, error) {
	n, _, err := ask(ctx, c, nil, positive, "getMinimumBalanceForRentExemption", size, commitmentParam(at))
	return Lamports(n), err
}

// Airdrop asks a test cluster for lamports and returns the signature; it does not wait.
func (c *Client) Airdrop(ctx context.Context, key solana.PublicKey, amount Lamports) (solana.Signature, error) {
	var sig solana.Signature
	err := c.Raw(ctx, &sig, "requestAirdrop", key, uint64(amount), commitmentParam(Processed))
	return sig, err
}

type blockhashJSON struct {
	Blockhash            solana.Hash `json:"blockhash"`
	LastValidBlockHeight unsigned    `json:"lastValidBlockHeight"`
}

// LatestBlockhash returns a blockhash for a new transaction.
func (c *Client) LatestBlockhash(ctx context.Context, level Commitment) (Blockhash, error) {
	out, _, err := ask(ctx, c, nil, func(a *at[blockhashJSON]) error {
		if a.Value.Blockhash.IsZero() || a.Value.LastValidBlockHeight == 0 {
			return wrong("it names no blockhash, or no height at which it ends")
		}
		return placed(a)
	}, "getLatestBlockhash", commitmentParam(level))
	if err != nil {
		return Blockhash{}, err
	}
	return Blockhash{Hash: out.Value.Blockhash, LastValidBlockHeight: uint64(out.Value.LastValidBlockHeight), Slot: out.slot()}, nil
}

// Account reads one account. Error: ErrAccountNotFound, of which two answers say so, of two endpoints where there are
// two.
func (c *Client) Account(ctx context.Context, key solana.PublicKey, level Commitment) (Account, error) {
	var found *Account
	check := func(a *at[json.RawMessage]) (err error) {
		found, err = accountIn(a, key)
		return err
	}
	_, by, err := ask(ctx, c, nil, check, "getAccountInfo", key, accountParam(level))
	if err == nil && found == nil {
		_, _, err = ask(ctx, c, []string{by}, check, "getAccountInfo", key, accountParam(level))
	}
	if err != nil {
		return Account{}, err
	}
	if found == nil {
		return Account{}, fmt.Errorf("%s: %w", key, ErrAccountNotFound)
	}
	return *found, nil
}

// accountIn is the account that an answer of getAccountInfo holds, nil for none. An answer must say so: one without a
// value says nothing. Error: ErrAnswer.
func accountIn(a *at[json.RawMessage], key solana.PublicKey) (*Account, error) {
	if err := placed(a); err != nil {
		return nil, err
	}
	if len(a.Value) == 0 {
		return nil, wrong("it has no value")
	}
	var v *accountJSON
	if err := json.Unmarshal(a.Value, &v); err != nil {
		return nil, fmt.Errorf("%w: %w", wrong("the account has another form"), err)
	}
	if v == nil {
		return nil, nil
	}
	acc, err := v.account(key, a.slot())
	return &acc, err
}

// maxAccountsPerCall is the node's limit for getMultipleAccounts.
const maxAccountsPerCall = 100

// Accounts reads several accounts; a missing one is nil in its place, of which two answers say so, of two endpoints
// where there are two. Beyond a hundred keys the answer may span several slots.
func (c *Client) Accounts(ctx context.Context, keys []solana.PublicKey, at Commitment) ([]*Account, error) {
	res := make([]*Account, 0, len(keys))
	for part := range slices.Chunk(keys, maxAccountsPerCall) {
		got, err := c.FindTwice(ctx, part, at, 0)
		if err != nil {
			return nil, err
		}
		res = append(res, got.Accounts...)
	}
	return res, nil
}

// AccountsSince reads several accounts from a node that has reached a slot, and returns the slot of the (oldest)
// answer. That one is missing a single answer says.
func (c *Client) AccountsSince(ctx context.Context, keys []solana.PublicKey, at Commitment, since uint64) ([]*Account, uint64, error) {
	res := make([]*Account, 0, len(keys))
	var slot uint64
	for part := range slices.Chunk(keys, maxAccountsPerCall) {
		got, err := c.accounts(ctx, part, at, since, nil)
		if err != nil {
			return nil, 0, err
		}
		if slot == 0 || got.Slot < slot {
			slot = got.Slot
		}
		res = append(res, got.Accounts...)
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

func commitmentParam(at Commitment) map[string]any { return map[string]any{"commitment": string(at)} }

func accountParam(at Commitment) map[string]any {
	return map[string]any{"commitment": string(at), "encoding": "base64"}
}
