package invariants

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
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

// Device is the claim of one GPU.
type Device struct {
	Node      solana.PublicKey
	RentPayer solana.PublicKey
	Tier      uint8
}

// Snapshot is the whole state of the market and of both mints at one moment.
type Snapshot struct {
	// Now is the chain's clock just after the reading.
	Now  time.Time
	Slot uint64

	Market    *bindings.Market
	Models    map[solana.PublicKey]*bindings.GpuModel
	Providers map[solana.PublicKey]*bindings.Provider
	Nodes     map[solana.PublicKey]*bindings.Node
	Keepers   map[solana.PublicKey]*bindings.Keeper
	Credits   map[solana.PublicKey]*bindings.Credits
	Orders    map[solana.PublicKey]*bindings.Order
	Leases    map[solana.PublicKey]*bindings.Lease
	Reports   map[solana.PublicKey]*market.Report
	Faults    map[solana.PublicKey]*bindings.Fault
	Disputes  map[solana.PublicKey]*bindings.Dispute
	Payouts   map[solana.PublicKey]*bindings.Payout
	// FraudProofs are proofs of bad work that are not complete.
	FraudProofs map[solana.PublicKey]*bindings.FraudProof
	Auctions    map[solana.PublicKey]*bindings.Auction
	Rewards     *bindings.Rewards
	Devices     map[solana.PublicKey]Device

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

var deviceDiscriminator = func() (d [8]byte) {
	sum := sha256.Sum256([]byte("account:DeviceClaim"))
	copy(d[:], sum[:])
	return d
}()

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
	s := Snapshot{
		Slot:      slot,
		Models:    map[solana.PublicKey]*bindings.GpuModel{},
		Providers: map[solana.PublicKey]*bindings.Provider{},
		Nodes:     map[solana.PublicKey]*bindings.Node{},
		Keepers:   map[solana.PublicKey]*bindings.Keeper{},
		Credits:   map[solana.PublicKey]*bindings.Credits{},
		Orders:    map[solana.PublicKey]*bindings.Order{},
		Leases:    map[solana.PublicKey]*bindings.Lease{},
		Reports:   map[solana.PublicKey]*market.Report{},
		Faults:    map[solana.PublicKey]*bindings.Fault{},
		Disputes:  map[solana.PublicKey]*bindings.Dispute{},
		Payouts:   map[solana.PublicKey]*bindings.Payout{},
		Devices:   map[solana.PublicKey]Device{},

		FraudProofs: map[solana.PublicKey]*bindings.FraudProof{},
		Auctions:    map[solana.PublicKey]*bindings.Auction{},

		Rent: map[solana.PublicKey]chain.Lamports{},
	}
	for _, a := range accounts {
		s.Rent[a.Key] = a.Lamports
		if err := s.add(a); err != nil {
			return Snapshot{}, fmt.Errorf("account %s: %w", a.Key, err)
		}
	}
	return s, nil
}

func (s *Snapshot) add(a chain.Account) error {
	if len(a.Data) >= 8 && [8]byte(a.Data[:8]) == deviceDiscriminator {
		const body = 8 + 3*32 + 1
		if len(a.Data) < body {
			return fmt.Errorf("a device claim of %d bytes", len(a.Data))
		}
		s.Devices[a.Key] = Device{
			Node:      solana.PublicKeyFromBytes(a.Data[8:40]),
			RentPayer: solana.PublicKeyFromBytes(a.Data[72:104]),
			Tier:      a.Data[104],
		}
		return nil
	}
	decoded, err := bindings.ParseAnyAccount(a.Data)
	if err != nil {
		return err
	}
	switch v := decoded.(type) {
	case *bindings.Market:
		s.Market = v
	case *bindings.GpuModel:
		s.Models[a.Key] = v
	case *bindings.Provider:
		s.Providers[a.Key] = v
	case *bindings.Node:
		s.Nodes[a.Key] = v
	case *bindings.Keeper:
		s.Keepers[a.Key] = v
	case *bindings.Credits:
		s.Credits[a.Key] = v
	case *bindings.Order:
		s.Orders[a.Key] = v
	case *bindings.Lease:
		s.Leases[a.Key] = v
	case *bindings.Report:
		r, err := market.Decode(market.Meta{Address: a.Key}, a.Data) // with the roots behind the struct
		if err != nil {
			return err
		}
		s.Reports[a.Key] = r.Value.(*market.Report)
	case *bindings.Fault:
		s.Faults[a.Key] = v
	case *bindings.Dispute:
		s.Disputes[a.Key] = v
	case *bindings.Payout:
		s.Payouts[a.Key] = v
	case *bindings.FraudProof:
		s.FraudProofs[a.Key] = v
	case *bindings.Auction:
		s.Auctions[a.Key] = v
	case *bindings.Rewards:
		s.Rewards = v
	case *bindings.Outage: // holds no money but its rent
	default:
		return fmt.Errorf("an account of type %T is not known here", v)
	}
	return nil
}

// expected is what each vault must hold, by what the accounts say.
func (s *Snapshot) expected() map[solana.PublicKey]uint64 {
	vaults := map[solana.PublicKey]uint64{}
	for key, c := range s.Credits {
		vaults[market.CreditsVaultAddress(key)] = c.Balance
	}
	for key, p := range s.Providers {
		vaults[market.StakeVaultAddress(key)] = p.Stake + p.Unstaking
	}
	for key, k := range s.Keepers {
		vaults[market.StakeVaultAddress(key)] = k.Bond
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
