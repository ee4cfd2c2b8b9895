package txm_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/gantry-market/gantry/sdk/txerr"

	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/programs/system"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/localnode"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/txm"
)

func TestOnSurfnet(t *testing.T) { testEngine(t, localnode.Surfnet(t)) }

func TestOnAgave(t *testing.T) {
	if testing.Short() {
		t.Skip("starting solana-test-validator takes seconds: left out of -short")
	}
	testEngine(t, localnode.Agave(t))
}

// testEngine moves lamports through a real node.
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
	}, 20*time.Second, 100*time.Millisecond)
	require.Eventually(t, func() bool {
		b, err := c.Balance(ctx, payer.PublicKey(), chain.Confirmed)
		return err == nil && b == 10*chain.SOL
	}, 20*time.Second, 20*time.Millisecond)

	store, err := txm.OpenStore(filepath.Join(t.TempDir(), "txm.db"), genesis)
	require.NoError(t, err)
	defer store.Close()
	var mu sync.Mutex
	var landed []txm.Landed
	m, err := txm.New(txm.Options{
		RPC: c, Store: store, Keys: txm.NewKeys(payer), Payer: payer.PublicKey(),
		OnLanded: func(l txm.Landed) { mu.Lock(); landed = append(landed, l); mu.Unlock() },
	})
	require.NoError(t, err)
	defer m.Close()

	transfer := func(to solana.PublicKey, amount uint64) []solana.Instruction {
		return []solana.Instruction{system.NewTransferInstruction(amount, payer.PublicKey(), to).Build()}
	}
	to := solana.NewWallet().PublicKey()
	const amount = 5_000_000

	dry, err := m.DryRun(ctx, txm.Intent{ID: "dry", Instructions: transfer(to, amount)})
	require.NoError(t, err)
	require.NotZero(t, dry.Units)
	require.NotEmpty(t, dry.Logs)

	var worst, sum time.Duration
	const rounds = 10
	for i := range rounds {
		start := time.Now()
		res, err := m.Submit(ctx, txm.Intent{ID: fmt.Sprint("seq", i), Kind: "transfer", Instructions: transfer(to, amount)})
		require.NoError(t, err)
		require.Equal(t, txm.StateConfirmed.Terminal(), false)
		require.False(t, res.Signature.IsZero())
		took := time.Since(start)
		worst, sum = max(worst, took), sum+took
	}
	t.Logf("one after the other: mean %s, worst %s", sum/rounds, worst)
	bal, err := c.Balance(ctx, to, chain.Confirmed)
	require.NoError(t, err)
	require.Equal(t, chain.Lamports(rounds*amount), bal)

	const many = 100
	start := time.Now()
	var wg sync.WaitGroup
	errs := make([]error, many)
	for i := range many {
		wg.Add(1)
		go func() {
			defer wg.Done()
			// Two callers of one id, and the same instructions for all ids.
			_, errs[i] = m.Submit(ctx, txm.Intent{ID: fmt.Sprint("par", i/2), Kind: "transfer", Instructions: transfer(to, amount)})
		}()
	}
	wg.Wait()
	t.Logf("%d at the same time: %s", many/2, time.Since(start))
	for _, err := range errs {
		require.NoError(t, err)
	}
	bal, err = c.Balance(ctx, to, chain.Confirmed)
	require.NoError(t, err)
	require.Equal(t, chain.Lamports((rounds+many/2)*amount), bal)

	largeOnEngine(ctx, t, c, m, transfer(to, amount))

	_, err = m.Submit(ctx, txm.Intent{ID: "too much", Instructions: transfer(to, 100*uint64(chain.SOL))})
	var pe *txerr.ProgramError
	require.ErrorAs(t, err, &pe)
	require.True(t, pe.HasCode)
	require.Equal(t, uint32(1), pe.Code)
	require.Equal(t, 0, pe.InstructionIndex)
	require.Equal(t, solana.SystemProgramID, pe.Program)
	require.NotEmpty(t, pe.Logs)

	poor, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	_, err = m.Submit(ctx, txm.Intent{
		ID: "poor", Payer: poor.PublicKey(), ExtraSigners: []txm.Signer{poor},
		Instructions: []solana.Instruction{system.NewTransferInstruction(1, poor.PublicKey(), to).Build()},
	})
	require.ErrorIs(t, err, txm.ErrNoFunds)

	res, err := m.Submit(ctx, txm.Intent{ID: "final", Instructions: transfer(to, amount), Commitment: chain.Finalized})
	require.NoError(t, err)
	require.Equal(t, txm.StateFinalised, res.State)
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(landed) == rounds+many/2+1+checked
	}, time.Minute, 10*time.Millisecond)
	require.NotZero(t, landed[0].Units)
	require.NotZero(t, landed[0].Fee)
	require.NotEmpty(t, landed[0].Logs)
}

