package txm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/gantry-market/gantry/sdk/txerr"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/boltstore"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/records"
)

var (
	testKey     = func() solana.PrivateKey { k, _ := solana.NewRandomPrivateKey(); return k }()
	testProgram = solana.NewWallet().PublicKey()
	testGenesis = solana.Hash{7}
)

func do(effect string) []solana.Instruction {
	return []solana.Instruction{Instruction{
		Program: testProgram, Payload: []byte(effect), Metas: []AccountMeta{{Key: testKey.PublicKey(), Signer: true, Writable: true}},
	}}
}

type rig struct {
	t     testing.TB
	chain *fakeChain
	path  string
}

func newRig(t testing.TB) *rig {
	r := &rig{t: t, chain: newFakeChain(), path: filepath.Join(t.TempDir(), "txm.db")}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Add(1)
	go func() { defer wg.Done(); r.chain.run(ctx, time.Millisecond) }()
	t.Cleanup(func() { cancel(); wg.Wait() })
	return r
}

func (r *rig) options(rpc RPC, store *Store) Options {
	return Options{
		RPC: rpc, Store: store, Keys: NewKeys(testKey), Payer: testKey.PublicKey(),
		Poll: time.Millisecond, Rebroadcast: 3 * time.Millisecond, ExpiryCheck: 2 * time.Millisecond, BlockhashTTL: 5 * time.Millisecond,
	}
}

func (r *rig) open() *Store {
	s, err := openStore(r.path, testGenesis, true) // a killed process loses nothing that was written; only a power cut would
	require.NoError(r.t, err)
	return s
}

func (r *rig) manager(mod ...func(*Options)) *Manager {
	s := r.open()
	o := r.options(r.chain, s)
	for _, m := range mod {
		m(&o)
	}
	m, err := New(o)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { m.Close(); s.Close() })
	return m
}

