package seed

import (
	"fmt"

	"github.com/gagliardetto/solana-go"
)

// World is what a seeded local network consists of on chain: tokens and wallets.
type World struct {
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

// Counts says how many wallets of each kind a world has.
type Counts struct{ Keepers, Providers, Customers int }

// OpenWorld reads the keypair files of a world in dir, or makes those that are missing. It touches no chain.
func OpenWorld(dir string, counts Counts) (World, error) {
	var w World
	for _, single := range []struct {
		name string
		into *Wallet
	}{
		{"faucet", &w.Faucet},
		{"authority", &w.Authority},
		{"guardian", &w.Guardian},
		{"treasury", &w.Treasury},
		{"mint-usdc", &w.paymentKey},
		{"mint-gnt", &w.stakeKey},
	} {
		wallet, err := OpenWallet(dir, single.name)
		if err != nil {
			return World{}, err
		}
		*single.into = wallet
	}
	w.PaymentMint, w.StakeMint = w.paymentKey.Address(), w.stakeKey.Address()
	for _, group := range []struct {
		prefix string
		count  int
		into   *[]Wallet
	}{
		{"keeper", counts.Keepers, &w.Keepers}, {"provider", counts.Providers, &w.Providers}, {"customer", counts.Customers, &w.Customers},
	} {
		wallets, err := openWallets(dir, group.prefix, group.count)
		if err != nil {
			return World{}, err
		}
		*group.into = wallets
	}
	return w, nil
}

// Wallet finds a keeper's, provider's or customer's wallet by its name.
func (w World) Wallet(name string) (Wallet, error) {
	for _, group := range [][]Wallet{w.Customers, w.Providers, w.Keepers, {w.Faucet, w.Authority, w.Guardian, w.Treasury}} {
		for _, wallet := range group {
			if wallet.Name == name {
				return wallet, nil
			}
		}
	}
	return Wallet{}, fmt.Errorf("no wallet %q", name)
}
