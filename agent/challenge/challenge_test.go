package challenge

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/attest/guest"
	"github.com/gantry-market/gantry/attest/work"
	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/records"
)

var (
	node   = solana.PublicKey{1}
	domain = records.Domain{9}
)

// slow is a prover that takes its time.
type slow struct {
	work.Prover
	takes   time.Duration
	running atomic.Int32
	most    atomic.Int32
}

func (s *slow) Prove(ctx context.Context, seed work.Seed, n int) (*work.Proof, error) {
	now := s.running.Add(1)
	defer s.running.Add(-1)
	if now > s.most.Load() {
		s.most.Store(now)
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(s.takes):
	}
	return s.Prover.Prove(ctx, seed, n)
}

type fixture struct {
	*Server
	key     solana.PrivateKey
	keepers []solana.PrivateKey
	busy    atomic.Bool
	prover  *slow
	store   *store.Store
}

func newFixture(t *testing.T, keepers int) *fixture {
	t.Helper()
	f := &fixture{prover: &slow{Prover: work.CPU{Workers: 1}}}
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
	s, err := store.Open(filepath.Join(t.TempDir(), "agent.db"), store.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	f.store = s
	f.Server, err = New(Options{
		Node: node, Domain: domain, Store: s, Prover: f.prover, Log: zerolog.Nop(),
		MayChallenge: func(k solana.PublicKey) bool { return known[k] },
		Statuses:     func() []messages.LeaseStatus { return []messages.LeaseStatus{{Lease: [32]byte{5}}} },
		Busy:         f.busy.Load,
		Inventory: func(context.Context) (messages.Inventory, error) {
			return messages.Inventory{Simulated: true}, nil
		},
		Policy: func() (Policy, bool) { return Policy{Size: 64, Bound: 2 * time.Second}, true },
		Period: func() (time.Duration, bool) { return 5 * time.Second, true },
		Signer: key, Guest: own,
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = f.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	return f
}

func (f *fixture) period() uint64 { return uint64(time.Now().Unix()) / 5 }

func (f *fixture) workRequest(t *testing.T, keeper int, slot byte) (messages.ChallengeRequest, work.Seed) {
	t.Helper()
	req := messages.ChallengeRequest{Version: messages.Version, Kind: messages.CheckWork, Node: node, Period: f.period(), Nonce: [32]byte{slot}}
	req.Work = &messages.WorkChallenge{Size: 64, SlotHash: [32]byte{slot}}
	sig, err := f.keepers[keeper].Sign(work.ChallengeMessage(domain, req.Work.SlotHash, node, req.Period))
	require.NoError(t, err)
	req.Work.KeeperSignature = sig
	return req, work.DeriveSeed(req.Work.SlotHash, node, req.Period, sig)
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

	work1, seed := f.workRequest(t, 0, 1)
	resp, err = f.Answer(t.Context(), keeper, work1)
	require.NoError(t, err)
	require.Empty(t, resp.Refused)
	require.True(t, fromGuest(resp))
	proof, err := work.DecodeProof(resp.Work.Product, 64)
	require.NoError(t, err)
	require.Equal(t, seed, proof.Seed)
	require.NoError(t, work.Verifier{}.VerifyProof(t.Context(), proof))
	claim := work.Claim{Domain: domain, Node: node, Period: work1.Period, Seed: seed, N: 64, Root: proof.Root}
	signer := f.key.PublicKey()
	require.True(t, claim.Verify(signer[:], resp.Work.Signature))
	kept, err := f.store.WorkClaim(work1.Period, store.Key(seed))
	require.NoError(t, err)
	require.EqualValues(t, proof.Root, kept.Root)
	require.EqualValues(t, 1, f.Counts().Work)
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
		req, _ := f.workRequest(t, 0, 1)
		c.change(&req)
		_, err := f.Answer(t.Context(), c.from, req)
		require.ErrorAs(t, err, &refused, name)
	}
	for name, c := range map[string]struct {
		want   string
		change func(*messages.ChallengeRequest)
	}{
		"no challenge":       {"missing", func(r *messages.ChallengeRequest) { r.Work = nil }},
		"larger":             {"order 64", func(r *messages.ChallengeRequest) { r.Work.Size = 128 }},
		"old":                {"not the current", func(r *messages.ChallengeRequest) { r.Period -= 2 }},
		"far":                {"not the current", func(r *messages.ChallengeRequest) { r.Period += 2 }},
		"another slot":       {"signature", func(r *messages.ChallengeRequest) { r.Work.SlotHash[0]++ }},
		"another's signing":  {"signature", func(r *messages.ChallengeRequest) { o, _ := f.workRequest(t, 1, 1); r.Work = o.Work }},
		"while it is leased": {messages.LeaseLive, func(*messages.ChallengeRequest) { f.busy.Store(true) }},
	} {
		f.busy.Store(false)
		req, _ := f.workRequest(t, 0, 1)
		c.change(&req)
		resp, err := f.Answer(t.Context(), keeper, req)
		require.NoError(t, err)
		require.Nil(t, resp.Work, name)
		require.Contains(t, resp.Refused, c.want, name)
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
		"policy":    func(o *Options) { o.Policy = nil },
		"period":    func(o *Options) { o.Period = nil },
		"prover":    func(o *Options) { o.Prover = nil },
		"store":     func(o *Options) { o.Store = nil },
		"signer":    func(o *Options) { o.Signer = nil },
	} {
		o := complete
		remove(&o)
		_, err := New(o)
		require.ErrorContains(t, err, "required", name)
	}
}

// Three keepers that ask at once are all served, one after the other.
func TestThreeKeepersAtOnce(t *testing.T) {
	f := newFixture(t, 3)
	f.prover.takes = 50 * time.Millisecond
	var wg sync.WaitGroup
	for i := range f.keepers {
		req, _ := f.workRequest(t, i, byte(i))
		wg.Go(func() {
			resp, err := f.Answer(t.Context(), f.keepers[i].PublicKey(), req)
			if err != nil || resp.Work == nil {
				t.Errorf("keeper %d: %v %q", i, err, resp.Refused)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, f.prover.most.Load(), "one proof at a time")
}

// One keeper cannot fill the queue, a proof that is too late is given up, and a keeper that goes away frees its place.
func TestSlowProofs(t *testing.T) {
	f := newFixture(t, 2)
	f.prover.takes = time.Hour
	first, _ := f.workRequest(t, 0, 1)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = f.Answer(ctx, f.keepers[0].PublicKey(), first) })
	require.Eventually(t, func() bool { return f.prover.running.Load() == 1 }, time.Second, time.Millisecond)
	second, _ := f.workRequest(t, 0, 2)
	resp, err := f.Answer(t.Context(), f.keepers[0].PublicKey(), second)
	require.NoError(t, err)
	require.Contains(t, resp.Refused, "being computed")
	cancel()
	wg.Wait()
	require.Eventually(t, func() bool { return f.prover.running.Load() == 0 }, time.Second, time.Millisecond)

	began := time.Now()
	third, _ := f.workRequest(t, 1, 3)
	resp, err = f.Answer(t.Context(), f.keepers[1].PublicKey(), third)
	require.NoError(t, err)
	require.Contains(t, resp.Refused, "in time")
	require.Less(t, time.Since(began), 4*time.Second)
	require.EqualValues(t, 3, f.Counts().WorkRefused)
}

func TestInventoryThatCannotBeRead(t *testing.T) {
	f := newFixture(t, 1)
	f.o.Inventory = func(context.Context) (messages.Inventory, error) { return messages.Inventory{}, errors.New("driver") }
	resp, err := f.Answer(t.Context(), f.keepers[0].PublicKey(), messages.ChallengeRequest{Version: messages.Version, Kind: messages.CheckInventory, Node: node})
	require.NoError(t, err)
	require.Nil(t, resp.Inventory)
	require.NotContains(t, resp.Refused, "driver", "what is wrong with the machine is its owner's business")
}
