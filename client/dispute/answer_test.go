package dispute

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
)

// What the command signs is what keepers and readers accept, and nobody else's is.
func TestAnAnswerIsReadOnlyFromTheAccused(t *testing.T) {
	node, wallet := solana.NewWallet().PrivateKey, solana.NewWallet().PrivateKey
	v := view.New(view.Options{})
	p := &market.Provider{Meta: market.Meta{Address: solana.PublicKey{4}}}
	p.Wallet = wallet.PublicKey()
	l := &market.Lease{Meta: market.Meta{Address: solana.PublicKey{1}}}
	l.NodeKey, l.Lease.Provider = node.PublicKey(), p.Address
	v.Put(p.Address, p)
	v.Put(l.Address, l)
	d := &market.Dispute{}
	d.Lease, d.OpenedAt = l.Address, 100
	domain := records.Domain{7}
	for _, key := range []solana.PrivateKey{node, wallet} {
		m, err := signAnswer(domain, d, []byte("it ran"), 50, key)
		require.NoError(t, err)
		require.EqualValues(t, 100, m.WrittenAt, "a clock that is behind")
		require.True(t, answers(v, domain, d, m))
		require.False(t, answers(v, records.Domain{8}, d, m))
		m.Data = []byte("it did not run")
		require.False(t, answers(v, domain, d, m))
	}
	m, err := signAnswer(domain, d, []byte("it ran"), 150, solana.NewWallet().PrivateKey)
	require.NoError(t, err)
	require.False(t, answers(v, domain, d, m))
}
