package p2p

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
)

// What stands before handlers stands before those of every kind, and its error is the answer in their place.
func TestBeforeHandlers(t *testing.T) {
	var refuses atomic.Bool
	var asked, handled atomic.Int64
	a := newNode(t, func(c *Options) {
		c.Before = func(context.Context) error {
			asked.Add(1)
			if refuses.Load() {
				return Refuse(CodeUnavailable, "not now")
			}
			return nil
		}
	})
	b := newNode(t)
	require.NoError(t, b.Remember(a.Self()))
	one, many, conn := Protocol{ID: "/gantry/test/before/1"}, Protocol{ID: "/gantry/test/befores/1"}, Protocol{ID: "/gantry/test/before-conn/1"}
	Handle(a, one, func(context.Context, solana.PublicKey, string) (string, error) { handled.Add(1); return "yes", nil })
	HandleStream(a, many, func(_ context.Context, _ solana.PublicKey, _ string, send func(string) error) error {
		handled.Add(1)
		return send("yes")
	})
	HandleConn(a, conn, func(_ context.Context, _ solana.PublicKey, _ connRequest, accept func(connAnswer) (net.Conn, error)) error {
		handled.Add(1)
		_, err := accept(connAnswer{Text: "yes"})
		return err
	})
	kinds := map[string]func() error{
		"one": func() error { _, err := Call[string, string](testCtx(t), b, a.Key(), one, ""); return err },
		"many": func() error {
			return CallStream(testCtx(t), b, a.Key(), many, "", func(string) error { return nil })
		},
		"connection": func() error {
			c, _, err := Dial[connRequest, connAnswer](testCtx(t), b, a.Key(), conn, connRequest{})
			if err == nil {
				err = errors.Join(err, c.Close())
			}
			return err
		},
	}
	for name, call := range kinds {
		asked.Store(0)
		handled.Store(0)
		refuses.Store(true)
		require.True(t, IsCode(call(), CodeUnavailable), name)
		require.EqualValues(t, 1, asked.Load(), name)
		require.Zero(t, handled.Load(), name)
		refuses.Store(false)
		require.NoError(t, call(), name)
		require.EqualValues(t, 2, asked.Load(), name)
		require.EqualValues(t, 1, handled.Load(), name)
	}
}
