package p2p

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
)

// programs are those of one customer, all with its key, at one machine.
type programs struct {
	t       *testing.T
	key     solana.PrivateKey
	machine *Node
	known   atomic.Bool
}

func newPrograms(t *testing.T, listen string) *programs {
	p := &programs{t: t, key: newKey(t)}
	p.machine = newNode(t, func(c *Options) {
		c.Listen = []string{listen}
		c.Known = func(k solana.PublicKey) bool { return p.known.Load() && k == p.key.PublicKey() }
		c.First = func(solana.PublicKey) bool { return false }
	})
	Handle(p.machine, echo, func(context.Context, solana.PublicKey, echoReq) (echoResp, error) { return echoResp{}, nil })
	return p
}

// start has one more program ask the machine. It runs until the test ends or it is closed.
func (p *programs) start() (*Node, error) {
	n, err := New(Options{Key: p.key, Client: true})
	require.NoError(p.t, err)
	p.t.Cleanup(func() { require.NoError(p.t, n.Close()) })
	if err := n.Connect(testCtx(p.t), p.machine.Self()); err != nil {
		return n, err
	}
	return n, p.ask(n)
}

func (p *programs) ask(n *Node) error {
	_, err := Call[echoReq, echoResp](testCtx(p.t), n, p.machine.Key(), echo, echoReq{})
	return err
}

// The programs of a customer have one key. The machine serves as many as it has places for, and tells the next one the reason. A program
// that ends frees its place.
func TestManyProgramsOfOneKey(t *testing.T) {
	for name, listen := range map[string]string{"TCP": LoopbackListen, "QUIC": "/ip4/127.0.0.1/udp/0/quic-v1"} {
		t.Run(name, func(t *testing.T) {
			p := newPrograms(t, listen)
			p.known.Store(true)
			for range peerConns + 1 {
				n, err := p.start()
				require.NoError(t, err)
				require.NoError(t, n.Close())
			}
			var all []*Node
			for range peerConns {
				n, err := p.start()
				require.NoError(t, err)
				all = append(all, n)
			}
			for _, n := range all {
				require.NoError(t, p.ask(n))
			}
			require.Eventually(t, func() bool {
				_, err := p.start()
				return errors.Is(err, ErrHungUp)
			}, 20*time.Second, 10*time.Millisecond)
			require.NoError(t, all[0].Close())
			require.Eventually(t, func() bool {
				_, err := p.start()
				return err == nil
			}, 20*time.Second, 10*time.Millisecond)
		})
	}
}

// A peer that hung up explains a failed call for a moment. Later its address may simply not answer.
func TestAPeerThatHungUpMayBeGoneLater(t *testing.T) {
	p := newPrograms(t, LoopbackListen)
	for range strangerConns {
		_, err := p.start()
		require.Error(t, err)
		require.NotErrorIs(t, err, ErrHungUp)
	}
	n, err := p.start()
	require.ErrorIs(t, err, ErrHungUp)
	require.NoError(t, p.machine.Close())
	require.Eventually(t, func() bool {
		err := p.ask(n)
		return err != nil && !errors.Is(err, ErrHungUp)
	}, 20*time.Second, 50*time.Millisecond)
}

// A machine that has started again does not know its customers yet: they are strangers to it, with as few connections as strangers
// have. When it knows a customer, the next connection has the customer's limits.
func TestACustomerThatWasAStranger(t *testing.T) {
	p := newPrograms(t, LoopbackListen)
	n, err := p.start()
	require.Error(t, err, "strangers are refused what customers get")
	require.NoError(t, n.Close())
	require.Eventually(t, func() bool { return !p.machine.Connected(p.key.PublicKey()) }, 20*time.Second, time.Millisecond)
	p.known.Store(true)
	for range 2 * strangerConns {
		_, err := p.start()
		require.NoError(t, err)
	}
}
