package cli

import (
	"path/filepath"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/purchase"
)

// folder is the state of the wallet on the cluster.
func (s *session) folder() (*purchase.Folder, error) {
	if s.state != nil {
		return s.state, nil
	}
	key, err := s.wallet()
	if err != nil {
		return nil, err
	}
	genesis, err := s.client.Genesis(s.ctx)
	if err != nil {
		return nil, err
	}
	root, err := s.stateRoot()
	if err != nil {
		return nil, err
	}
	s.state, err = purchase.Open(root, genesis, key.PublicKey())
	return s.state, err
}

// stateRoot is the folder of what this client keeps, of all wallets and clusters.
func (s *session) stateRoot() (string, error) {
	root := s.cli.String(flagStateDir)
	if root == "" {
		var err error
		if root, err = purchase.DefaultRoot(); err != nil {
			return "", usage(err.Error(), "")
		}
	}
	return filepath.Abs(root)
}

// unsigned sends transactions that others sign.
func (s *session) unsigned() *buy.Sender {
	return &buy.Sender{Client: s.client, Fees: s.fees, Log: s.log, Waiting: s.waitingFor}
}

// sender sends transactions that the wallet signs.
func (s *session) sender() (*buy.Sender, error) {
	key, err := s.wallet()
	if err != nil {
		return nil, err
	}
	out := s.unsigned()
	out.Signer = key
	return out, nil
}

// leftovers says what became of transactions whose command died while it waited for them. They are never sent again:
// only the customer knows whether they are still wanted.
func (s *session) leftovers() error {
	f, err := s.folder()
	if err != nil {
		return err
	}
	genesis, err := s.client.Genesis(s.ctx)
	if err != nil {
		return err
	}
	return buy.Leftovers(s.ctx, s.client, f.Transactions(), genesis, s.event, func(e error) {
		s.say(" · the transaction of an earlier command cannot be read: %v", e)
	})
}
