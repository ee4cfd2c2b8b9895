package demo

import (
	"context"
	"fmt"
	"strings"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/localnet/invariants"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// holder is a line of the balance table.
type holder struct {
	name string
	key  solana.PublicKey
	// vault is set for token accounts of the program: they are not wallets.
	vault bool
}

// holding is what a holder has.
type holding struct {
	sol  chain.Lamports
	usdc market.USDC
	gnt  market.GNT
}

// holders are all wallets that take part, and the account that fees end up in.
func (d *demo) holders() []holder {
	var all []holder
	w := d.net.Keys
	for _, c := range w.Customers {
		all = append(all, holder{name: c.Name, key: c.Address()})
	}
	for _, p := range w.Providers {
		all = append(all, holder{name: p.Name, key: p.Address()})
	}
	for _, m := range d.net.Nodes {
		all = append(all, holder{name: m.Name + " key", key: m.Key.Address()})
	}
	for _, k := range w.Keepers {
		all = append(all, holder{name: k.Name, key: k.Address()})
	}
	return append(all, holder{name: "guardian", key: w.Guardian.Address()}, holder{name: "treasury", key: w.Treasury.Address()},
		holder{name: "market fees", key: market.FeeVaultAddress(), vault: true})
}

// count reads what every holder has. Tokens come from the snapshot, so that they are of one moment.
func (d *demo) count(ctx context.Context, s invariants.Snapshot) (map[solana.PublicKey]holding, error) {
	all := map[solana.PublicKey]holding{}
	for _, h := range d.holders() {
		sol, err := d.net.Chain.Balance(ctx, h.key, chain.Confirmed)
		if err != nil {
			return nil, fmt.Errorf("balance of %s: %w", h.name, err)
		}
		have := holding{sol: sol}
		if h.vault {
			have.usdc = market.USDC(s.Tokens[h.key].Amount)
		} else {
			mints := d.net.Mints()
			have.usdc = market.USDC(s.Tokens[market.TokenAddress(h.key, mints.Payment)].Amount)
			have.gnt = market.GNT(s.Tokens[market.TokenAddress(h.key, mints.Stake)].Amount)
		}
		all[h.key] = have
	}
	return all, nil
}

// balanceTable shows every balance before and after, and what changed.
func (d *demo) balanceTable(before, after map[solana.PublicKey]holding) [][]string {
	rows := [][]string{{"", "before", "after", "change"}}
	for _, h := range d.holders() {
		b, a := before[h.key], after[h.key]
		if b.sol != a.sol {
			rows = append(rows, []string{h.name, sol9(b.sol), sol9(a.sol), signed(int64(a.sol)-int64(b.sol), 9) + " SOL "})
		}
		if b.usdc != a.usdc {
			rows = append(rows, []string{h.name, b.usdc.Exact(), a.usdc.Exact(), signed(int64(a.usdc)-int64(b.usdc), 6) + " USDC"})
		}
		if b.gnt != a.gnt {
			rows = append(rows, []string{h.name, b.gnt.String(), a.gnt.String(), signed(int64(a.gnt)-int64(b.gnt), 9) + " GNT "})
		}
		if b == a {
			rows = append(rows, []string{h.name, "", "", "unchanged     "})
		}
	}
	return rows
}

func sol9(l chain.Lamports) string { return strings.TrimPrefix(signed(int64(l), 9), "+") }

// signed writes n / 10^decimals with a sign.
func signed(n int64, decimals int) string {
	sign := "+"
	if n < 0 {
		sign, n = "−", -n
	}
	digits := fmt.Sprintf("%0*d", decimals+1, n)
	whole, frac := digits[:len(digits)-decimals], digits[len(digits)-decimals:]
	if decimals == 9 { // a stake token or SOL: no more zeros than needed
		frac = strings.TrimRight(frac, "0")
	}
	if frac == "" {
		return sign + whole
	}
	return sign + whole + "." + frac
}