func ctxFor(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestSubmit(t *testing.T) {
	r := newRig(t)
	landed := make(chan Landed, 10)
	var mu sync.Mutex
	var states []State
	m := r.manager(func(o *Options) {
		o.OnLanded = func(l Landed) { landed <- l }
		o.OnStateChanged = func(r Entry) { mu.Lock(); states = append(states, r.State); mu.Unlock() }
	})
	res, err := m.Submit(ctxFor(t), Intent{ID: "one", Kind: "kind", Instructions: do("a"), Commitment: chain.Finalized})
	require.NoError(t, err)
	require.Equal(t, StateFinalised, res.State)
	require.Equal(t, 1, res.Attempts)
	require.Equal(t, uint32(5000), res.UnitLimit)
	require.Equal(t, chain.MicroLamports(20), res.UnitPrice, "75th percentile of 0, 10, 20, 500000")
	require.Equal(t, 1, r.chain.effect("a"))
	l := <-landed
	require.Equal(t, "kind", l.Kind)
	require.EqualValues(t, 450, l.Units)
	require.Equal(t, res.Signature, l.Signature)
	require.NoError(t, l.Err)
	mu.Lock()
	require.Equal(t, []State{StateQueued, StateSent}, states[:2])
	require.Equal(t, StateFinalised, states[len(states)-1])
	mu.Unlock()

	again, err := m.Submit(ctxFor(t), Intent{ID: "one", Kind: "kind", Instructions: do("a")})
	require.NoError(t, err)
	require.Equal(t, res, again)
	_, err = m.Submit(ctxFor(t), Intent{ID: "one", Instructions: do("b")})
	require.ErrorIs(t, err, ErrMismatch)
	require.Equal(t, 1, r.chain.effect("a"))
	require.Equal(t, 0, r.chain.effect("b"))
	got, err := m.Wait(ctxFor(t), "one", chain.Finalized)
	require.NoError(t, err)
	require.Equal(t, res, got)
	_, err = m.Wait(ctxFor(t), "none", chain.Finalized)
	require.ErrorIs(t, err, ErrUnknownIntent)
}

func TestPriceIsCapped(t *testing.T) {
	m := newRig(t).manager(func(o *Options) { o.FeePercentile, o.Fees = 100, Fees{Cap: 7, Most: 10_000} })
	res, err := m.Submit(ctxFor(t), Intent{ID: "x", Instructions: do("a")})
	require.NoError(t, err)
	require.Equal(t, chain.MicroLamports(7), res.UnitPrice)
}

func TestUnitLimit(t *testing.T) {
	for _, tc := range []struct {
		units uint64
		boost uint
		want  uint32
	}{
		{0, 0, 5000},
		{4000, 0, 5000},
		{4546, 0, 5001},
		{10_000, 0, 11_000},
		{10_001, 0, 11_002},
		{10_000, 1, 22_000},
		{1_300_000, 0, 1_400_000},
		{1 << 60, 0, 1_400_000},
		{1_000_000, 9, 1_400_000},
	} {
		require.Equal(t, tc.want, unitLimit(tc.units, 5000, tc.boost), "%+v", tc)
	}
}

func TestRebroadcastsWhatIsLost(t *testing.T) {
	r := newRig(t)
	r.chain.drop = func(n int) bool { return n < 3 }
	res, err := r.manager().Submit(ctxFor(t), Intent{ID: "x", Instructions: do("a")})
	require.NoError(t, err)
	require.Equal(t, 1, res.Attempts)
	require.Equal(t, 1, r.chain.effect("a"))
}

func TestRebuildsWhatExpired(t *testing.T) {
	r := newRig(t)
	asked := 0
	r.chain.drop = func(n int) bool { return asked < 2 }
	res, err := r.manager().Submit(ctxFor(t), Intent{ID: "x", Instructions: do("a"), ReadBack: func(context.Context) (bool, error) {
		r.chain.mu.Lock()
		defer r.chain.mu.Unlock()
		asked++
		return false, nil
	}})
	require.NoError(t, err)
	require.Equal(t, 3, res.Attempts)
	require.Equal(t, 1, r.chain.effect("a"))
}

func TestReadBackEndsIt(t *testing.T) {
	r := newRig(t)
	r.chain.drop = func(int) bool { return true }
	res, err := r.manager().Submit(ctxFor(t), Intent{ID: "x", Instructions: do("a"), ReadBack: func(context.Context) (bool, error) { return true, nil }})
	require.NoError(t, err)
	require.Equal(t, StateObserved, res.State)
	require.True(t, res.Signature.IsZero())
	require.Equal(t, 0, r.chain.effect("a"))
}

// A transaction that lands in the last block in which it can is not sent again.
func TestLandsAtTheLastMoment(t *testing.T) {
	for range 10 {
		r := newRig(t)
		r.chain.delay = func() uint64 { return r.chain.validFor - 2 }
		res, err := r.manager().Submit(ctxFor(t), Intent{ID: "x", Instructions: do("a")})
		require.NoError(t, err)
		require.Equal(t, 1, r.chain.effect("a"), "attempts %d", res.Attempts)
	}
}

func TestProgramErrors(t *testing.T) {
	r := newRig(t)
	m := r.manager()
	_, err := m.Submit(ctxFor(t), Intent{ID: "sim", Instructions: do("fail:6001")})
	var pe *txerr.ProgramError
	require.ErrorAs(t, err, &pe)
	require.True(t, pe.Simulated && pe.HasCode)
	require.Equal(t, uint32(6001), pe.Code)
	require.Equal(t, testProgram, pe.Program)
	require.Contains(t, pe.Error(), "it is forbidden")
	require.Equal(t, 0, r.chain.sends)

	_, err = m.Submit(ctxFor(t), Intent{ID: "late", Instructions: do("late:6002")})
	require.ErrorAs(t, err, &pe)
	require.False(t, pe.Simulated)
	require.Equal(t, uint32(6002), pe.Code)
	require.Equal(t, []string{"log of a block"}, pe.Logs)
	require.False(t, pe.Signature.IsZero())
	rec, err := m.Get("late")
	require.NoError(t, err)
	require.Equal(t, StateFailed, rec.State)
	require.Equal(t, 1, rec.Attempts, "program errors are not retried")
	_, err = m.Wait(ctxFor(t), "late", chain.Confirmed)
	require.ErrorAs(t, err, &pe)

	_, err = m.Submit(ctxFor(t), Intent{ID: "poor", Instructions: do("poor")})
	require.ErrorIs(t, err, ErrNoFunds)
	require.Contains(t, err.Error(), testKey.PublicKey().String())

	// What failed without effect may be tried anew by its owner.
	res, err := m.Submit(ctxFor(t), Intent{ID: "late", Instructions: do("better")})
	require.NoError(t, err)
	require.Equal(t, 1, res.Attempts)
	require.Equal(t, 1, r.chain.effect("better"))
}

func TestComputeLimitIsRaised(t *testing.T) {
	r := newRig(t)
	res, err := r.manager().Submit(ctxFor(t), Intent{ID: "x", Instructions: do("burn")})
	require.NoError(t, err)
	require.Equal(t, uint32(20_000), res.UnitLimit)
	require.Equal(t, 1, r.chain.effect("burn"))
}

func TestStaleBlockhashIsReplacedAtOnce(t *testing.T) {
	r := newRig(t)
	r.chain.stale = 2
	r.chain.validFor = 1 << 40
	res, err := r.manager().Submit(ctxFor(t), Intent{ID: "x", Instructions: do("a")})
	require.NoError(t, err)
	require.Equal(t, 3, res.Attempts)
	require.Equal(t, 1, r.chain.effect("a"))
}

func TestSameInstructionsTwice(t *testing.T) {
	r := newRig(t)
	m := r.manager(func(o *Options) { o.BlockhashTTL = time.Hour })
	r.chain.validFor = 1 << 40
	seen := map[solana.Signature]bool{}
	for i := range 5 {
		res, err := m.Submit(ctxFor(t), Intent{ID: fmt.Sprint(i), Instructions: do("a")})
		require.NoError(t, err)
		require.False(t, seen[res.Signature])
		seen[res.Signature] = true
	}
	require.Equal(t, 5, r.chain.effect("a"))
}

func TestConcurrent(t *testing.T) {
	r := newRig(t)
	r.chain.validFor = 1 << 40
	r.chain.latency = 5 * time.Millisecond
	m := r.manager()
	const n, callers = 200, 3
	var wg sync.WaitGroup
	start := time.Now()
	for i := range n * callers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			_, err := m.Submit(ctxFor(t), Intent{ID: fmt.Sprint(i % n), Instructions: do(fmt.Sprint(i % n))})
			require.NoError(t, err)
		}()
	}
	wg.Wait()
	most := r.chain.most()
	t.Logf("%d intents in %s, up to %d calls at the same time", n, time.Since(start), most)
	for i := range n {
		require.Equal(t, 1, r.chain.effect(fmt.Sprint(i)))
	}
	require.Greater(t, most, 20, "submissions run side by side")
}

