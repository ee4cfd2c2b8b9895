package realm

import (
	"encoding/binary"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/txform"
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

// Whoever executes a proposal signs for nobody: governance and treasury sign by the program. A payment out of the wallet that executes
// would be signed by it, and is refused, whoever the named wallet is.
func TestWhoExecutesAProposalPaysNobody(t *testing.T) {
	r := Named(Mainnet, "Gantry", key(1), key(2), solana.PublicKey{})
	pays := func(from solana.PublicKey) *Transaction {
		return &Transaction{Proposal: key(4), Instructions: []solana.Instruction{solana.NewInstruction(key(1), solana.AccountMetaSlice{s(from), w(key(3))}, nil)}}
	}
	for _, from := range []solana.PublicKey{r.Treasury, r.Governance} {
		execute, err := r.Execute(pays(from))
		require.NoError(t, err)
		for _, a := range execute.Accounts() {
			require.False(t, a.IsSigner, a.PublicKey)
		}
	}
	_, err := r.Execute(pays(key(77)))
	require.ErrorIs(t, err, ErrRefused)
	require.ErrorContains(t, err, "wants the signature of "+key(77).String())
	require.Equal(t, Of(Mainnet, r.Address, key(1), key(2), solana.PublicKey{}), r)
}

// An author ends what is not decided. A draft whose author lost its connection would keep the author's tokens for ever.
func TestAnAuthorCancelsADraft(t *testing.T) {
	r := Named(Mainnet, "Gantry", key(1), key(2), solana.PublicKey{})
	own := r.Record(r.Community, key(7))
	for state := Draft; state <= Vetoed; state++ {
		cancel, err := r.Cancel(&Proposal{Address: key(9), Author: own, State: state}, key(7))
		if state != Draft && state != SigningOff && state != Voting {
			require.ErrorIs(t, err, ErrRefused, state)
			continue
		}
		require.NoError(t, err, state)
		data, err := cancel.Data()
		require.NoError(t, err)
		require.Equal(t, []byte{11}, data)
		require.Equal(t, []*solana.AccountMeta{ro(r.Address), w(r.Governance), w(key(9)), w(own), s(key(7))}, cancel.Accounts())
	}
	_, err := r.Cancel(&Proposal{Address: key(9), Author: key(8), State: Draft}, key(7))
	require.ErrorContains(t, err, "of another wallet")
}

// A change that fits into no transaction is refused before its draft is made.
func TestAChangeThatIsTooLongIsFoundFirst(t *testing.T) {
	r := Named(Mainnet, "Gantry", key(1), key(2), solana.PublicKey{})
	change := func(bytes int) solana.Instruction { return solana.NewInstruction(key(1), nil, make([]byte, bytes)) }
	all, err := r.Inserts(txform.Legacy, key(9), key(7), 1, []solana.Instruction{change(600), change(600)})
	require.NoError(t, err)
	require.Len(t, all, 2)
	_, err = r.Inserts(txform.Legacy, key(9), key(7), 1, []solana.Instruction{change(600), change(1_000)})
	require.ErrorIs(t, err, ErrRefused)
	require.ErrorContains(t, err, "change 2 is too long")
	_, err = r.Inserts(txform.VersionOne, key(9), key(7), 1, []solana.Instruction{change(1_000)})
	require.NoError(t, err)
}
