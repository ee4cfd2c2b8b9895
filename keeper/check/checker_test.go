package check

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// answers is an Asker that runs a function.
type answers func(ctx context.Context, req messages.ChallengeRequest) (messages.ChallengeResponse, error)

func (a answers) Ask(ctx context.Context, _ solana.PublicKey, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
	return a(ctx, req)
}

func alive(req messages.ChallengeRequest) messages.ChallengeResponse {
	return messages.ChallengeResponse{Version: messages.Version, Nonce: req.Nonce, Liveness: &messages.Liveness{}}
}

func gone(ctx context.Context) (messages.ChallengeResponse, error) {
	<-ctx.Done()
	return messages.ChallengeResponse{}, ctx.Err()
}

// question insists on a question that nodes owe an answer to: its finding is of evidence, and failed where it was evaded.
func (c *Checker) question(ctx context.Context, t subject, drawn instant.Instant) {
	const wait = 500 * time.Millisecond
	q := insistence{"question", drawn.Period, wait, func() bool { return c.owes(t, drawn) }}
	f, ok := c.insist(ctx, t, q, func(ctx context.Context) (Finding, error) {
		resp, took, err := c.ask(ctx, t.node, messages.ChallengeRequest{Kind: messages.CheckEvidence, Period: uint64(drawn.Period)}, wait)
		f := Finding{At: c.o.Now(), Latency: took}
		switch {
		case err != nil:
			return f, fmt.Errorf("%w: %w", errEvaded, err)
		case len(resp.Evidence) == 0:
			return f, unanswered(resp)
		}
		f.Passed = true
		return f, nil
	})
	if ok {
		f.Node, f.Kind, f.Period = t.node.Address, records.CheckEvidence, drawn.Period
		c.finish(ctx, f)
	}
}

// nodeKey is the tested node's own.
var nodeKey = solana.PrivateKey(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize)))

type collected struct {
	mu  sync.Mutex
	all []Finding
}

func (c *collected) add(_ context.Context, f Finding) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, f)
}

// drawnIn is a period's instant.
func drawnIn(p records.Period) instant.Instant {
	return instant.Instant{Period: p, At: time.Now(), Slot: 100, Seed: [32]byte{3}}
}

func newChecker(t *testing.T, ask answers) (*Checker, *collected, subject) {
	x := view.New(view.Options{})
	n, m := sampleNode()
	n.NodeKey = nodeKey.PublicKey()
	x.Put(n.Address, n)
	x.Put(solana.PublicKey{50}, m)
	for i := byte(1); i <= 2; i++ {
		x.Put(solana.PublicKey{60, i}, &market.Device{Node: n.Address, Identity: [32]byte{i}})
	}
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	me := &market.Keeper{}
	me.Wallet, me.Status, me.Weight = key.PublicKey(), uint8(market.KeeperActive), 1
	x.Put(solana.PublicKey{70}, me)
	got := &collected{}
	c, err := NewChecker(CheckerOptions{
		View: x, Asker: ask, Signer: key, Domain: records.Domain{1}, Secs: 60,
		Timing:   Timing{Every: time.Second, Timeout: 100 * time.Millisecond},
		SlotHash: func(context.Context) ([32]byte, error) { return [32]byte{3}, nil },
		Instants: func(p records.Period) (instant.Instant, bool) { return drawnIn(p), true },
		Record:   got.add, Log: zerolog.Nop(), Now: time.Now,
	})
	require.NoError(t, err)
	return c, got, subject{node: n, model: m}
}

// A question that a node owes an answer to is insisted on, and failed by a node that is up and evades it.
func TestQuestionsAreInsistedOn(t *testing.T) {
	type verdict struct{ recorded, passed bool }
	for name, c := range map[string]struct {
		ask  func(*testing.T) answers
		want verdict
	}{
		"right and in time": {func(t *testing.T) answers {
			return func(_ context.Context, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
				return shows(req), nil
			}
		}, verdict{true, true}},
		"late, but there": {func(t *testing.T) answers {
			return func(ctx context.Context, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
				if req.Kind == messages.CheckLiveness {
					return alive(req), nil
				}
				return gone(ctx)
			}
		}, verdict{true, false}},
		"refused late": {func(t *testing.T) answers {
			return func(ctx context.Context, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
				if req.Kind == messages.CheckLiveness {
					return alive(req), nil
				}
				time.Sleep(150 * time.Millisecond)
				return messages.ChallengeResponse{Version: messages.Version, Nonce: req.Nonce, Refused: "not finished in time"}, nil
			}
		}, verdict{true, false}},
		"gone altogether": {func(t *testing.T) answers {
			return func(ctx context.Context, _ messages.ChallengeRequest) (messages.ChallengeResponse, error) {
				return gone(ctx)
			}
		}, verdict{false, false}},
		"not reachable": {func(t *testing.T) answers {
			return func(context.Context, messages.ChallengeRequest) (messages.ChallengeResponse, error) {
				return messages.ChallengeResponse{}, errors.New("no address")
			}
		}, verdict{false, false}},
		"refuses again and again": {func(t *testing.T) answers {
			return func(_ context.Context, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
				if req.Kind == messages.CheckLiveness {
					return alive(req), nil
				}
				return messages.ChallengeResponse{Version: messages.Version, Nonce: req.Nonce, Refused: "I would rather not"}, nil
			}
		}, verdict{true, false}},
		"refuses everything": {func(*testing.T) answers {
			return func(_ context.Context, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
				return messages.ChallengeResponse{Version: messages.Version, Nonce: req.Nonce, Refused: "I would rather not"}, nil
			}
		}, verdict{false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checker, got, what := newChecker(t, c.ask(t))
			checker.o.Timing.Every = 100 * time.Millisecond
			checker.question(t.Context(), what, drawnIn(7))
			if !c.want.recorded {
				require.Empty(t, got.all)
				return
			}
			require.Len(t, got.all, 1)
			require.Equal(t, c.want.passed, got.all[0].Passed)
			require.Equal(t, records.CheckEvidence, got.all[0].Kind)
			require.EqualValues(t, 7, got.all[0].Period)
		})
	}
}