func TestContextEndsButTheIntentGoesOn(t *testing.T) {
	r := newRig(t)
	var mu sync.Mutex
	lost := true
	r.chain.drop = func(int) bool { mu.Lock(); defer mu.Unlock(); return lost }
	m := r.manager()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := m.Submit(ctx, Intent{ID: "x", Instructions: do("a")})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, 1, m.InFlight())
	mu.Lock()
	lost = false
	mu.Unlock()
	_, err = m.Wait(ctxFor(t), "x", chain.Confirmed)
	require.NoError(t, err)
	require.Equal(t, 1, r.chain.effect("a"))
}

func TestAmbiguousSendIsNotRepeatedUnderAnotherSignature(t *testing.T) {
	r := newRig(t)
	r.chain.sendErr = fmt.Errorf("%w: timeout", chain.ErrAmbiguous) // although it arrives
	res, err := r.manager().Submit(ctxFor(t), Intent{ID: "x", Instructions: do("a")})
	require.NoError(t, err)
	require.Equal(t, 1, res.Attempts)
	require.Equal(t, 1, r.chain.effect("a"))
}

// A node that has forgotten everything must not make us pay twice.
func TestForgetfulNode(t *testing.T) {
	r := newRig(t)
	m := r.manager()
	res, err := m.Submit(ctxFor(t), Intent{ID: "sent", Instructions: do("a")})
	require.NoError(t, err)
	require.Equal(t, 1, r.chain.effect("a"))
	m.Close()
	require.NoError(t, m.o.Store.Close())

	s := r.open()
	rec, err := s.Get("sent")
	require.NoError(t, err)
	rec.State = StateSent // as if it had been killed before it saw the result
	require.NoError(t, s.put(rec))
	r.chain.mu.Lock()
	r.chain.forget = true
	r.chain.height += 1000
	r.chain.mu.Unlock()

	m2, err := New(r.options(r.chain, s))
	require.NoError(t, err)
	n, err := m2.Resume(nil)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	_, err = m2.Wait(ctxFor(t), "sent", chain.Confirmed)
	require.ErrorIs(t, err, ErrUncertain)
	_, err = m2.Submit(ctxFor(t), Intent{ID: "sent", Instructions: do("a")})
	require.ErrorIs(t, err, ErrUncertain, "not even when asked again")

	// What does no harm twice is sent again, whether it was given up before or is only now found out.
	r.chain.mu.Lock()
	r.chain.forget, r.chain.uncertain = false, true
	r.chain.mu.Unlock()
	_, err = m2.Submit(ctxFor(t), Intent{ID: "sent", Instructions: do("a"), Repeatable: true})
	require.NoError(t, err)
	require.Equal(t, 2, r.chain.effect("a"))
	again, lost := rec, *rec.Current
	lost.Signature[0]++ // of which no node knows
	again.ID, again.Repeatable, again.Current = "again", true, &lost
	require.NoError(t, s.put(again))
	_, err = m2.Resume(nil)
	require.NoError(t, err)
	_, err = m2.Wait(ctxFor(t), "again", chain.Confirmed)
	require.NoError(t, err)
	require.Equal(t, 3, r.chain.effect("a"))

	// With a read-back the effect is recognised.
	r.chain.mu.Lock()
	r.chain.forget = true
	r.chain.mu.Unlock()
	rec.ID, rec.State, rec.Failure = "seen", StateSent, nil
	require.NoError(t, s.put(rec))
	_, err = m2.Resume(func(Entry) ReadBack { return func(context.Context) (bool, error) { return true, nil } })
	require.NoError(t, err)
	got, err := m2.Wait(ctxFor(t), "seen", chain.Confirmed)
	require.NoError(t, err)
	require.Equal(t, StateObserved, got.State)

	// What was confirmed stays confirmed.
	rec.ID, rec.State = "confirmed", StateConfirmed
	require.NoError(t, s.put(rec))
	_, err = m2.Resume(nil)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return m2.InFlight() == 0 }, time.Minute, time.Millisecond)
	got, err = m2.Wait(ctxFor(t), "confirmed", chain.Confirmed)
	require.NoError(t, err)
	require.Equal(t, res.Signature, got.Signature)
	require.Equal(t, 3, r.chain.effect("a"))
	m2.Close()
	require.NoError(t, s.Close())
}

