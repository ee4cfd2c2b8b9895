package seed

import (
	"fmt"
	"path/filepath"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// Wallet is a keypair with a name, kept in a Solana keypair file.
type Wallet struct {
	// Name says what the wallet is for, such as "customer-1".
	Name string
	// Path is the keypair file.
	Path string
	// Key signs for the wallet.
	Key solana.PrivateKey
}

// Address is the wallet's public key.
func (w Wallet) Address() solana.PublicKey { return w.Key.PublicKey() }

// TokenAccount is the wallet's associated token account for a mint.
func (w Wallet) TokenAccount(mint solana.PublicKey) solana.PublicKey {
	return market.TokenAddress(w.Address(), mint)
}

// OpenWallet reads the keypair file NAME.json in dir, or makes it.
func OpenWallet(dir, name string) (Wallet, error) {
	path := filepath.Join(dir, name+".json")
	key, _, err := chain.LoadOrMakeKeypair(path)
	if err != nil {
		return Wallet{}, fmt.Errorf("wallet %s: %w", name, err)
	}
	return Wallet{Name: name, Path: path, Key: key}, nil
}

func openWallets(dir, prefix string, count int) ([]Wallet, error) {
	wallets := make([]Wallet, count)
	for i := range wallets {
		var err error
		if wallets[i], err = OpenWallet(dir, fmt.Sprintf("%s-%d", prefix, i+1)); err != nil {
			return nil, err
		}
	}
	return wallets, nil
}
