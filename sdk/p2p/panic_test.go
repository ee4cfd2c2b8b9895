package p2p

import (
	"context"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/syncbuf"
)

// A handler that panics ends one request: the caller is told of an internal error, the log has the stack and the count,
// and the next request is answered.
func TestAPanicInAHandlerEndsOneRequest(t *testing.T) {
	var log syncbuf.Buffer
	a := newNode(t, func(c *Options) { c.Log = zerolog.New(&log) })
	b := newNode(t)
	require.NoError(t, b.Connect(t.Context(), a.Self()))
	answer := func(_ context.Context, _ solana.PublicKey, index int) (string, error) {
		return []string{"zero", "one"}[index], nil // out of range for 2
	}
	one := Protocol{ID: "/gantry/test/panic/1"}
	Handle(a, one, answer)
	many := Protocol{ID: "/gantry/test/panics/1"}
	HandleStream(a, many, func(ctx context.Context, from solana.PublicKey, index int, send func(string) error) error {
		text, err := answer(ctx, from, index)
		if err == nil {
			err = send(text)
		}
		return err
	})
	for range 3 {
		_, err := Call[int, string](t.Context(), b, a.Key(), one, 2)
		require.True(t, IsCode(err, CodeInternal), "%v", err)
		require.NotContains(t, err.Error(), "index out of range")
	}
	err := CallStream(t.Context(), b, a.Key(), many, 2, func(string) error { return nil })
	require.True(t, IsCode(err, CodeInternal), "%v", err)
	got, err := Call[int, string](t.Context(), b, a.Key(), one, 1)
	require.NoError(t, err)
	require.Equal(t, "one", got)
	require.EqualValues(t, 4, a.Refusals()[ReasonPanic])
	require.Contains(t, log.String(), "index out of range")
	require.Contains(t, log.String(), "panic_test.go")
	require.Contains(t, log.String(), `"panics":4`)
}

// The same for messages of gossip, in their check and in what is done with them.
func TestAPanicInGossipEndsOneMessage(t *testing.T) {
	a, b := newNode(t), newNode(t)
	require.NoError(t, b.Connect(t.Context(), a.Self()))
	got := make(chan string, 16)
	topic := func(n *Node, validate, handle bool) *Topic[string] {
		c := TopicConfig[string]{Name: "gantry/test/panics/1"}
		c.Validate = func(_ context.Context, _ solana.PublicKey, m string) Verdict {
			if validate && m == "bad" {
				panic("validate")
			}
			return Accept
		}
		c.Handle = func(_ context.Context, _ solana.PublicKey, m string) {
			if handle && m == "worse" {
				panic("handle")
			}
			got <- m
		}
		out, err := Join(n, c)
		require.NoError(t, err)
		return out
	}
	topic(a, true, true)
	from := topic(b, false, false)
	require.Eventually(t, func() bool { return from.Peers() == 1 }, time.Minute, 10*time.Millisecond)
	for _, m := range []string{"bad", "worse", "good"} {
		require.NoError(t, from.Publish(t.Context(), m))
	}
	select {
	case m := <-got:
		require.Equal(t, "good", m)
	case <-time.After(5 * time.Second):
		t.Fatal("nothing came after the panics")
	}
	require.Eventually(t, func() bool { return a.Refusals()[ReasonPanic] == 2 }, time.Minute, 10*time.Millisecond)
}
