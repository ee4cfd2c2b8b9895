package roles

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
)

// A keeper is a peer under its signer and is named by its wallet; its former signer is no keeper as a peer, and speaks
// about the periods that had begun before the change.
func TestAKeeperIsNamedByItsWalletAndReachedByItsSigner(t *testing.T) {
	wallet, former, signer, other := solana.PublicKey{1}, solana.PublicKey{2}, solana.PublicKey{3}, solana.PublicKey{4}
	x := view.New(view.Options{})
	k := &market.Keeper{Meta: market.Meta{Address: market.KeeperAddress(wallet)}}
	k.Wallet, k.Signer = wallet, former
	x.Put(k.Address, k)
	n := Names{View: x}
	d, err := New(Options{View: x, PeriodSecs: periodSecs})
	require.NoError(t, err)
	require.Equal(t, []solana.PublicKey{former, wallet}, []solana.PublicKey{n.Peer(wallet), n.Name(former)})
	require.Equal(t, []solana.PublicKey{former}, d.Keys(wallet, 15))

	next := *k
	next.Signer, next.FormerSigner, next.SignerSince, next.SignerUntil = signer, former, 155, 999
	x.Put(next.Address, &next)
	require.Equal(t, signer, n.Peer(wallet))
	require.Equal(t, wallet, n.Name(signer))
	require.Equal(t, former, n.Name(former), "it is the keeper's no more")
	require.Equal(t, []solana.PublicKey{other, other}, []solana.PublicKey{n.Peer(other), n.Name(other)})
	for p, want := range map[records.Period][]solana.PublicKey{14: {signer, former}, 15: {signer, former}, 16: {signer}} {
		require.Equal(t, want, d.Keys(wallet, p), "period %d", p)
	}
	require.Equal(t, []solana.PublicKey{signer, former}, n.Keys(wallet, 0))
	require.Empty(t, d.Keys(signer, 15), "records name the wallet")
	require.Equal(t, []solana.PublicKey{signer, former}, next.Liable(998))
	require.Equal(t, []solana.PublicKey{signer}, next.Liable(999))

	// One owner may share a key between its keepers: it is one and the same name for everybody.
	second := &market.Keeper{Meta: market.Meta{Address: market.KeeperAddress(other)}}
	second.Wallet, second.Signer = other, signer
	x.Put(second.Address, second)
	require.Equal(t, wallet, n.Name(signer))
	x.Put(next.Address, nil)
	require.Equal(t, other, n.Name(signer))
}
