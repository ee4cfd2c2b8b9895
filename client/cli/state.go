package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/sdk/chain"
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

// manager opens a transaction manager on a store of its own. The returned function closes both; keep leaves the file.
func (s *session) manager(path string) (m *txm.Manager, closeBoth func(keep bool), err error) {
	return s.managerFor(path, 0)
}

// managerFor is manager with a time for which outcomes are kept; 0 for the default.
func (s *session) managerFor(path string, retain time.Duration) (m *txm.Manager, closeBoth func(keep bool), err error) {
	key, err := s.wallet()
	if err != nil {
		return nil, nil, err
	}
	m, end, err := s.openManager(path, txm.Options{Keys: txm.NewKeys(key), Payer: key.PublicKey(), Retain: retain})
	if err != nil {
		return nil, nil, err
	}
	return m, func(keep bool) {
		end()
		if !keep {
			_ = os.Remove(path)
		}
	}, nil
}

// openManager opens a transaction manager on a store of its own; o says for which keys. The returned function closes both.
func (s *session) openManager(path string, o txm.Options) (m *txm.Manager, end func(), err error) {
	genesis, err := s.client.Genesis(s.ctx)
	if err != nil {
		return nil, nil, err
	}
	store, err := txm.OpenStore(path, genesis)
	if err != nil {
		return nil, nil, err
	}
	o.RPC, o.Store, o.Commitment, o.Log, o.Fees = s.client, store, s.waitLevel(), s.log, s.fees
	if m, err = txm.New(o); err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return m, func() {
		m.Close()
		_ = store.Close() // what is stored is synced already
	}, nil
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
	if e.Current == nil || e.State.Terminal() {
		return false, nil
	}
	fate, st, err := s.client.Fate(s.ctx, e.Current.Signature, e.Current.LastValid, e.Current.SinceSlot)
	if err != nil {
		return true, err
	}
	what := fmt.Sprintf(" · an earlier command ended before its %s of %s UTC was confirmed: ", strings.ReplaceAll(e.Kind, "_", " "), when(e.Created.Unix()))
	switch {
	case fate == chain.FateLanded && st.Err != nil:
		what += "it was refused"
	case fate == chain.FateLanded:
		what += "it took effect"
	case fate == chain.FateDead:
		what += "it did not take effect and cannot any more"
	case fate == chain.FateUncertain:
		what += "this node does not remember whether it took effect; look at your account"
	default:
		what += "it may still take effect, wait a minute before you repeat it"
		open = true
	}
	s.say("%s   tx %s", what, e.Current.Signature)
	return open, nil
}
