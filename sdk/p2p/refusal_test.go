package p2p

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/stretchr/testify/require"
)

// lateStream is a stream on a slow line: what is written leaves when the stream is closed, some time after the end of
// reading was asked for.
type lateStream struct {
	network.Stream
	written bytes.Buffer
}

func (s *lateStream) Write(b []byte) (int, error) { return s.written.Write(b) }

func (s *lateStream) CloseRead() error {
	defer time.Sleep(50 * time.Millisecond)
	return s.Stream.CloseRead()
}

func (s *lateStream) Close() error {
	if _, err := s.Stream.Write(s.written.Bytes()); err != nil {
		return err
	}
	return s.Stream.Close()
}

// A server that has refused a stream of items ends its own reading. It must not take that for the caller's leaving, which
// resets the stream and loses the refusal.
func TestARefusalOfAStreamArrives(t *testing.T) {
	a, b := newNode(t), newNode(t)
	require.NoError(t, b.Remember(a.Self()))
	p := Protocol{ID: "/gantry/test/refuses/1"}
	srv := newServer[string](a, p)
	srv.stream = true
	srv.handle = func(context.Context, solana.PublicKey, string, func(Code, any) error) error {
		return Refuse(CodeUnavailable, "not now")
	}
	srv.register(func(ctx context.Context, r request[string]) {
		r.stream = &lateStream{Stream: r.stream}
		srv.serve(ctx, r)
	})
	err := CallStream(testCtx(t), b, a.Key(), p, "", func(string) error { return nil })
	require.True(t, IsCode(err, CodeUnavailable), "%v", err)
}