func TestMissingSigner(t *testing.T) {
	r := newRig(t)
	m := r.manager()
	other, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	ix := []solana.Instruction{Instruction{Program: testProgram, Payload: []byte("a"), Metas: []AccountMeta{{Key: other.PublicKey(), Signer: true}}}}
	_, err = m.Submit(ctxFor(t), Intent{ID: "x", Instructions: ix})
	require.ErrorIs(t, err, ErrSignerMissing)
	require.Contains(t, err.Error(), other.PublicKey().String())
	_, err = m.Submit(ctxFor(t), Intent{ID: "x", Instructions: ix, ExtraSigners: []Signer{other}})
	require.NoError(t, err)
	require.Equal(t, 1, r.chain.effect("a"))
	rec, err := m.Get("x")
	require.NoError(t, err)
	raw, err := json.Marshal(rec)
	require.NoError(t, err)
	require.NotContains(t, string(raw), other.String(), "private keys are not stored")
}

// refusing holds a key and signs nothing with it.
type refusing struct{ solana.PrivateKey }

func (refusing) Sign([]byte) (solana.Signature, error) {
	return solana.Signature{}, fmt.Errorf("%w: not this", records.ErrRefused)
}

// A signer that refuses a transaction is not asked again and again: whoever waits for it hears of it.
func TestASignerThatRefuses(t *testing.T) {
	r := newRig(t)
	m := r.manager()
	other, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	ix := []solana.Instruction{Instruction{Program: testProgram, Payload: []byte("a"), Metas: []AccountMeta{{Key: other.PublicKey(), Signer: true}}}}
	_, err = m.Submit(ctxFor(t), Intent{ID: "x", Instructions: ix, ExtraSigners: []Signer{refusing{other}}})
	require.ErrorIs(t, err, records.ErrRefused)
	require.Zero(t, r.chain.effect("a"))
}

