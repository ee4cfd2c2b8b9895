package realm

import (
	"encoding/binary"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
)

func key(n byte) (k solana.PublicKey) { k[0] = n; return k }

// An instruction comes back from a proposal as it was put in, and what is cut off or too long is none.
func TestInstructionsOfProposals(t *testing.T) {
	ix := solana.NewInstruction(key(1), solana.AccountMetaSlice{s(key(2)), w(key(3)), ro(key(4))}, []byte{5, 6, 7})
	b, err := Encode(ix)
	require.NoError(t, err)
	require.Len(t, b, 32+4+3*34+4+3)
	got, err := Decode(b)
	require.NoError(t, err)
	require.Equal(t, ix.ProgramID(), got.ProgramID())
	require.Equal(t, ix.Accounts(), got.Accounts())
	data, err := got.Data()
	require.NoError(t, err)
	require.Equal(t, []byte{5, 6, 7}, data)
	for n := range b {
		_, err := Decode(b[:n])
		require.ErrorIs(t, err, ErrAccount, n)
	}
	_, err = Decode(append(b, 0))
	require.ErrorIs(t, err, ErrAccount)
}

// proposalBytes are an account of a proposal: 7 say yes and 5 no, one of two changes is executed.
func proposalBytes() []byte {
	k := func(n byte) []byte { a := key(n); return a[:] }
	u64 := func(b []byte, n uint64) []byte { return binary.LittleEndian.AppendUint64(b, n) }
	b := append([]byte{KindProposal}, k(1)...)
	b = append(append(b, k(2)...), byte(Executing))
	b = append(append(b, k(3)...), 0, 0, 0)
	b = text(binary.LittleEndian.AppendUint32(b, 1), "Approve")
	b = append(u64(b, 7), 1, 1, 0, 2, 0, 2, 0)
	b = append(u64(append(b, 1), 5), 0, 0, 0)
	b = append(u64(b, 99), 0)
	b = u64(append(b, 1), 100)
	b = u64(append(b, 1), 12)
	b = u64(append(b, 1), 200)
	b = append(b, 0, 0, 0)
	b = u64(append(b, 1), 1_000)
	b = append(b, 1, 9, 0, 0, 0, 1, 0, 15)
	b = append(b, make([]byte, 64)...)
	return u64(text(text(b, "A change"), "https://example.org"), 2)
}

func TestProposalsAreRead(t *testing.T) {
	b := proposalBytes()
	p, err := DecodeProposal(key(9), b)
	require.NoError(t, err)
	require.Equal(t, &Proposal{
		Address: key(9), Governance: key(1), Mint: key(2), Author: key(3), State: Executing, Yes: 7, No: 5, Veto: 2,
		Transactions: 2, Executed: 1, VotingAt: 100, DecidedAt: 200, Name: "A change", Link: "https://example.org",
	}, p)
	for n := range b {
		_, err := DecodeProposal(key(9), b[:n])
		require.ErrorIs(t, err, ErrAccount, n)
	}
	b[0] = KindRecord
	_, err = DecodeProposal(key(9), b)
	require.ErrorIs(t, err, ErrAccount)
}

// A realm that ends votes early can be decided with borrowed tokens, so nobody acts in it.
func TestEarlyVotesAreRefused(t *testing.T) {
	rules := Rules{YesPercent: 15, VetoPercent: 60, ToPropose: 10, HoldUp: 1, Voting: 2, CoolOff: 3, ProposalsWithoutADeposit: 1}
	governance := func(early byte) []byte {
		b := append([]byte{KindGovernance}, make([]byte, 32+32+4)...)
		config := rules.bytes(true)
		config[2+8+4+4] = early
		return append(b, config...)
	}
	_, _, got, err := DecodeGovernance(key(1), governance(disabled))
	require.NoError(t, err)
	require.Equal(t, rules, got)
	for _, early := range []byte{0, 1} {
		_, _, _, err = DecodeGovernance(key(1), governance(early))
		require.ErrorContains(t, err, "borrowed tokens")
	}
}

// Whoever executes a proposal signs for nobody: governance and treasury sign by the program.
func TestExecutionSignsForNobody(t *testing.T) {
	r := Named(Mainnet, "Gantry", key(1), key(2), solana.PublicKey{})
	change := solana.NewInstruction(key(1), solana.AccountMetaSlice{s(r.Treasury), w(key(3))}, nil)
	execute := r.Execute(&Transaction{Proposal: key(4), Instructions: []solana.Instruction{change}})
	for _, a := range execute.Accounts() {
		require.False(t, a.IsSigner, a.PublicKey)
	}
	require.Equal(t, Of(Mainnet, r.Address, key(1), key(2), solana.PublicKey{}), r)
}
