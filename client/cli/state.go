package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/sdk/txm"
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
	files, err := filepath.Glob(filepath.Join(f.Transactions(), "*.db"))
	if err != nil {
		return fmt.Errorf("transactions of earlier commands: %w", err)
	}
	genesis, err := s.client.Genesis(s.ctx)
	if err != nil {
		return err
	}
	for _, path := range files {
		if purchase.InUse(path) {
			continue
		}
		store, err := txm.OpenStore(path, genesis)
		if err != nil {
			s.say(" · the transaction of an earlier command cannot be read: %v", err)
			continue
		}
		keep := false
		err = store.Entries(func(e txm.Entry) error {
			open, err := s.leftover(e)
			keep = keep || open
			return err
		})
		if err = errors.Join(err, store.Close()); err != nil {
			return err
		}
		if !keep {
			_ = os.Remove(path)
		}
	}
	return nil
}

// leftover prints the fate of one transaction of an earlier command; open means that it may still take effect.
func (s *session) leftover(e txm.Entry) (open bool, err error) {
	l, open, err := buy.LeftoverOf(s.ctx, s.client, e)
	if err == nil && l != nil {
		s.event(*l)
	}
	return open, err
}
