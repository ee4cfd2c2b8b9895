package challenge

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/guest"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

var (
	node   = solana.PublicKey{1}
	domain = records.Domain{9}
)

type fixture struct {
	*Server
	key     solana.PrivateKey
	keepers []solana.PrivateKey
	busy    atomic.Bool
	named   []attest.Evidence // what customers were shown besides
}

func newFixture(t *testing.T, keepers int) *fixture {
	t.Helper()
	f := &fixture{}
	known := map[solana.PublicKey]bool{}
	for range keepers {
		k, err := solana.NewRandomPrivateKey()
		require.NoError(t, err)
		f.keepers = append(f.keepers, k)
		known[k.PublicKey()] = true
	}
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	f.key = key
	own, err := guest.NewKey()
	require.NoError(t, err)
	f.Server, err = New(Options{
		Node: node, Domain: domain, Log: zerolog.Nop(),
		MayChallenge: func(k solana.PublicKey) bool { return known[k] },
		Statuses:     func() []messages.LeaseStatus { return []messages.LeaseStatus{{Lease: [32]byte{5}}} },
		Busy:         f.busy.Load,
		Inventory: func(context.Context) (messages.Inventory, error) {
			return messages.Inventory{Simulated: true}, nil
		},
		Signer: key, Guest: own,
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = f.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	return f
}

func TestAnswers(t *testing.T) {
	f := newFixture(t, 1)
	keeper := f.keepers[0].PublicKey()
	req := messages.ChallengeRequest{Version: messages.Version, Kind: messages.CheckLiveness, Node: node, Nonce: [32]byte{7}}
	resp, err := f.Answer(t.Context(), keeper, req)
	require.NoError(t, err)
	require.Equal(t, req.Nonce, resp.Nonce)
	require.Len(t, resp.Liveness.Leases, 1)
	require.Nil(t, resp.Inventory)
	req.Kind = messages.CheckInventory
	resp, err = f.Answer(t.Context(), keeper, req)
	require.NoError(t, err)
	require.True(t, resp.Inventory.Simulated)
	fromGuest := func(r messages.ChallengeResponse) bool {
		return guest.VerifyAnswer(f.o.Guest.Public(), r.Nonce, r.Vouched(), r.Guest.Signature) && r.Guest.Key == f.o.Guest.Public()
	}
	require.True(t, fromGuest(resp))
	req.Kind = messages.CheckEvidence
	resp, err = f.Answer(t.Context(), keeper, req)
	require.NoError(t, err)
	require.NotEmpty(t, resp.Refused)
	req.Kind = messages.CheckWork
	resp, err = f.Answer(t.Context(), keeper, req)
	require.NoError(t, err)
	require.NotEmpty(t, resp.Refused, "GPUs are measured by another protocol")
}

func TestRefuses(t *testing.T) {
	f := newFixture(t, 2)
	keeper := f.keepers[0].PublicKey()
	var refused *RefusedError
	for name, c := range map[string]struct {
		from   solana.PublicKey
		change func(*messages.ChallengeRequest)
	}{
		"a stranger":      {solana.PublicKey{3}, func(*messages.ChallengeRequest) {}},
		"another node":    {keeper, func(r *messages.ChallengeRequest) { r.Node[0]++ }},
		"another version": {keeper, func(r *messages.ChallengeRequest) { r.Version++ }},
	} {
		req := messages.ChallengeRequest{Version: messages.Version, Kind: messages.CheckLiveness, Node: node}
		c.change(&req)
		_, err := f.Answer(t.Context(), c.from, req)
		require.ErrorAs(t, err, &refused, name)
	}
}

func TestNewNeedsEveryDependency(t *testing.T) {
	complete := newFixture(t, 1).o
	_, err := New(complete)
	require.NoError(t, err)
	for name, remove := range map[string]func(*Options){
		"node":      func(o *Options) { o.Node = solana.PublicKey{} },
		"domain":    func(o *Options) { o.Domain = records.Domain{} },
		"keepers":   func(o *Options) { o.MayChallenge = nil },
		"statuses":  func(o *Options) { o.Statuses = nil },
		"busy":      func(o *Options) { o.Busy = nil },
		"inventory": func(o *Options) { o.Inventory = nil },
		"signer":    func(o *Options) { o.Signer = nil },
	} {
		o := complete
		remove(&o)
		_, err := New(o)
		require.ErrorContains(t, err, "required", name)
	}
}

// What takes turns on the GPUs runs one after the other, one for each key at a time.
func TestAloneRunsOneAfterTheOther(t *testing.T) {
	f := newFixture(t, 2)
	first, second := f.keepers[0].PublicKey(), f.keepers[1].PublicKey()
	ctx, cancel := context.WithCancel(t.Context())
	began := make(chan struct{})
	var running atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = f.Alone(ctx, first, func(ctx context.Context) error {
			running.Store(true)
			close(began)
			<-ctx.Done()
			running.Store(false)
			return ctx.Err()
		})
	})
	<-began
	require.ErrorIs(t, f.Alone(t.Context(), first, func(context.Context) error { return nil }), errQueued)
	wg.Go(func() {
		if err := f.Alone(t.Context(), second, func(context.Context) error {
			if running.Load() {
				return errors.New("two at once")
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
	cancel()
	wg.Wait()
	require.NoError(t, f.Alone(t.Context(), first, func(context.Context) error { return nil }))
}

func TestInventoryThatCannotBeRead(t *testing.T) {
	f := newFixture(t, 1)
	f.o.Inventory = func(context.Context) (messages.Inventory, error) { return messages.Inventory{}, errors.New("driver") }
	resp, err := f.Answer(t.Context(), f.keepers[0].PublicKey(), messages.ChallengeRequest{Version: messages.Version, Kind: messages.CheckInventory, Node: node})
	require.NoError(t, err)
	require.Nil(t, resp.Inventory)
	require.NotContains(t, resp.Refused, "driver", "what is wrong with the machine is its owner's business")
}
