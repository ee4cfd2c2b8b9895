package cli

import (
	"cmp"
	"fmt"
	"io"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
)

// emissionJSON is an emission as printed.
type emissionJSON struct {
	Provider string `json:"provider"`         // wallet
	Staked   string `json:"staked,omitempty"` // GNT
	Fees     string `json:"fees,omitempty"`   // USDC that were turned into it
	Tx       sent   `json:"transaction"`
	movedJSON
}

// rewardsEmission sends emission_claim for a provider.
func (s *session) rewardsEmission() error {
	if _, err := s.args(); err != nil {
		return err
	}
	var wallet solana.PublicKey
	if text := s.cli.String("provider"); text != "" {
		var err error
		if wallet, err = address(text, "provider's wallet"); err != nil {
			return err
		}
	}
	_, key, err := s.open()
	if err != nil {
		return err
	}
	if wallet.IsZero() {
		wallet = key.PublicKey()
	}
	p, err := s.reader().Provider(s.ctx, wallet)
	if err != nil {
		return err
	}
	if err := s.emissionDue(&p, wallet); err != nil {
		return err
	}
	instruction, err := ix.EmissionClaim(p.Address)
	tx, err := s.sendOne("emission_claim", instruction, err)
	if err != nil {
		return err
	}
	out := emissionJSON{Provider: wallet.String(), Tx: tx}
	var staked market.GNT
	var fees market.USDC
	for _, e := range eventsOf[bindings.Emitted](s.ctx, s.client, s.waitLevel(), tx, &out.movedJSON) {
		staked, fees = staked+market.GNT(e.Amount), fees+market.USDC(e.Fees)
	}
	if out.known() {
		out.Staked, out.Fees = staked.String(), fees.Exact()
	}
	err = s.done(out, func(w io.Writer) {
		if !out.known() {
			fmt.Fprintf(w, "staked for provider %s: how much is NOT KNOWN   tx %s\n", wallet, tx.Signature)
			return
		}
		fmt.Fprintf(w, "%s GNT staked for provider %s, for %s USDC of fees   tx %s\n", out.Staked, wallet, out.Fees, tx.Signature)
	})
	return cmp.Or(err, out.failure(tx.Signature))
}

// emissionDue says why nothing would be emitted for a provider now.
func (s *session) emissionDue(p *market.Provider, wallet solana.PublicKey) error {
	mk, r, err := s.rewards()
	if err != nil {
		return err
	}
	if mk.Params.EmissionBps == 0 {
		return refused("emission is off in this market", "governance switches it on: gantry market show")
	}
	now, err := s.now()
	if err != nil {
		return err
	}
	vault, err := s.tokenBalance(r.EmissionVault)
	if err != nil {
		return err
	}
	amount, _, err := r.Emission(market.USDC(p.FeesPaid), &mk.Params, market.GNT(vault), now)
	switch {
	case err != nil:
		return fmt.Errorf("amount of the emission: %w", err)
	case amount == 0 && vault == 0:
		return refused("the emission vault is empty", "the program mints nothing: somebody has to fill it")
	case amount == 0 && p.FeesPaid == 0:
		return refused(fmt.Sprintf("no fees of provider %s wait for an emission", wallet), "fees count when the lease that paid them is closed")
	case amount == 0:
		return refused("the day's emission is spent", "try again after midnight UTC")
	}
	return nil
}