// TestTimeTravel submits before and after the embedded engine's clock jumps by a month, as the scenarios do.
func TestTimeTravel(t *testing.T) {
	at := localnode.Surfnet(t)
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	c, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{at}})
	require.NoError(t, err)
	defer c.Close()
	genesis, err := c.Genesis(ctx)
	require.NoError(t, err)
	payer, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	_, err = c.Airdrop(ctx, payer.PublicKey(), 10*chain.SOL)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		b, err := c.Balance(ctx, payer.PublicKey(), chain.Confirmed)
		return err == nil && b > 0
	}, 20*time.Second, 20*time.Millisecond)
	store, err := txm.OpenStore(filepath.Join(t.TempDir(), "txm.db"), genesis)
	require.NoError(t, err)
	defer store.Close()
	m, err := txm.New(txm.Options{RPC: c, Store: store, Keys: txm.NewKeys(payer), Payer: payer.PublicKey()})
	require.NoError(t, err)
	defer m.Close()
	to := solana.NewWallet().PublicKey()
	const amount = 5_000_000
	submit := func(id string, want chain.Commitment) time.Duration {
		start := time.Now()
		_, err := m.Submit(ctx, txm.Intent{ID: id, Commitment: want, Instructions: []solana.Instruction{
			system.NewTransferInstruction(amount, payer.PublicKey(), to).Build(),
		}})
		require.NoError(t, err)
		return time.Since(start)
	}
	submit("before", chain.Confirmed)
	const n = 5
	for i := range n {
		now, err := c.ClusterTime(ctx, chain.Processed)
		require.NoError(t, err)
		// While transactions are on their way.
		var wg sync.WaitGroup
		for j := range 5 {
			wg.Add(1)
			go func() { defer wg.Done(); submit(fmt.Sprintf("during %d %d", i, j), chain.Confirmed) }()
		}
		require.NoError(t, c.Raw(ctx, discard(), "surfnet_timeTravel", map[string]any{"absoluteTimestamp": now.Add(30 * 24 * time.Hour).UnixMilli()}))
		wg.Wait()
		t.Logf("after the jump: %s", submit(fmt.Sprint("after ", i), chain.Confirmed))
	}
	bal, err := c.Balance(ctx, to, chain.Confirmed)
	require.NoError(t, err)
	require.Equal(t, chain.Lamports((1+6*n)*amount), bal)
}

func discard() *any { var v any; return &v }

// checked is how many transactions largeOnEngine sends.
const checked = 2

// largeOnEngine lands a transaction of version 1, and one with signatures that the runtime checks: both cost what is said before.
func largeOnEngine(ctx context.Context, t *testing.T, c *chain.Client, m *txm.Manager, transfer []solana.Instruction) {
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	for name, size := range map[string]int{"legacy": 30, "version 1": 1_100} {
		message := make([]byte, size)
		sig, err := key.Sign(message)
		require.NoError(t, err)
		check, err := ix.VerifySignature(key.PublicKey(), sig, message)
		require.NoError(t, err)
		in := txm.Intent{ID: name, Kind: "checked", Instructions: append([]solana.Instruction{check, check}, transfer...)}
		dry, err := m.DryRun(ctx, in)
		require.NoError(t, err, name)
		res, err := m.Submit(ctx, in)
		require.NoError(t, err, name)
		l, err := c.Transaction(ctx, res.Signature, chain.Confirmed)
		require.NoError(t, err, name)
		require.NoError(t, l.Tx.VerifySignatures(), name)
		want := solana.MessageVersionLegacy
		if name == "version 1" {
			want = solana.MessageVersionV1
		}
		require.Equal(t, want, l.Tx.Message.GetVersion(), name)
		require.Equal(t, 3*chain.SignatureFee, dry.Fee, name)
		require.Equal(t, dry.Fee, l.Fee, "%s: the node took another fee than was said before", name)
	}
}