func TestAQuestionIsNotHeldAgainstALease(t *testing.T) {
	var checker *Checker
	var what subject
	checker, got, what := newChecker(t, func(_ context.Context, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
		busy := *what.node
		busy.LiveLeases = 1 // awarded in this moment
		checker.o.View.Put(busy.Address, &busy)
		return messages.ChallengeResponse{Version: messages.Version, Nonce: req.Nonce, Refused: "a lease is live"}, nil
	})
	checker.question(t.Context(), what, drawnIn(7))
	require.Empty(t, got.all)
}

func TestInventoryGivesTwoFindings(t *testing.T) {
	inv := sampleInventory()
	checker, got, what := newChecker(t, func(_ context.Context, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
		return messages.ChallengeResponse{Version: messages.Version, Nonce: req.Nonce, Inventory: inv}, nil
	})
	checker.inventory(t.Context(), what, 7)
	require.Len(t, got.all, 2)
	require.Equal(t, []records.CheckKind{records.CheckInventory, records.CheckHealth}, []records.CheckKind{got.all[0].Kind, got.all[1].Kind})
	require.True(t, got.all[0].Passed && got.all[1].Passed)

	inv.GPUs = inv.GPUs[:1]
	got.all = nil
	checker.inventory(t.Context(), what, 7)
	require.False(t, got.all[0].Passed)
	require.True(t, got.all[1].Passed)

	// As long as not all of the node's claims are known here, nothing is recorded.
	checker.o.View.Put(solana.PublicKey{60, 2}, nil)
	got.all = nil
	checker.inventory(t.Context(), what, 7)
	require.Empty(t, got.all)
}

func TestLivenessProbe(t *testing.T) {
	refused := func(req messages.ChallengeRequest) messages.ChallengeResponse {
		return messages.ChallengeResponse{Version: messages.Version, Nonce: req.Nonce, Refused: "not now"}
	}
	for name, c := range map[string]struct {
		ask             answers
		passed, unknown bool
	}{
		"there": {func(_ context.Context, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
			return alive(req), nil
		}, true, false},
		"silent": {func(ctx context.Context, _ messages.ChallengeRequest) (messages.ChallengeResponse, error) {
			return gone(ctx)
		}, false, false},
		"repeats an old answer": {func(_ context.Context, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
			r := alive(req)
			r.Nonce[0] ^= 1
			return r, nil
		}, false, false},
		"does not know us": {func(context.Context, messages.ChallengeRequest) (messages.ChallengeResponse, error) {
			return messages.ChallengeResponse{}, ErrRefused
		}, false, false},
		"says that it will not": {func(_ context.Context, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
			return refused(req), nil
		}, false, false},
		"is lost each time": {func(context.Context, messages.ChallengeRequest) (messages.ChallengeResponse, error) {
			return messages.ChallengeResponse{}, ErrTransport
		}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			checker, _, what := newChecker(t, c.ask)
			f, ok := checker.probe(t.Context(), what.node)
			require.True(t, ok)
			require.Equal(t, c.passed, f.Passed)
			require.Equal(t, c.unknown, f.Unknown)
		})
	}
}

func TestRunChecksEveryNodeAndStops(t *testing.T) {
	checker, got, _ := newChecker(t, func(ctx context.Context, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
		if req.Kind == messages.CheckLiveness {
			return alive(req), nil
		}
		return gone(ctx)
	})
	checker.o.Timing.Every = 60 * time.Millisecond
	var turns atomic.Int32
	checker.o.Turn = func() { turns.Add(1) }
	checker, err := NewChecker(checker.o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- checker.Run(ctx) }()
	require.Eventually(t, func() bool {
		got.mu.Lock()
		defer got.mu.Unlock()
		return turns.Load() >= 5 && len(got.all) >= 5
	}, time.Minute, 5*time.Millisecond, "a watchdog sees the loop, and nodes are checked")
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	got.mu.Lock()
	defer got.mu.Unlock()
	for _, f := range got.all {
		require.Equal(t, records.CheckLiveness, f.Kind)
	}
}
