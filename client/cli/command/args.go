package command

import (
	"fmt"
	"strings"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
)

// Args returns exactly the arguments that a command needs; names are for the message.
func (s *Session) Args(names ...string) ([]string, error) {
	got := s.CLI.Args().Slice()
	if len(got) == len(names) {
		return got, nil
	}
	form := s.CLI.Command.HelpName
	if len(names) > 0 {
		form += " " + strings.Join(names, " ")
	}
	if len(got) > len(names) {
		return nil, service.Usage(fmt.Sprintf("%q is one argument too many", got[len(names)]), "write: "+form)
	}
	return nil, service.Usage(names[len(got)]+" is missing", "write: "+form)
}

// Addresses are those of accounts.
func Addresses[T any](all []T, of func(T) solana.PublicKey) []solana.PublicKey {
	out := make([]solana.PublicKey, len(all))
	for i, a := range all {
		out[i] = of(a)
	}
	return out
}

// TokenBalance is what a token account holds; 0 when it does not exist.
func (s *Session) TokenBalance(account solana.PublicKey) (uint64, error) {
	return s.Service.TokenBalance(s.Context, account)
}

// WalletArg is the wallet that a command is about: the argument, or one's own.
func (s *Session) WalletArg() (solana.PublicKey, error) {
	if s.CLI.NArg() > 1 {
		return solana.PublicKey{}, service.Usage(fmt.Sprintf("%q is one argument too many", s.CLI.Args().Get(1)), "")
	}
	return s.WalletOr(s.CLI.Args().First(), "wallet")
}

// WalletOr is the wallet that text names, or one's own without a text; what it is of is said when it is not an address.
func (s *Session) WalletOr(text, what string) (solana.PublicKey, error) {
	if text != "" {
		return service.Address(text, what)
	}
	key, err := s.Wallet()
	if err != nil {
		return solana.PublicKey{}, err
	}
	return key.PublicKey(), nil
}
