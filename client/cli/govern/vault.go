package govern

import (
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/sdk/market"
)

// governor is the address that the command acts for: that of --as-vault, and else the wallet's.
func (s *session) governor() (solana.PublicKey, error) {
	if s.CLI.String(command.FlagVault) != "" {
		return s.Vault()
	}
	key, err := s.Wallet()
	if err != nil {
		return solana.PublicKey{}, err
	}
	return key.PublicKey(), nil
}

// govern is begin for what governance sends.
func (s *session) govern(names ...string) ([]string, market.Market, solana.PublicKey, error) {
	args, err := s.Args(names...)
	if err != nil {
		return nil, market.Market{}, solana.PublicKey{}, err
	}
	by, err := s.governor()
	if err != nil {
		return nil, market.Market{}, by, err
	}
	mk, err := s.Market()
	return args, mk, by, err
}
