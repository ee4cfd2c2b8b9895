package watch_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/programs/system"
	"github.com/gagliardetto/solana-go/programs/token"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/localnode"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/txm"
	"github.com/gantry-market/gantry/sdk/watch"
)

func TestOnSurfnet(t *testing.T) { testEngine(t, localnode.Surfnet(t)) }

func TestOnAgave(t *testing.T) {
	if testing.Short() {
		t.Skip("starting solana-test-validator takes seconds: left out of -short")
	}
	testEngine(t, localnode.Agave(t))
}

// testEngine opens and closes token accounts on a real node and expects to see each.
func testEngine(t *testing.T, at chain.Endpoint) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	c, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{at}})
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.WaitReady(ctx))
	genesis, err := c.Genesis(ctx)
	require.NoError(t, err)
	payer, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := c.Airdrop(ctx, payer.PublicKey(), 10*chain.SOL)
		return err == nil
	}, localnode.Timeout, 100*time.Millisecond)
	require.Eventually(t, func() bool {
		b, err := c.Balance(ctx, payer.PublicKey(), chain.Confirmed)
		return err == nil && b > 0
	}, localnode.Timeout, 20*time.Millisecond)
	store, err := txm.OpenStore(filepath.Join(t.TempDir(), "txm.db"), genesis)
	require.NoError(t, err)
	defer store.Close()
	m, err := txm.New(txm.Options{RPC: c, Store: store, Keys: txm.NewKeys(payer), Payer: payer.PublicKey()})
	require.NoError(t, err)
	defer m.Close()

	mint, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	rent := func(size uint64) uint64 {
		r, err := c.MinimumRent(ctx, size, chain.Confirmed)
		require.NoError(t, err)
		return uint64(r)
	}
	_, err = m.Submit(ctx, txm.Intent{ID: "mint", ExtraSigners: []txm.Signer{mint}, Instructions: []solana.Instruction{
		system.NewCreateAccountInstruction(rent(82), 82, solana.TokenProgramID, payer.PublicKey(), mint.PublicKey()).Build(),
		token.NewInitializeMint2Instruction(6, payer.PublicKey(), solana.PublicKey{}, mint.PublicKey()).Build(),
	}})
	require.NoError(t, err)

	key := mint.PublicKey()
	w, err := watch.New(watch.Options{
		Client: c, Program: solana.TokenProgramID, Resnapshot: -1, // only notifications may help
		Scope: watch.Scope{Filters: []chain.Filter{{Prefix: key[:], DataSize: 165}}}, Log: zerolog.New(zerolog.NewTestWriter(t)),
	})
	require.NoError(t, err)
	var mu sync.Mutex
	var events []watch.Event
	live := newStore(func(e watch.Event) (int, bool, error) { return len(e.Data), true, nil }, zerolog.Nop())
	var wg sync.WaitGroup
	wctx, wcancel := context.WithCancel(ctx)
	wg.Add(1)
	go func() {
		defer wg.Done()
		_ = w.Run(wctx, func(e watch.Event) {
			mu.Lock()
			events = append(events, e)
			mu.Unlock()
			live.Apply(e)
		})
	}()
	defer func() { wcancel(); wg.Wait() }()
	<-w.Ready()

	const n = 6
	accs := make([]solana.PrivateKey, n)
	lag := time.Duration(0)
	for i := range accs {
		accs[i], err = solana.NewRandomPrivateKey()
		require.NoError(t, err)
		_, err = m.Submit(ctx, txm.Intent{ID: fmt.Sprint("open", i), ExtraSigners: []txm.Signer{accs[i]}, Instructions: []solana.Instruction{
			system.NewCreateAccountInstruction(rent(165), 165, solana.TokenProgramID, payer.PublicKey(), accs[i].PublicKey()).Build(),
			token.NewInitializeAccount3Instruction(payer.PublicKey(), accs[i].PublicKey(), key).Build(),
		}})
		require.NoError(t, err)
		start := time.Now()
		_, err = live.WaitFor(ctx, accs[i].PublicKey(), func(_ int, ok bool) bool { return ok })
		require.NoError(t, err)
		lag = max(lag, time.Since(start))
	}
	require.Equal(t, n, live.Len())
	for i := range accs {
		_, err = m.Submit(ctx, txm.Intent{ID: fmt.Sprint("close", i), Instructions: []solana.Instruction{
			token.NewCloseAccountInstruction(accs[i].PublicKey(), payer.PublicKey(), payer.PublicKey(), nil).Build(),
		}})
		require.NoError(t, err)
		start := time.Now()
		_, err = live.WaitFor(ctx, accs[i].PublicKey(), func(_ int, ok bool) bool { return !ok })
		require.NoError(t, err, "closing was not noticed")
		lag = max(lag, time.Since(start))
	}
	require.Equal(t, 0, live.Len())
	t.Logf("longest wait after confirmation: %s", lag)
	mu.Lock()
	defer mu.Unlock()
	require.Len(t, events, 2*n, "each state is seen once")
	require.EqualValues(t, 1, w.Status().Snapshots)
}
