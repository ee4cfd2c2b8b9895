package host

import (
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/server"
	"github.com/gantry-market/gantry/client/service"
)

// served is whom the server acts for. A customer that is named need not have authorised the key
// yet: its wallet does so on the page. A server without --session makes a key of its own for it.
func (s *session) served() (solana.PublicKey, error) {
	var named solana.PublicKey
	if text := s.CLI.String(command.FlagCustomer); text != "" {
		var err error
		if named, err = service.Address(text, "wallet"); err != nil {
			return named, err
		}
	}
	if s.CLI.String(command.FlagSession) == "" {
		if named.IsZero() {
			return named, service.Usage("gantry serve works with a session key only, and --session is missing",
				"say with --customer WALLET whose wallet authorises one on the page; or make one with: gantry key new session.json, "+
					"and name it with: gantry session add session.json --cap USDC --fund SOL")
		}
		if err := s.ownSessionKey(named); err != nil {
			return named, err
		}
	}
	if named.IsZero() || s.CLI.Bool("no-page") {
		return s.Customer()
	}
	s.ActFor(named)
	return named, nil
}

// ownSessionKey has the command work with a key that it keeps for a customer on this cluster, and makes where there is none.
func (s *session) ownSessionKey(customer solana.PublicKey) error {
	genesis, err := s.Client.Genesis(s.Context)
	if err != nil {
		return err
	}
	root, err := s.StateRoot()
	if err != nil {
		return err
	}
	path, err := server.OwnKey(root, genesis, customer)
	if err != nil {
		return err
	}
	return s.CLI.Set(command.FlagSession, path)
}