func TestBadIntents(t *testing.T) {
	m := newRig(t).manager()
	big := Instruction{Program: testProgram, Payload: make([]byte, 1300)}
	for name, tc := range map[string]struct {
		in   Intent
		want error
	}{
		"no id":           {Intent{Instructions: do("a")}, ErrIntent},
		"no instructions": {Intent{ID: "a"}, ErrIntent},
		"nil instruction": {Intent{ID: "a", Instructions: []solana.Instruction{nil}}, ErrIntent},
		"too large":       {Intent{ID: "b", Instructions: []solana.Instruction{big}}, ErrTooLarge},
	} {
		_, err := m.Submit(ctxFor(t), tc.in)
		require.ErrorIs(t, err, tc.want, name)
		_, err = m.DryRun(ctxFor(t), tc.in)
		if tc.in.ID != "" || tc.want != ErrIntent {
			require.ErrorIs(t, err, tc.want, name)
		}
	}
}

func TestDryRun(t *testing.T) {
	r := newRig(t)
	m := r.manager()
	d, err := m.DryRun(ctxFor(t), Intent{ID: "x", Instructions: do("a")})
	require.NoError(t, err)
	require.Equal(t, DryRun{Units: 450, UnitLimit: 5000, UnitPrice: 20, Fee: 5001, Logs: []string{"ok"}}, d)
	_, err = m.DryRun(ctxFor(t), Intent{ID: "x", Instructions: do("fail:1")})
	var pe *txerr.ProgramError
	require.ErrorAs(t, err, &pe)
	require.Equal(t, 0, r.chain.sends)
	_, err = m.Get("x")
	require.ErrorIs(t, err, ErrUnknownIntent)
}

func TestClosed(t *testing.T) {
	r := newRig(t)
	r.chain.drop = func(int) bool { return true }
	m := r.manager()
	errs := make(chan error, 1)
	go func() {
		_, err := m.Submit(ctxFor(t), Intent{ID: "x", Instructions: do("a")})
		errs <- err
	}()
	require.Eventually(t, func() bool { return m.InFlight() == 1 }, time.Minute, time.Millisecond)
	m.Close()
	require.ErrorIs(t, <-errs, ErrClosed)
	_, err := m.Submit(ctxFor(t), Intent{ID: "y", Instructions: do("a")})
	require.ErrorIs(t, err, ErrClosed)
	_, err = m.Resume(nil)
	require.True(t, err == nil || errors.Is(err, ErrClosed))
}

func TestStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "txm.db")
	s, err := OpenStore(path, testGenesis)
	require.NoError(t, err)
	old, err := newEntry(Intent{ID: "old", Instructions: do("a")}, testKey.PublicKey(), time.Now())
	require.NoError(t, err)
	old.State, old.Updated = StateFinalised, time.Now().Add(-time.Hour)
	old.Current = &Attempt{Signature: solana.Signature{1}}
	require.NoError(t, s.putSigned(old))
	open := old
	open.ID, open.State, open.Current = "open", StateSent, &Attempt{Signature: solana.Signature{2}}
	require.NoError(t, s.putSigned(open))
	require.ErrorIs(t, s.putSigned(open), errSignatureTaken)
	n, err := s.Prune(time.Now().Add(-time.Minute))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	_, err = s.Get("old")
	require.ErrorIs(t, err, ErrUnknownIntent)
	got, err := s.Get("open")
	require.NoError(t, err)
	require.Equal(t, open.Digest, got.Digest)
	require.NoError(t, s.putSigned(old), "its signature is forgotten too")

	_, err = OpenStore(path, testGenesis)
	require.ErrorIs(t, err, ErrStoreBusy)
	require.NoError(t, s.Close())
	_, err = OpenStore(path, solana.Hash{8})
	require.ErrorIs(t, err, ErrStoreCluster)
	require.ErrorContains(t, err, "use another state folder for this cluster")
}

// A file whose bytes changed does not open: an intent that is read differently would be sent twice.
func TestDamagedStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "txm.db")
	s, err := OpenStore(path, testGenesis)
	require.NoError(t, err)
	r, err := newEntry(Intent{ID: "x", Instructions: do("a")}, testKey.PublicKey(), time.Now())
	require.NoError(t, err)
	require.NoError(t, s.put(r))
	require.NoError(t, s.Close())
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, bytes.ReplaceAll(raw, []byte(`"queued"`), []byte(`"failed"`)), 0o600))
	_, err = OpenStore(path, testGenesis)
	require.ErrorIs(t, err, boltstore.ErrCorrupt)
}

func TestDecodeTxError(t *testing.T) {
	ixs := []Instruction{{Program: testProgram}}
	for raw, want := range map[string]string{
		`{"InstructionError":[0,"InvalidArgument"]}`:       "program " + testProgram.String() + " refused instruction 0: InvalidArgument",
		`{"InstructionError":[0,{"Custom":17}]}`:           "program " + testProgram.String() + " refused instruction 0: custom error 17 (0x11)",
		`{"InstructionError":[9,{"BorshIoError":"x"}]}`:    "program 11111111111111111111111111111111 refused instruction 9: BorshIoError",
		`{"InstructionError":"odd"}`:                       "transaction refused: InstructionError",
		`{"InsufficientFundsForRent":{"account_index":1}}`: "transaction refused: InsufficientFundsForRent",
		`"SanitizeFailure"`:                                "transaction refused: SanitizeFailure",
		`{"a":1,"b":2}`:                                    `transaction refused: {"a":1,"b":2}`,
	} {
		require.Equal(t, want, decodeTxError(json.RawMessage(raw), nil, ixs, testKey.PublicKey()).Error())
	}
}

// After a restart a refusal proves nothing: the earlier process may have sent the transaction through another node.
func TestRefusalAfterRestartIsNoProof(t *testing.T) {
	r := newRig(t)
	r.chain.validFor = 500
	r.chain.delay = func() uint64 { return 200 }
	s := r.open()
	first, err := New(r.options(r.chain, s))
	require.NoError(t, err)
	go func() { _, _ = first.Submit(context.Background(), Intent{ID: "x", Instructions: do("a")}) }()
	require.Eventually(t, func() bool {
		r.chain.mu.Lock()
		defer r.chain.mu.Unlock()
		return len(r.chain.pool) > 0
	}, time.Minute, 100*time.Microsecond)
	first.Close()
	require.NoError(t, s.Close())
	r.chain.mu.Lock()
	r.chain.stale = 1000
	r.chain.mu.Unlock()
	m := r.manager()
	_, err = m.Resume(nil)
	require.NoError(t, err)
	res, err := m.Wait(ctxFor(t), "x", chain.Finalized)
	require.NoError(t, err)
	require.Equal(t, 1, res.Attempts)
	require.Equal(t, 1, r.chain.effect("a"))
}
