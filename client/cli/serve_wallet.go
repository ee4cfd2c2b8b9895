package cli

import (
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/server"
)

// served is whom the server acts for, and its session key. A customer that is named need not have authorised the key
// yet: its wallet does so on the page. A server without --session makes a key of its own for it.
func (s *session) served() (solana.PublicKey, solana.PrivateKey, error) {
	var named solana.PublicKey
	if text := s.cli.String(flagCustomer); text != "" {
		var err error
		if named, err = address(text, "wallet"); err != nil {
			return named, nil, err
		}
	}
	if s.cli.String(flagSession) == "" {
		if named.IsZero() {
			return named, nil, usage("gantry serve works with a session key only, and --session is missing",
				"say with --customer WALLET whose wallet authorises one on the page; or make one with: gantry key new session.json, "+
					"and name it with: gantry session add session.json --cap USDC --fund SOL")
		}
		if err := s.ownSessionKey(named); err != nil {
			return named, nil, err
		}
	}
	key, err := s.keyFile()
	if err != nil {
		return named, nil, err
	}
	if named.IsZero() || s.cli.Bool("no-page") {
		customer, err := s.customer()
		return customer, key, err
	}
	s.actsFor = named
	return named, key, nil
}

// ownSessionKey has the command work with a key that it keeps for a customer on this cluster, and makes where there is none.
func (s *session) ownSessionKey(customer solana.PublicKey) error {
	genesis, err := s.client.Genesis(s.ctx)
	if err != nil {
		return err
	}
	root, err := s.stateRoot()
	if err != nil {
		return err
	}
	path, err := server.OwnKey(root, genesis, customer)
	if err != nil {
		return err
	}
	return s.cli.Set(flagSession, path)
}
