package command

import (
	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/service"
)

// Flags with which a session key acts in place of the customer's wallet.
const (
	FlagSession  = "session"
	FlagCustomer = "customer"
)

// AsSession adds these flags to those of a command that session keys may use.
func AsSession(flags ...cli.Flag) []cli.Flag {
	return append(flags,
		&cli.StringFlag{Name: FlagSession, Usage: "keypair `FILE` of a session key that acts for its customer", EnvVars: []string{"GANTRY_SESSION"}},
		&cli.StringFlag{Name: FlagCustomer, Usage: "`WALLET` that the session key acts for (default: the one that names it)"},
	)
}

// Customer is whom the command acts for: the wallet, or the customer that has named the session key.
func (s *Session) Customer() (solana.PublicKey, error) {
	key, err := s.Wallet()
	if err != nil || s.CLI.String(FlagSession) == "" {
		return key.PublicKey(), err
	}
	if !s.actsFor.IsZero() {
		return s.actsFor, nil
	}
	var named solana.PublicKey
	if text := s.CLI.String(FlagCustomer); text != "" {
		if named, err = service.Address(text, "wallet"); err != nil {
			return named, err
		}
	}
	s.actsFor, err = s.Service.CustomerOf(s.Context, key.PublicKey(), named)
	return s.actsFor, err
}

// ActFor sets whom the session key acts for, where it is known already.
func (s *Session) ActFor(customer solana.PublicKey) { s.actsFor = customer }
