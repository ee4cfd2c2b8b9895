package demo

import (
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
)

// flow is where the money of the customers went, in payment tokens. Parts may be negative.
type flow struct {
	deposited, providers, keepers, fees, back int64
}

// addsUp reports whether all that was deposited went somewhere.
func (f flow) addsUp() bool { return f.deposited == f.providers+f.keepers+f.fees+f.back }

// moneyBetween is where the money of the customers went between two counts.
func (d *demo) moneyBetween(before, after map[solana.PublicKey]holding) *flow {
	change := func(keys ...solana.PublicKey) (sum int64) {
		for _, k := range keys {
			sum += int64(after[k].usdc) - int64(before[k].usdc)
		}
		return sum
	}
	f := &flow{deposited: int64(customerCount * deposit)}
	f.back = f.deposited
	w := d.net.Keys
	for _, c := range w.Customers {
		f.back += change(c.Address())
	}
	for _, p := range w.Providers {
		f.providers += change(p.Address())
	}
	for _, m := range d.net.Nodes {
		f.providers += change(m.Key.Address())
	}
	for _, k := range w.Keepers {
		f.keepers += change(k.Address())
	}
	f.fees = change(w.Guardian.Address(), w.Treasury.Address(), market.FeeVaultAddress())
	return f
}

// dollars writes an amount with two decimals at least, and all that it has: nothing is rounded away.
func dollars(n int64) string {
	if n < 0 {
		return "−" + dollars(-n)
	}
	return fmt.Sprintf("$%s", market.USDC(n))
}
