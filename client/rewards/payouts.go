package rewards

import (
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
)

// Payout is a payout.
type Payout struct {
	Address     string `json:"address"`
	Beneficiary string `json:"beneficiary"`
	Source      string `json:"source"`
	Amount      string `json:"amount"`
	PayableAt   int64  `json:"payableAt"`
}

// DescribePayout describes a payout.
func DescribePayout(p *market.Payout) Payout {
	return Payout{p.Address.String(), p.Beneficiary.String(), p.Source.String(), market.GNT(p.Amount).String(), p.PayableAt}
}

// Payouts are claims.
type Payouts struct {
	Wallet  string         `json:"wallet"`
	Total   string         `json:"total"`
	Payouts []Payout       `json:"payouts"`
	Txs     []service.Sent `json:"transactions"`
}

// Pay sends a wallet's payouts whose time has come to it; anyone may, and payer pays for the wallet's account of the token.
func Pay(mk *market.Market, all []market.Payout, of, payer solana.PublicKey, now int64, send Send) (Payouts, error) {
	due, next := payable(all, of, now)
	if len(due) == 0 {
		why := "nothing waits for " + of.String()
		if next != 0 {
			why = fmt.Sprintf("nothing is payable to %s before %s UTC", of, service.When(next))
		}
		return Payouts{}, service.Refused(why, "see gantry payouts list")
	}
	out, total := Payouts{Wallet: of.String()}, market.GNT(0)
	for _, p := range due {
		instruction, err := ix.PayoutClaim(p, mk.StakeMint)
		if err != nil {
			return out, err
		}
		tx, err := send("payout_claim", []solana.Instruction{ix.CreateTokenAccount(payer, of, mk.StakeMint), instruction})
		if err != nil {
			return out, err
		}
		total += market.GNT(p.Amount)
		out.Payouts, out.Txs = append(out.Payouts, DescribePayout(&p)), append(out.Txs, tx)
	}
	out.Total = total.String()
	return out, nil
}

// payable are a wallet's payouts whose time has come, and when the next one's comes; 0 when there is none.
func payable(all []market.Payout, of solana.PublicKey, now int64) (due []market.Payout, next int64) {
	for _, p := range all {
		switch {
		case p.Beneficiary != of:
		case now >= p.PayableAt:
			due = append(due, p)
		case next == 0 || p.PayableAt < next:
			next = p.PayableAt
		}
	}
	return due, next
}
