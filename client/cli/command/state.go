package command

import (
	"path/filepath"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
)

// Folder is the state of the wallet on the cluster.
func (s *Session) Folder() (*purchase.Folder, error) {
	if s.state != nil {
		return s.state, nil
	}
	key, err := s.Wallet()
	if err != nil {
		return nil, err
	}
	s.state, err = s.FolderOf(key.PublicKey())
	return s.state, err
}

// FolderOf is the state of any wallet on the cluster.
func (s *Session) FolderOf(wallet solana.PublicKey) (*purchase.Folder, error) {
	genesis, err := s.Client.Genesis(s.Context)
	if err != nil {
		return nil, err
	}
	root, err := s.StateRoot()
	if err != nil {
		return nil, err
	}
	return purchase.Open(root, genesis, wallet)
}

// Purchases reads all records of the wallet; those that cannot be read are said and left out. Errors: those of Folder.
func (s *Session) Purchases() ([]purchase.Purchase, error) {
	f, err := s.Folder()
	if err != nil {
		return nil, err
	}
	all, err := f.All()
	if err != nil {
		s.Say(" · %v", err)
	}
	return all, nil
}

// StateRoot is the folder of what this client keeps, of all wallets and clusters.
func (s *Session) StateRoot() (string, error) {
	root := s.CLI.String(FlagStateDir)
	if root == "" {
		var err error
		if root, err = purchase.DefaultRoot(); err != nil {
			return "", service.Usage(err.Error(), "")
		}
	}
	return filepath.Abs(root)
}

// Unsigned sends transactions that others sign.
func (s *Session) Unsigned() *buy.Sender {
	return &buy.Sender{Client: s.Client, Fees: s.Fees, Log: s.Log, Waiting: s.WaitingFor}
}

// Sender sends transactions that the wallet signs.
func (s *Session) Sender() (*buy.Sender, error) {
	key, err := s.Wallet()
	if err != nil {
		return nil, err
	}
	out := s.Unsigned()
	out.Signer, out.Sponsor = key, s.Sponsor
	return out, nil
}

// Leftovers says what became of transactions whose command died while it waited for them. They are never sent again:
// only the customer knows whether they are still wanted.
func (s *Session) Leftovers() error {
	f, err := s.Folder()
	if err != nil {
		return err
	}
	genesis, err := s.Client.Genesis(s.Context)
	if err != nil {
		return err
	}
	return buy.Leftovers(s.Context, s.Client, f.Transactions(), genesis, s.Event, func(e error) {
		s.Say(" · the transaction of an earlier command cannot be read: %v", e)
	})
}
