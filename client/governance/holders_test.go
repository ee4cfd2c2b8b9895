package governance

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/realm"
	"github.com/gantry-market/gantry/sdk/txform"
)

func testHolders() *Holders {
	return &Holders{Realm: realm.Named(realm.Mainnet, "Gantry", market.ProgramID, solana.PublicKey{1}, solana.PublicKey{}), desk: desk().Desk}
}

// A proposal that has passed may have a payment out of the wallet of whoever executes it: that wallet signs the transaction, and the
// payment with it. Nobody executes such a one, whoever the named wallet is.
func TestWhoExecutesAProposalPaysNobody(t *testing.T) {
	h := testHolders()
	passed := &realm.Proposal{Address: solana.PublicKey{9}, State: realm.Succeeded}
	pay := func(from solana.PublicKey) []*realm.Transaction {
		ix := solana.NewInstruction(solana.TokenProgramID, solana.AccountMetaSlice{
			solana.NewAccountMeta(solana.PublicKey{5}, true, false), solana.NewAccountMeta(solana.PublicKey{6}, true, false), solana.NewAccountMeta(from, false, true),
		}, []byte{3, 1, 0, 0, 0, 0, 0, 0, 0})
		return []*realm.Transaction{{Proposal: passed.Address, Instructions: []solana.Instruction{ix}}}
	}
	for _, from := range []solana.PublicKey{h.desk.Key, {77}} {
		_, err := h.Advance(passed, pay(from), 1)
		require.Equal(t, service.CodeRefused, service.Classify(err).Code)
		require.ErrorContains(t, err, "wants the signature of "+from.String())
	}
	for _, from := range []solana.PublicKey{h.Realm.Treasury, h.Realm.Governance} {
		a, err := h.Advance(passed, pay(from), 1)
		require.NoError(t, err)
		require.Len(t, a.Instructions, 1)
	}
}

// An author ends what is not decided. A draft whose author lost its connection would keep the author's tokens for ever.
func TestAnAuthorCancelsADraft(t *testing.T) {
	h := testHolders()
	own := h.Realm.Record(h.Realm.Community, h.desk.Key)
	for state := realm.Draft; state <= realm.Vetoed; state++ {
		a, err := h.Cancel(&realm.Proposal{Address: solana.PublicKey{9}, Author: own, State: state})
		if state != realm.Draft && state != realm.SigningOff && state != realm.Voting {
			require.ErrorContains(t, err, "nobody cancels", state)
			continue
		}
		require.NoError(t, err, state)
		data, err := a.Instructions[0].Data()
		require.NoError(t, err)
		require.Equal(t, []byte{11}, data)
		accounts := a.Instructions[0].Accounts()
		require.Equal(t, []*solana.AccountMeta{
			solana.NewAccountMeta(h.Realm.Address, false, false), solana.NewAccountMeta(h.Realm.Governance, true, false),
			solana.NewAccountMeta(solana.PublicKey{9}, true, false), solana.NewAccountMeta(own, true, false), solana.NewAccountMeta(h.desk.Key, false, true),
		}, []*solana.AccountMeta(accounts))
	}
	_, err := h.Cancel(&realm.Proposal{Address: solana.PublicKey{9}, Author: solana.PublicKey{8}, State: realm.Draft})
	require.ErrorContains(t, err, "of another wallet")
}

// A change that fits into no transaction is refused before its draft is made.
func TestAChangeThatIsTooLongIsFoundFirst(t *testing.T) {
	h := testHolders()
	change := func(bytes int) []solana.Instruction {
		return []solana.Instruction{solana.NewInstruction(market.ProgramID, nil, make([]byte, bytes))}
	}
	all, err := h.inserts(txform.Legacy, solana.PublicKey{9}, append(change(600), change(600)...))
	require.NoError(t, err)
	require.Len(t, all, 2)
	_, err = h.inserts(txform.Legacy, solana.PublicKey{9}, append(change(600), change(1_000)...))
	require.ErrorContains(t, err, "change 2 is too long")
	require.Equal(t, service.CodeUsage, service.Classify(err).Code)
	_, err = h.inserts(txform.VersionOne, solana.PublicKey{9}, change(1_000))
	require.NoError(t, err)
}
