package invariants

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// ErrRestless means that the chain moved money during every try to read it.
var ErrRestless = errors.New("money moved on chain during every try to read it")

// Mints are the market's two tokens.
type Mints struct{ Payment, Stake solana.PublicKey }

// Token is a token account.
type Token struct {
	Mint, Owner solana.PublicKey
	Amount      uint64
}

// Snapshot is the whole state of the market and of both mints at one moment.
type Snapshot struct {
	// Now is the chain's clock just after the reading.
	Now  time.Time
	Slot uint64

	// Accounts are all accounts of the program.
	*view.Accounts
	// Tokens are all token accounts of both mints, of whomever.
	Tokens map[solana.PublicKey]Token
	// Supply is what each mint says exists.
	Supply map[solana.PublicKey]uint64
	// Rent is what each account of the program holds, in lamports.
	Rent map[solana.PublicKey]chain.Lamports
}

const (
	snapshotTries = 40
	tokenSize     = 165
	mintSupplyAt  = 36
	tokenOwnerAt  = 32
	tokenAmountAt = 64
)

// Take reads the market. A node answers each question from a state of its own, so it asks again until the accounts that
// say what vaults hold are the same before and after the vaults were read. It fails with ErrRestless.
func Take(ctx context.Context, client *chain.Client, mints Mints) (Snapshot, error) {
	before, err := readProgram(ctx, client)
	if err != nil {
		return Snapshot{}, err
	}
	for range snapshotTries {
		tokens, supply, err := readTokens(ctx, client, mints)
		if err != nil {
			return Snapshot{}, err
		}
		after, err := readProgram(ctx, client)
		if err != nil {
			return Snapshot{}, err
		}
		againTokens, againSupply, err := readTokens(ctx, client, mints)
		if err != nil {
			return Snapshot{}, err
		}
		still := maps.Equal(before.expected(), after.expected()) && maps.Equal(tokens, againTokens) && maps.Equal(supply, againSupply)
		if !still {
			before = after
			continue
		}
		after.Tokens, after.Supply = tokens, supply
		after.Now, err = client.ClusterTime(ctx, chain.Confirmed)
		return after, err
	}
	return Snapshot{}, ErrRestless
}

func readProgram(ctx context.Context, client *chain.Client) (Snapshot, error) {
	accounts, slot, err := client.ProgramAccounts(ctx, bindings.ProgramID, chain.Confirmed, chain.Filter{})
	if err != nil {
		return Snapshot{}, fmt.Errorf("read the market's accounts: %w", err)
	}
	s := Snapshot{Slot: slot, Accounts: view.NewAccounts(), Rent: map[solana.PublicKey]chain.Lamports{}}
	for _, a := range accounts {
		s.Rent[a.Key] = a.Lamports
		meta := query.MetaOf(a)
		meta.Slot = 0 // Snapshot.Slot says when; accounts that nothing has changed are equal in two snapshots
		decoded, err := market.Decode(meta, a.Data)
		if err != nil {
			return Snapshot{}, err
		}
		s.Put(a.Key, decoded.Value)
	}
	return s, nil
}

// expected is what each vault must hold, by what the accounts say.
func (s *Snapshot) expected() map[solana.PublicKey]uint64 {
	vaults := map[solana.PublicKey]uint64{}
	for _, c := range s.Credits {
		vaults[market.CreditsVaultAddress(c.Address)] = c.Balance
	}
	for key, p := range s.Providers {
		vaults[market.StakeVaultAddress(key)] = p.Stake + p.Unstaking
	}
	for _, k := range s.Keepers {
		vaults[market.StakeVaultAddress(k.Address)] = k.Bond
	}
	if r := s.Rewards; r != nil {
		vaults[market.FeeVaultAddress()] = r.Pending + r.Earned + r.Allocated + r.BuyBack
		vaults[market.PayoutVaultAddress()] = r.Payouts
	}
	return vaults
}

func readTokens(ctx context.Context, client *chain.Client, mints Mints) (map[solana.PublicKey]Token, map[solana.PublicKey]uint64, error) {
	tokens, supply := map[solana.PublicKey]Token{}, map[solana.PublicKey]uint64{}
	for _, mint := range []solana.PublicKey{mints.Payment, mints.Stake} {
		accounts, _, err := client.ProgramAccounts(ctx, solana.TokenProgramID, chain.Confirmed,
			chain.Filter{DataSize: tokenSize, Prefix: mint[:]})
		if err != nil {
			return nil, nil, fmt.Errorf("read the token accounts of %s: %w", mint, err)
		}
		for _, a := range accounts {
			if len(a.Data) != tokenSize {
				return nil, nil, fmt.Errorf("token account %s has %d bytes", a.Key, len(a.Data))
			}
			tokens[a.Key] = Token{
				Mint: mint, Owner: solana.PublicKeyFromBytes(a.Data[tokenOwnerAt : tokenOwnerAt+32]),
				Amount: binary.LittleEndian.Uint64(a.Data[tokenAmountAt:]),
			}
		}
	}
	accounts, err := client.Accounts(ctx, []solana.PublicKey{mints.Payment, mints.Stake}, chain.Confirmed)
	if err != nil {
		return nil, nil, fmt.Errorf("read the mints: %w", err)
	}
	for _, a := range accounts {
		if a == nil || len(a.Data) < mintSupplyAt+8 {
			return nil, nil, errors.New("a mint is missing or too short")
		}
		supply[a.Key] = binary.LittleEndian.Uint64(a.Data[mintSupplyAt:])
	}
	return tokens, supply, nil
}
