package realm

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"
)

// Mainnet is the instance that Realms runs.
var Mainnet = solana.MustPublicKeyFromBase58("GovER5Lthms3bLBqWub97yVrMmEogzX7xNjdXpPPCVZw")

// ErrAccount is the error of bytes that are not the account that was asked for.
var ErrAccount = errors.New("not an account of SPL Governance 3")

// Realm holds the addresses of a realm that governs a market. Council is zero where there is none.
type Realm struct {
	Program, Address, Config, Governance, Treasury solana.PublicKey
	Community, Council                             solana.PublicKey
}

// Named finds the addresses of a realm by its name, the program that it governs, and the mint whose holders vote.
func Named(program solana.PublicKey, name string, governed, community, council solana.PublicKey) Realm {
	return Of(program, find(program, []byte("governance"), []byte(name)), governed, community, council)
}

// TreasuryOf is the address that signs for a governance, and may hold lamports and pay rent.
func TreasuryOf(program, governance solana.PublicKey) solana.PublicKey {
	return find(program, []byte("native-treasury"), governance[:])
}

// Of finds them by the realm's own address.
func Of(program, address, governed, community, council solana.PublicKey) Realm {
	r := Realm{Program: program, Address: address, Community: community, Council: council}
	r.Config = find(program, []byte("realm-config"), r.Address[:])
	r.Governance = find(program, []byte("account-governance"), r.Address[:], governed[:])
	r.Treasury = TreasuryOf(program, r.Governance)
	return r
}

// Holding is where deposits of a mint lie.
func (r Realm) Holding(mint solana.PublicKey) solana.PublicKey {
	return find(r.Program, []byte("governance"), r.Address[:], mint[:])
}

// Record is the account of an owner's deposit.
func (r Realm) Record(mint, owner solana.PublicKey) solana.PublicKey {
	return find(r.Program, []byte("governance"), r.Address[:], mint[:], owner[:])
}

// Proposal is the address of a proposal with this seed.
func (r Realm) Proposal(seed solana.PublicKey) solana.PublicKey {
	return find(r.Program, []byte("governance"), r.Governance[:], r.Community[:], seed[:])
}

// Transaction is the address of a proposal's transaction.
func (r Realm) Transaction(proposal solana.PublicKey, index uint16) solana.PublicKey {
	return find(r.Program, []byte("governance"), proposal[:], []byte{0}, binary.LittleEndian.AppendUint16(nil, index))
}

// Ballot is the address of the record of a vote.
func (r Realm) Ballot(proposal, record solana.PublicKey) solana.PublicKey {
	return find(r.Program, []byte("governance"), proposal[:], record[:])
}

func (r Realm) deposit(proposal, payer solana.PublicKey) solana.PublicKey {
	return find(r.Program, []byte("proposal-deposit"), proposal[:], payer[:])
}

// find is the address of seeds that are all short enough.
func find(program solana.PublicKey, seeds ...[]byte) solana.PublicKey {
	address, _, err := solana.FindProgramAddress(seeds, program)
	if err != nil {
		panic(fmt.Sprintf("seeds of SPL Governance: %v", err)) // no bump of 256 is off the curve
	}
	return address
}
