package service

import (
	"context"
	"fmt"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
)

// SessionKey is a key that acts for a customer up to a cap.
type SessionKey struct {
	Key     string `json:"key"`
	Cap     string `json:"cap"`
	Spent   string `json:"spent"`
	Left    string `json:"left"`
	Expiry  int64  `json:"expiry"`
	Expired bool   `json:"expired"`
}

// SessionKeys are the session keys of a customer.
type SessionKeys struct {
	Customer string       `json:"customer"`
	Keys     []SessionKey `json:"sessionKeys"`
	Tx       *Sent        `json:"transaction,omitempty"`
}

// SessionKeys describes the session keys of a customer, as of a commitment level.
func (s *Service) SessionKeys(ctx context.Context, customer solana.PublicKey, level chain.Commitment) (SessionKeys, error) {
	out := SessionKeys{Customer: customer.String(), Keys: []SessionKey{}}
	c, _, err := query.Find[market.Credits](ctx, s.client, market.CreditsAddress(customer), level)
	if err != nil {
		return out, err
	}
	now, err := s.client.Now(ctx)
	for _, k := range c.SessionKeys {
		if k.Cap > 0 {
			out.Keys = append(out.Keys, SessionKey{
				Key: k.Key.String(), Cap: market.USDC(k.Cap).String(), Spent: market.USDC(k.Spent).String(),
				Left: market.USDC(k.Cap - min(k.Cap, k.Spent)).String(), Expiry: k.Expiry, Expired: now >= k.Expiry,
			})
		}
	}
	return out, err
}

// CustomerOf is the customer that a session key acts for: the one that is named, or the only one that names the key.
func (s *Service) CustomerOf(ctx context.Context, key, named solana.PublicKey) (solana.PublicKey, error) {
	var none solana.PublicKey
	now, err := s.client.Now(ctx)
	if err != nil {
		return none, err
	}
	var found []solana.PublicKey
	for _, f := range query.CreditsNaming(key) {
		all, err := query.Select[market.Credits](ctx, s.client, f, s.client.Commitment())
		if err != nil {
			return none, err
		}
		for _, c := range all {
			if k, names := c.SessionKeyOf(key); names && now < k.Expiry {
				found = append(found, c.Customer)
			}
		}
	}
	switch {
	case !named.IsZero() && slices.Contains(found, named):
		return named, nil
	case !named.IsZero():
		return none, Refused(fmt.Sprintf("%s is not a session key of %s, or is over", key, named), "see: gantry session list "+named.String())
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0:
		return none, Refused(fmt.Sprintf("%s is nobody's session key, or is over", key),
			fmt.Sprintf("the customer names it with: gantry session add %s --cap USDC", key))
	}
	return none, Usage(fmt.Sprintf("%s is a session key of %d customers", key, len(found)), "say whom it acts for with --customer WALLET")
}
