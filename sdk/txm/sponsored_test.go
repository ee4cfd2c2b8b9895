package txm

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/txerr"
)

// noted is a key that notes when it signs.
type noted struct {
	solana.PrivateKey
	name string
	by   *[]string
}

func (n noted) Sign(message []byte) (solana.Signature, error) {
	*n.by = append(*n.by, n.name)
	return n.PrivateKey.Sign(message)
}

// Somebody else pays for a transaction, and signs when all others have: a person among them may have refused.
func TestThePayerSignsLast(t *testing.T) {
	r := newRig(t)
	m := r.manager()
	payer, person := solana.NewWallet().PrivateKey, solana.NewWallet().PrivateKey
	var by []string
	in := Intent{ID: "x", Payer: payer.PublicKey(), Instructions: []solana.Instruction{Instruction{
		Program: testProgram, Metas: []AccountMeta{{Key: person.PublicKey(), Signer: true}}, Payload: []byte("a"),
	}}, ExtraSigners: []Signer{noted{payer, "payer", &by}, noted{person, "person", &by}}}
	_, err := m.Submit(ctxFor(t), in)
	require.NoError(t, err)
	require.Equal(t, []string{"person", "payer"}, by)
	require.Equal(t, 1, r.chain.effect("a"), "the signatures stand in the order of the keys")
}

func TestWhatATransactionLeaves(t *testing.T) {
	r := newRig(t)
	m := r.manager()
	key := solana.NewWallet().PublicKey()
	r.chain.left = []*chain.AccountAfter{{Lamports: 17}}
	left, err := m.Leaves(ctxFor(t), Intent{ID: "x", Payer: key, Instructions: do("a")}, key)
	require.NoError(t, err)
	require.EqualValues(t, 17, left)
	r.chain.left = []*chain.AccountAfter{nil}
	left, err = m.Leaves(ctxFor(t), Intent{ID: "x", Payer: key, Instructions: do("a")}, key)
	require.NoError(t, err)
	require.Zero(t, left)
	_, err = m.Leaves(ctxFor(t), Intent{ID: "x", Payer: key, Instructions: do("fail:1")}, key)
	var pe *txerr.ProgramError
	require.ErrorAs(t, err, &pe)
	require.True(t, pe.Simulated)
	_, err = m.Leaves(ctxFor(t), Intent{ID: "x", Instructions: do("a")}, key)
	require.ErrorIs(t, err, ErrIntent)
	require.Zero(t, r.chain.sends)
}
