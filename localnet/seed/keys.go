package seed

import (
	"fmt"

	"github.com/gagliardetto/solana-go"
)

// Keys are the keypairs behind a seeded market: its tokens and all wallets.
type Keys struct {
	// Faucet mints both tokens and pays for the setup.
	Faucet Wallet
	// Authority governs the market and may upgrade the program.
	Authority Wallet
	// Guardian may pause new orders and awards.
	Guardian Wallet
	// Treasury owns the account that receives the treasury's share of fees.
	Treasury Wallet
	// PaymentMint is the test USDC, StakeMint the stake token GNT.
	PaymentMint, StakeMint solana.PublicKey

	Keepers, Providers, Customers []Wallet

	paymentKey, stakeKey Wallet
}

// Counts says how many wallets of each kind there are.
type Counts struct{ Keepers, Providers, Customers int }

// OpenKeys reads the keypair files in dir, or makes those that are missing. It touches no chain.
func OpenKeys(dir string, counts Counts) (Keys, error) {
	var k Keys
	for _, single := range []struct {
		name string
		into *Wallet
	}{
		{"faucet", &k.Faucet},
		{"authority", &k.Authority},
		{"guardian", &k.Guardian},
		{"treasury", &k.Treasury},
		{"mint-usdc", &k.paymentKey},
		{"mint-gnt", &k.stakeKey},
	} {
		wallet, err := OpenWallet(dir, single.name)
		if err != nil {
			return Keys{}, err
		}
		*single.into = wallet
	}
	k.PaymentMint, k.StakeMint = k.paymentKey.Address(), k.stakeKey.Address()
	for _, group := range []struct {
		prefix string
		count  int
		into   *[]Wallet
	}{
		{"keeper", counts.Keepers, &k.Keepers}, {"provider", counts.Providers, &k.Providers}, {"customer", counts.Customers, &k.Customers},
	} {
		wallets, err := openWallets(dir, group.prefix, group.count)
		if err != nil {
			return Keys{}, err
		}
		*group.into = wallets
	}
	return k, nil
}

// Wallet finds a keeper's, provider's or customer's wallet by its name.
func (k Keys) Wallet(name string) (Wallet, error) {
	for _, group := range [][]Wallet{k.Customers, k.Providers, k.Keepers, {k.Faucet, k.Authority, k.Guardian, k.Treasury}} {
		for _, wallet := range group {
			if wallet.Name == name {
				return wallet, nil
			}
		}
	}
	return Wallet{}, fmt.Errorf("no wallet %q", name)
}
