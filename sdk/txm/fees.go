package txm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
)

// Fees bound what transactions may cost. The first transaction of an intent pays what recent blocks asked of those that
// write the same accounts, each further one at least twice as much as the one before it that did not land.
type Fees struct {
	Floor chain.MicroLamports // lowest price of a compute unit
	Cap   chain.MicroLamports // highest price of a compute unit
	Most  chain.Lamports      // that a transaction may cost, signatures and priority together
}

// DefaultFees are the bounds if no flag sets them.
func DefaultFees() Fees { return Fees{Floor: 1_000, Cap: 1_000_000, Most: 1_000_000} }

// secondBid is the lowest price of a transaction whose forerunner did not land at no price at all.
const secondBid chain.MicroLamports = 1_000

// bid is the price of the next transaction of an entry, given what recent blocks asked.
func (f Fees) bid(r Entry, recent chain.MicroLamports) chain.MicroLamports {
	price := max(recent, f.Floor)
	if r.Bids > 0 {
		price = max(price, secondBid)
		if r.Current != nil {
			price = max(price, 2*min(r.Current.Price, f.Cap))
		}
	}
	return min(price, f.Cap)
}

// fit lowers a price until the whole transaction costs no more than it may. signatures are those that it pays for, by
// txform.Signatures. Error: ErrFees.
func (f Fees) fit(price chain.MicroLamports, units uint32, signatures int) (chain.MicroLamports, error) {
	base := chain.SignatureFee * chain.Lamports(signatures)
	if base > f.Most {
		return 0, fmt.Errorf("%w: %d signatures cost %s, a transaction may cost %s; raise --max-fee", ErrFees, signatures, base, f.Most)
	}
	if units == 0 || price.Cost(units) <= f.Most-base {
		return price, nil
	}
	return chain.MicroLamports(uint64(f.Most-base) * 1_000_000 / uint64(units)), nil
}

// price takes a percentile of what recent blocks asked for these accounts and bids by it. A node that cannot say leaves
// the floor and what was bid before.
func (m *Manager) price(ctx context.Context, r Entry) (chain.MicroLamports, error) {
	keys := writable(r)
	recent, err := m.fees.get(keys, func() (chain.MicroLamports, error) {
		fees, err := m.o.RPC.PriorityFees(ctx, keys)
		var re *chain.RPCError
		if errors.As(err, &re) {
			return 0, nil
		}
		if err != nil || len(fees) == 0 {
			return 0, err
		}
		slices.Sort(fees)
		return fees[(len(fees)-1)*m.o.FeePercentile/100], nil
	})
	return m.o.Fees.bid(r, recent), err
}

func writable(r Entry) []solana.PublicKey {
	keys := []solana.PublicKey{r.Payer}
	for _, ix := range r.Instructions {
		for _, a := range ix.Metas {
			if a.Writable && !slices.Contains(keys, a.Key) {
				keys = append(keys, a.Key)
			}
		}
	}
	return keys
}

// feeCache remembers prices for a few seconds, by the accounts written.
type feeCache struct {
	mu sync.Mutex
	at map[string]feeEntry
}

type feeEntry struct {
	price chain.MicroLamports
	at    time.Time
}

const (
	feeTTL      = 3 * time.Second
	feeCacheMax = 1024
)

func (c *feeCache) get(keys []solana.PublicKey, fetch func() (chain.MicroLamports, error)) (chain.MicroLamports, error) {
	id := make([]byte, 0, 32*len(keys))
	for _, k := range keys {
		id = append(id, k[:]...)
	}
	c.mu.Lock()
	e, ok := c.at[string(id)]
	c.mu.Unlock()
	if ok && time.Since(e.at) < feeTTL {
		return e.price, nil
	}
	price, err := fetch()
	if err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at == nil || len(c.at) >= feeCacheMax {
		c.at = map[string]feeEntry{}
	}
	c.at[string(id)] = feeEntry{price, time.Now()}
	return price, nil
}
