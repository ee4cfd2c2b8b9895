package chain

import (
	"context"
	"errors"
	"slices"

	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/rpc"
)

// ErrTooLarge is the error of a list that has more accounts, or larger ones, than its reader allows.
var ErrTooLarge = errors.New("the list has more than its reader allows")

// Bound is the most that a list of accounts may hold: an endpoint may send a list without an end. Zero fields are not stated.
type Bound struct {
	Accounts int   // how many
	Bytes    int64 // of their data, with AccountOverhead for each
}

// AccountOverhead is what a Bound counts for an account beside its data, in bytes.
const AccountOverhead = 128

// DefaultBound is the bound of a list of all accounts of a program where nobody states one.
func DefaultBound() Bound { return Bound{Accounts: 2 << 20, Bytes: 256 << 20} }

// filterPart: a list of accounts that pass filters may be as large as one part in so many of a list of all, where nobody states a bound.
const filterPart = 4

// or fills zero fields with those of another bound.
func (b Bound) or(other Bound) Bound {
	if b.Accounts <= 0 {
		b.Accounts = other.Accounts
	}
	if b.Bytes <= 0 {
		b.Bytes = other.Bytes
	}
	return b
}

// text is the most bytes of an answer with such a list. Base64 has four bytes for three; the fields of an account, with their names, take
// less than three times AccountOverhead.
func (b Bound) text() int64 {
	const most = 1 << 50
	return 3*min(b.Bytes, most) + smallAnswer
}

// maxElement is the longest element of a list of accounts, in bytes of text. Those of the market have some kilobytes.
const maxElement = 1 << 20

// Lists are the options of a list. The zero value is all accounts of a program, of any endpoint.
type Lists struct {
	Filter Filter
	Avoid  []string // URLs of endpoints that are asked last
	Most   Bound    // fields that are zero: the client's
}

// Listed says what was listed.
type Listed struct {
	Accounts int
	Slot     uint64
	By       string // the URL of the endpoint that answered
}

// List is an answer of getProgramAccounts. Nodes answer it from an index, which may be incomplete while it is built: an
// account that is missing may be there all the same. Only the account itself says that it is gone: see Gone.
type List struct {
	Accounts []Account
	Slot     uint64
	By       string // the URL of the endpoint that answered
}

// Each hands the accounts of a program that pass the filter to take, one by one as they come, and keeps none. It calls begin before it asks an
// endpoint: what was taken of another one counts for nothing, and so does all of it after an error. An empty list is asked for
// once more, of another endpoint where there is one. Errors: ErrTooLarge, the chain's.
func (c *Client) Each(ctx context.Context, program solana.PublicKey, level Commitment, o Lists, begin func(), take func(Account)) (Listed, error) {
	return c.each(ctx, program, accountParam(level), o, &listing{begin: begin, take: take})
}

func (c *Client) each(ctx context.Context, program solana.PublicKey, p map[string]any, o Lists, l *listing) (Listed, error) {
	p["withContext"] = true
	all := DefaultBound()
	if f := o.Filter.Params(); f != nil {
		p["filters"] = f
		all.Bytes /= filterPart
	}
	l.bound = o.Most.or(c.lists).or(all)
	ctx = context.WithValue(ctx, patient{}, &l.wait)
	for avoid, again := o.Avoid, false; ; again = true {
		n, err := c.do(ctx, methodList, avoid, func(ctx context.Context, r *rpc.Client) error {
			return rawCall(ctx, r, l, methodList, program, p)
		})
		if err != nil {
			return Listed{}, err
		}
		if l.count > 0 || again {
			return Listed{Accounts: l.count, Slot: l.slot, By: n.ep.RPC}, nil
		}
		avoid = append(slices.Clone(avoid), n.ep.RPC)
	}
}

// List is Each that keeps the accounts. Endpoints that avoid names by their URLs are asked last.
func (c *Client) List(ctx context.Context, program solana.PublicKey, at Commitment, f Filter, avoid []string) (List, error) {
	var l List
	got, err := c.Each(ctx, program, at, Lists{Filter: f, Avoid: avoid}, func() { l.Accounts = nil }, func(a Account) {
		l.Accounts = append(l.Accounts, a)
	})
	if err != nil {
		return List{}, err
	}
	l.Slot, l.By = got.Slot, got.By
	return l, nil
}

// ProgramAccounts reads all accounts of a program that pass the filter, and the slot of the answer. That an account is
// missing from it says little: see List.
func (c *Client) ProgramAccounts(ctx context.Context, program solana.PublicKey, at Commitment, f Filter) ([]Account, uint64, error) {
	l, err := c.List(ctx, program, at, f, nil)
	return l.Accounts, l.Slot, err
}

// ProgramAddresses lists the accounts of a program that pass the filter, without what they hold. An empty list is asked
// for once more, of another endpoint where there is one.
func (c *Client) ProgramAddresses(ctx context.Context, program solana.PublicKey, at Commitment, f Filter) ([]solana.PublicKey, error) {
	p := accountParam(at)
	p["dataSlice"] = map[string]any{"offset": 0, "length": 0}
	out := []solana.PublicKey{}
	_, err := c.each(ctx, program, p, Lists{Filter: f}, &listing{
		bare: true, begin: func() { out = out[:0] }, take: func(a Account) { out = append(out, a.Key) },
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
