package check

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/schedule"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// wire is a node on a real connection that does with each question what do says.
type wire struct {
	node *p2p.Node
	do   func(s network.Stream, req messages.ChallengeRequest)
}

// frames of a request's envelope, as sdk/p2p writes them.
type envelope struct {
	_       struct{} `cbor:",toarray"`
	Version uint
	Code    uint
	Message string
	Body    any
}

type asked struct {
	_       struct{} `cbor:",toarray"`
	Version uint
	Code    uint
	Message string
	Body    messages.ChallengeRequest
}

func (w *wire) serve(s network.Stream) {
	var head [4]byte
	if _, err := io.ReadFull(s, head[:]); err != nil {
		return
	}
	raw := make([]byte, binary.LittleEndian.Uint32(head[:]))
	if _, err := io.ReadFull(s, raw); err != nil {
		return
	}
	var e asked
	if err := p2p.Decode(raw, &e); err != nil {
		_ = s.Reset()
		return
	}
	w.do(s, e.Body)
}

// send writes an envelope and closes the stream.
func send(s network.Stream, code uint, body any) {
	raw, err := p2p.Encode(envelope{Version: messages.Version, Code: code, Body: body})
	if err != nil {
		_ = s.Reset()
		return
	}
	_, _ = s.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(raw))), raw...))
	_ = s.Close()
}

// onWire is a checker that asks a node over a real connection.
func onWire(t *testing.T, do func(s network.Stream, req messages.ChallengeRequest)) (*Checker, *collected, subject) {
	checker, got, what := newChecker(t, nil)
	start := func(key solana.PrivateKey) *p2p.Node {
		n, err := p2p.New(p2p.Options{Key: key, Listen: []string{p2p.LoopbackListen}, Log: zerolog.Nop()})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, n.Close()) })
		return n
	}
	w := &wire{start(nodeKey), do}
	w.node.Host().SetStreamHandler(p2p.WireID(messages.Challenge, p2p.MessagesVersion()), w.serve)
	keeper := start(checker.o.Signer.(solana.PrivateKey))
	require.NoError(t, keeper.Connect(t.Context(), w.node.Self()))
	require.NoError(t, keeper.Remember(w.node.Self()))
	checker.o.Asker, checker.o.Timing.Timeout, checker.o.Timing.Every = Network{Node: keeper}, time.Second, 300*time.Millisecond
	return checker, got, what
}

// evasions are what a node may do with a question that it does not want to answer.
func evasions(t *testing.T) map[string]func(s network.Stream, req messages.ChallengeRequest) {
	return map[string]func(network.Stream, messages.ChallengeRequest){
		"resets the stream":              func(s network.Stream, _ messages.ChallengeRequest) { _ = s.Reset() },
		"closes without a word":          func(s network.Stream, _ messages.ChallengeRequest) { _ = s.Close() },
		"answers what cannot be decoded": func(s network.Stream, _ messages.ChallengeRequest) { send(s, 0, "what?") },
		"answers with another nonce": func(s network.Stream, req messages.ChallengeRequest) {
			req.Nonce[0] ^= 1
			send(s, 0, alive(req))
		},
		"answers what was not asked": func(s network.Stream, req messages.ChallengeRequest) { send(s, 0, alive(req)) },
		"says that it is busy":       func(s network.Stream, _ messages.ChallengeRequest) { send(s, uint(p2p.CodeRateLimited), nil) },
		"does not know the keeper":   func(s network.Stream, _ messages.ChallengeRequest) { send(s, uint(p2p.CodeRefused), nil) },
		"hangs":                      func(network.Stream, messages.ChallengeRequest) {},
		"speaks of another version": func(s network.Stream, req messages.ChallengeRequest) {
			r := alive(req)
			r.Version++
			send(s, 0, r)
		},
		"answers the first half": func(s network.Stream, req messages.ChallengeRequest) {
			_, _ = s.Write([]byte{200, 0, 0, 0, 1, 2, 3})
			_ = s.Reset()
		},
	}
}

// aliveBut answers liveness questions and evades all others.
func aliveBut(evade func(network.Stream, messages.ChallengeRequest)) func(network.Stream, messages.ChallengeRequest) {
	return func(s network.Stream, req messages.ChallengeRequest) {
		if req.Kind == messages.CheckLiveness {
			send(s, 0, alive(req))
			return
		}
		evade(s, req)
	}
}

// A node that is alive and free, and breaks a question off that it owes an answer to, has failed. It cannot choose to be judged
// by nothing.
func TestAnEvadedQuestionIsAFailedCheck(t *testing.T) {
	for name, evade := range evasions(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checker, got, what := onWire(t, aliveBut(evade))
			checker.question(t.Context(), what, drawnIn(7))
			require.Len(t, got.all, 1)
			require.False(t, got.all[0].Passed)
			require.Equal(t, records.CheckEvidence, got.all[0].Kind)
		})
	}
}

