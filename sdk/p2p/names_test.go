package p2p

import (
	"context"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
)

// oneName names one peer.
type oneName struct{ name, peer solana.PublicKey }

func (n oneName) Peer(name solana.PublicKey) solana.PublicKey {
	if name == n.name {
		return n.peer
	}
	return name
}

func (n oneName) Name(peer solana.PublicKey) solana.PublicKey {
	if peer == n.peer {
		return n.name
	}
	return peer
}

// A keeper is asked by its wallet and answers with the key of its signer; who it asks is told the wallet.
func TestAPeerIsKnownByItsName(t *testing.T) {
	type hello struct {
		Text string `cbor:"1,keyasint"`
	}
	wallet := newKey(t).PublicKey()
	var asked []solana.PublicKey
	keeper := newNode(t)
	names := oneName{wallet, keeper.Key()}
	member := newNode(t, func(o *Options) {
		o.Names = names
		o.Known = func(key solana.PublicKey) bool { return key == wallet }
	})
	require.NotEqual(t, wallet, keeper.Key())
	p := Protocol{ID: "/test/names"}
	for _, n := range []*Node{keeper, member} {
		Handle(n, p, func(_ context.Context, from solana.PublicKey, req hello) (hello, error) {
			asked = append(asked, from)
			return req, nil
		})
	}
	require.NoError(t, member.Remember(Peer{Key: wallet, Addrs: keeper.Addrs()}))
	_, err := Call[hello, hello](testCtx(t), member, wallet, p, hello{"to the keeper"})
	require.NoError(t, err)
	require.True(t, member.Connected(wallet))
	require.Equal(t, []solana.PublicKey{wallet}, member.Peers())
	_, err = Call[hello, hello](testCtx(t), keeper, member.Key(), p, hello{"from the keeper"})
	require.NoError(t, err, "it is let in by its name")
	require.Equal(t, []solana.PublicKey{member.Key(), wallet}, asked)
	require.ErrorIs(t, member.Remember(Peer{Key: wallet, Addrs: member.Addrs()}), ErrAddress)

	// Names that come late count from then on.
	client := newNode(t)
	require.NoError(t, client.Remember(Peer{Key: keeper.Key(), Addrs: keeper.Addrs()}))
	_, err = Call[hello, hello](testCtx(t), client, wallet, p, hello{})
	require.ErrorIs(t, err, ErrUnknown)
	client.Know(names)
	_, err = Call[hello, hello](testCtx(t), client, wallet, p, hello{})
	require.NoError(t, err)
}
