package view

import (
	"bytes"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
)

// Params returns the market's parameters; false before the market is known.
func (v *Accounts) Params() (market.Params, bool) {
	if v.Market == nil {
		return market.Params{}, false
	}
	return v.Market.Params, true
}

// Weights returns the voting weight of every keeper whose statements count for a period that ends at end (unix
// seconds): it was active then. Keepers that leave or are expelled later still count, so that every keeper computes the
// same report at any time.
func (v *Accounts) Weights(end int64) map[solana.PublicKey]uint64 {
	out := make(map[solana.PublicKey]uint64, len(v.Keepers))
	for wallet, k := range v.Keepers {
		if weight := k.WeightAt(end); weight > 0 {
			out[wallet] = weight
		}
	}
	return out
}

// ActiveKeepers returns the wallets of all active keepers.
func (v *Accounts) ActiveKeepers() []solana.PublicKey {
	out := make([]solana.PublicKey, 0, len(v.Keepers))
	for wallet, k := range v.Keepers {
		if k.State() == market.KeeperActive {
			out = append(out, wallet)
		}
	}
	return out
}

// SignerOf is the key that signs for a keeper; the wallet itself where it is no keeper.
func (v *Accounts) SignerOf(wallet solana.PublicKey) solana.PublicKey {
	if k, ok := v.Keepers[wallet]; ok {
		return k.SigningKey()
	}
	return wallet
}

// KeeperOfSigner returns the wallet of the keeper for which a key signs; false when it signs for none. Of several,
// whose owner shares the key, it is one and the same for everybody.
func (v *Accounts) KeeperOfSigner(key solana.PublicKey) (wallet solana.PublicKey, ok bool) {
	for w := range v.KeepersOfSigner[key] {
		if !ok || bytes.Compare(w[:], wallet[:]) < 0 {
			wallet, ok = w, true
		}
	}
	return wallet, ok
}

// RunningLeases returns a node's leases that run, in one order.
func (v *Accounts) RunningLeases(node solana.PublicKey) []*market.Lease {
	var out []*market.Lease
	for key := range v.LeasesOfNode[node] {
		if l := v.Leases[key]; l.State() == market.LeaseRunning {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b *market.Lease) int { return bytes.Compare(a.Address[:], b.Address[:]) })
	return out
}

// Voted returns the root that the keeper with this index has voted for in a period.
func (v *Accounts) Voted(period uint64, index uint16) (root [32]byte, voted bool) {
	r, ok := v.Reports[period]
	if !ok || !r.Voted(index) {
		return root, false
	}
	for _, c := range r.Roots() {
		if market.Has(c.Voters, index) {
			return c.Root, true
		}
	}
	return root, false
}
