package p2p

import (
	"context"
	"crypto/rand"
	"io"
	"net"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
)

type (
	connRequest struct {
		Text string `cbor:"1,keyasint" max:"64"`
	}
	connAnswer struct {
		Text string `cbor:"1,keyasint" max:"64"`
	}
)

var connProtocol = Protocol{ID: "/test/conn", MaxRequest: 1 << 10, MaxResponse: 1 << 10, Rate: 100, Burst: 100, PerPeer: 2}

// echoing answers requests with connections that send back what they read. ended counts those that are over.
func echoing(t *testing.T, p Protocol) (server *Node, ended chan struct{}) {
	t.Helper()
	server, ended = newNode(t), make(chan struct{}, 100)
	HandleConn(server, p, func(_ context.Context, _ solana.PublicKey, req connRequest, accept func(connAnswer) (net.Conn, error)) error {
		defer func() { ended <- struct{}{} }()
		switch req.Text {
		case "refuse":
			return Refuse(CodeRefused, "because")
		case "panic":
			panic("on purpose")
		}
		c, err := accept(connAnswer{Text: "you said " + req.Text})
		if err != nil {
			return err
		}
		_, err = io.Copy(c, c)
		return err
	})
	return server, ended
}

func dialConn(t *testing.T, n, server *Node, p Protocol, text string) (net.Conn, connAnswer, error) {
	t.Helper()
	require.NoError(t, n.Remember(server.Self()))
	return Dial[connRequest, connAnswer](testCtx(t), n, server.Key(), p, connRequest{Text: text})
}

func TestAConnectionIsAnswered(t *testing.T) {
	server, ended := echoing(t, connProtocol)
	n := newNode(t)
	c, answer, err := dialConn(t, n, server, connProtocol, "hello")
	require.NoError(t, err)
	require.Equal(t, "you said hello", answer.Text)
	content := make([]byte, 3<<20)
	_, _ = rand.Read(content)
	go func() { _, _ = c.Write(content) }()
	got := make([]byte, len(content))
	_, err = io.ReadFull(c, got)
	require.NoError(t, err)
	require.Equal(t, content, got)
	require.NoError(t, c.Close())
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the handler does not notice that the caller has left")
	}

	_, _, err = dialConn(t, n, server, connProtocol, "refuse")
	require.True(t, IsCode(err, CodeRefused), err)
	require.ErrorContains(t, err, "because")
	_, _, err = dialConn(t, n, server, connProtocol, "panic")
	require.True(t, IsCode(err, CodeInternal), err)
	require.EqualValues(t, 1, server.Refusals()[ReasonPanic])
}

func TestConnectionsAreBoundedAndNotForEverybody(t *testing.T) {
	p := connProtocol
	friend := newNode(t)
	p.May = func(key solana.PublicKey) bool { return key == friend.Key() }
	server, _ := echoing(t, p)
	_, _, err := dialConn(t, newNode(t), server, p, "hello")
	require.True(t, IsCode(err, CodeRefused), err)
	for range p.PerPeer {
		c, _, err := dialConn(t, friend, server, p, "hello")
		require.NoError(t, err)
		defer c.Close()
	}
	_, _, err = dialConn(t, friend, server, p, "hello")
	require.True(t, IsCode(err, CodeRateLimited), err)
}

// The allowance of answers' bytes is not that of connections: their number is bounded, and they wait for their reader.
func TestAConnectionIsNotHeldUpByTheAllowance(t *testing.T) {
	server, _ := echoing(t, connProtocol)
	server.budget = newBudget(server.gate, &Options{Allow: func(solana.PublicKey) Allowance { return Allowance{Rate: 1, Burst: 1000} }})
	c, _, err := dialConn(t, newNode(t), server, connProtocol, "hello")
	require.NoError(t, err)
	defer c.Close()
	content := make([]byte, 1<<20)
	go func() { _, _ = c.Write(content) }()
	_, err = io.ReadFull(c, content)
	require.NoError(t, err)
}