// The same with evidence is no evidence: tier 0.
func TestEvadedEvidenceIsNoEvidence(t *testing.T) {
	for name, evade := range evasions(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checker, got, what := onWire(t, aliveBut(evade))
			checker.o.Secs = 12
			checker.o.Evidence = &judge{}
			checker.evidence(t.Context(), what, 7)
			require.Len(t, got.all, 1)
			require.Equal(t, records.CheckEvidence, got.all[0].Kind)
			require.True(t, got.all[0].Passed)
			require.Zero(t, got.all[0].Figures.First, "tier 0")
		})
	}
}

// An inventory that is not shown is unhealthy, and no changed device: that would cost stake.
func TestAnEvadedInventoryIsUnhealthy(t *testing.T) {
	for name, evade := range evasions(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checker, got, what := onWire(t, aliveBut(evade))
			checker.inventory(t.Context(), what, 7)
			require.Len(t, got.all, 1)
			require.Equal(t, records.CheckHealth, got.all[0].Kind)
			require.False(t, got.all[0].Passed)
		})
	}
}

// A node that breaks off a question and the liveness questions after it as well fails no check. It is not seen
// as up either, as often as it does so.
func TestLeavingOutLivenessTooIsNotUp(t *testing.T) {
	checker, got, what := onWire(t, func(s network.Stream, _ messages.ChallengeRequest) { _ = s.Reset() })
	checker.Tick(t.Context()) // it watches the node from now on
	checker.wg.Wait()
	checker.nodes[what.node.Address].answered = true
	got.all = nil
	checker.question(t.Context(), what, drawnIn(7))
	require.Len(t, got.all, insistMost, "one for each try")
	for _, f := range got.all {
		require.Equal(t, records.CheckLiveness, f.Kind)
		require.True(t, f.Unknown)
		require.False(t, f.Passed)
	}
}

// A node whose own word it is that it answers no liveness question is not up. Being down saves it nothing, and neither
// does saying so.
func TestRefusedLivenessIsDown(t *testing.T) {
	refusal := func(code p2p.Code) func(network.Stream, messages.ChallengeRequest) {
		return func(s network.Stream, _ messages.ChallengeRequest) { send(s, uint(code), nil) }
	}
	for name, refuse := range map[string]func(network.Stream, messages.ChallengeRequest){
		"does not know the keeper": refusal(p2p.CodeRefused),
		"is not available":         refusal(p2p.CodeUnavailable),
		"has other things to do": func(s network.Stream, req messages.ChallengeRequest) {
			send(s, 0, messages.ChallengeResponse{Version: messages.Version, Nonce: req.Nonce, Refused: "not now"})
		},
		"says so as late as it may": func(s network.Stream, _ messages.ChallengeRequest) {
			time.Sleep(600 * time.Millisecond)
			send(s, uint(p2p.CodeRefused), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checker, _, what := onWire(t, refuse)
			f, ok := checker.probe(t.Context(), what.node)
			require.True(t, ok)
			require.False(t, f.Passed)
			require.False(t, f.Unknown, "it is the node's own doing")
		})
	}
}

// A node that says nothing is down. A stream has the deadline of its question and may be told of it before the context
// is: that is silence as well, and no answer that was lost on the way.
func TestSilenceIsAlwaysDown(t *testing.T) {
	checker, _, what := onWire(t, func(network.Stream, messages.ChallengeRequest) {})
	checker.o.Timing.Timeout = 20 * time.Millisecond
	for range 14 { // fewer than a node handles at once for one peer
		_, _, err := checker.ask(t.Context(), what.node, messages.ChallengeRequest{Kind: messages.CheckLiveness}, checker.o.Timing.Timeout)
		require.ErrorIs(t, err, ErrUnreachable)
		require.NotErrorIs(t, err, ErrTransport)
	}
}

