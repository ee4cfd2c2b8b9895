package service

import (
	"context"
	"strings"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
)

// Fees is what keys hold for fees and rent, SOL, and the sum of it.
func (s *Service) Fees(ctx context.Context, keys []solana.PublicKey) (held []string, sum string, err error) {
	var all chain.Lamports
	for _, key := range keys {
		has, err := s.client.Balance(ctx, key, s.client.Commitment())
		if err != nil {
			return nil, "", err
		}
		all += has
		held = append(held, strings.TrimSuffix(has.String(), " SOL"))
	}
	return held, strings.TrimSuffix(all.String(), " SOL"), nil
}
