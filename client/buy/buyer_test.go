package buy

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/sdk/chain"
)

// A wallet that signs transactions alone could place an order, and hand no job to its machine: it buys nothing.
func TestAWalletWithoutAKeyBuysNothing(t *testing.T) {
	node := fakerpc.New(t)
	client, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: node.URL(), WS: node.WS()}}})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	b, err := New(t.Context(), Options{Client: client, Wallet: solana.NewWallet().PrivateKey, Root: t.TempDir()})
	require.NoError(t, err)
	_, err = b.Buy(t.Context(), *whole(func(*Request) {}))
	require.ErrorContains(t, err, "signs transactions alone")
	require.Equal(t, service.CodeUsage, classify(err).Code)
	_, err = b.Resume(t.Context(), solana.PublicKey{1})
	require.ErrorContains(t, err, "signs transactions alone")
	all, err := b.Folder().All()
	require.NoError(t, err)
	require.Empty(t, all)

	_, err = New(t.Context(), Options{Client: client})
	require.ErrorContains(t, err, "needs a client of the chain and a key")
}

// A session key acts for its customer: orders name both.
func TestWhoActsForWhom(t *testing.T) {
	node := fakerpc.New(t)
	client, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: node.URL(), WS: node.WS()}}})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	key, customer := solana.NewWallet().PrivateKey, solana.NewWallet().PublicKey()
	root := t.TempDir()
	own, err := New(t.Context(), Options{Client: client, Key: key, Root: root})
	require.NoError(t, err)
	require.Equal(t, key.PublicKey(), own.Customer())
	require.True(t, own.authority.IsZero())
	acting, err := New(t.Context(), Options{Client: client, Key: key, Customer: customer, Root: root})
	require.NoError(t, err)
	require.Equal(t, customer, acting.Customer())
	require.Equal(t, key.PublicKey(), acting.authority)
	require.Equal(t, own.Folder().Dir(), acting.Folder().Dir(), "what a key has begun is in its own folder")
	_, err = acting.AddCredits(t.Context(), 1)
	require.ErrorContains(t, err, "a session key deposits nothing")
}