// What strangers can bring about beside the node's word makes it not known, and a refusal that is over counts for nothing.
func TestInterferenceWithLivenessIsUnknown(t *testing.T) {
	refuse := func(s network.Stream, _ messages.ChallengeRequest) { send(s, uint(p2p.CodeRefused), nil) }
	reset := func(s network.Stream, _ messages.ChallengeRequest) { _ = s.Reset() }
	busy := func(s network.Stream, _ messages.ChallengeRequest) { send(s, uint(p2p.CodeRateLimited), nil) }
	up := func(s network.Stream, req messages.ChallengeRequest) { send(s, 0, alive(req)) }
	for name, c := range map[string]struct {
		answers [probeTries]func(network.Stream, messages.ChallengeRequest)
		passed  bool
	}{
		"resets":                  {answers: [...]func(network.Stream, messages.ChallengeRequest){reset, reset, reset}},
		"flooded":                 {answers: [...]func(network.Stream, messages.ChallengeRequest){busy, busy, busy}},
		"flooded at first":        {answers: [...]func(network.Stream, messages.ChallengeRequest){busy, refuse, refuse}},
		"flooded at last":         {answers: [...]func(network.Stream, messages.ChallengeRequest){refuse, refuse, busy}},
		"has just seen the chain": {answers: [...]func(network.Stream, messages.ChallengeRequest){refuse, refuse, up}, passed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tries atomic.Int32
			checker, _, what := onWire(t, func(s network.Stream, req messages.ChallengeRequest) {
				c.answers[min(int(tries.Add(1)), probeTries)-1](s, req)
			})
			checker.o.Timing.Timeout = 20 * time.Second
			f, ok := checker.probe(t.Context(), what.node)
			require.True(t, ok)
			require.Equal(t, c.passed, f.Passed)
			require.Equal(t, !c.passed, f.Unknown)
		})
	}
}

// A node that breaks one attempt off and answers the next has answered: lines break by themselves, too.
func TestABrokenLineIsForgiven(t *testing.T) {
	var mu sync.Mutex
	tries := 0
	checker, got, what := onWire(t, func(s network.Stream, req messages.ChallengeRequest) {
		mu.Lock()
		defer mu.Unlock()
		if req.Kind == messages.CheckLiveness {
			send(s, 0, alive(req))
			return
		}
		if tries++; tries < 3 {
			_ = s.Conn().Close()
			return
		}
		send(s, 0, shows(req))
	})
	checker.question(t.Context(), what, drawnIn(7))
	require.Len(t, got.all, 1)
	require.True(t, got.all[0].Passed)
}

// instantly lets no time pass.
type instantly struct{ schedule.System }

func (instantly) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// interferences are how a stranger hinders a question, and what the keeper sees of it.
var interferences = map[string]struct {
	wire func(network.Stream)
	seen error
}{
	"reset":       {func(s network.Stream) { _ = s.Reset() }, ErrTransport},
	"busy":        {func(s network.Stream) { send(s, uint(p2p.CodeRateLimited), nil) }, ErrTransport},
	"turned away": {func(s network.Stream) { send(s, uint(p2p.CodeRefused), nil) }, ErrRefused},
}

// What hinders the node hinders its liveness as well: nothing is held against it. A line that is cut at random, however
// often, seldom looks to one keeper like a node that chooses its questions: three tries may be cut by chance beside which
// liveness is not. More than two thirds of the keepers would have to see that. Each trial draws what is cut by its own
// seed and no time passes, so that the counts are the same on any machine.
func TestInterferenceFailsNoCheck(t *testing.T) {
	const trials = 1000
	for how, seen := range map[string]error{"lost": ErrTransport, "turned away": ErrRefused} {
		for _, c := range []struct{ cut, most float64 }{{1, 0}, {0.9, 0.01}, {0.65, 0.125}, {0.5, 0.1}, {0.2, 0.01}} {
			t.Run(fmt.Sprint(how, " of ", c.cut), func(t *testing.T) {
				t.Parallel()
				var r *rand.Rand
				checker, got, what := newChecker(t, func(_ context.Context, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
					switch {
					case r.Float64() < c.cut:
						return messages.ChallengeResponse{}, seen
					case req.Kind == messages.CheckLiveness:
						return alive(req), nil
					}
					return shows(req), nil
				})
				now := time.Now()
				checker.o.Tasks, checker.o.Now = instantly{}, func() time.Time { return now }
				for i := range uint64(trials) {
					r = rand.New(rand.NewPCG(i, 2))
					checker.question(t.Context(), what, drawnIn(7))
				}
				failed := 0
				for _, f := range got.all {
					if !f.Passed {
						failed++
					}
				}
				t.Logf("of %d checks %d passed, %d failed", trials, len(got.all)-failed, failed)
				require.LessOrEqual(t, float64(failed), c.most*trials)
			})
		}
	}
}

// On a real connection, interference is seen as what the test above makes of it, and a node of which nothing comes
// through fails nothing.
// It holds finding A 1.
func TestInterferenceOnTheWire(t *testing.T) {
	for how, interference := range interferences {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			checker, got, what := onWire(t, func(s network.Stream, _ messages.ChallengeRequest) { interference.wire(s) })
			_, _, err := checker.ask(t.Context(), what.node, messages.ChallengeRequest{Kind: messages.CheckLiveness}, time.Minute)
			require.ErrorIs(t, err, interference.seen)
			checker.question(t.Context(), what, drawnIn(7))
			require.Empty(t, got.all)
		})
	}
}
