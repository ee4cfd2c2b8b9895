package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
)

// ports forwards until ctx ends or the test ends it.
type ports struct {
	mu    sync.Mutex
	calls int
	fails error
	ends  map[uint16]chan struct{}
}

func (p *ports) Forward(ctx context.Context, _ solana.PublicKey, port uint16) (string, <-chan struct{}, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	if p.fails != nil {
		return "", nil, p.fails
	}
	told, ended := make(chan struct{}), make(chan struct{})
	p.ends[port] = told
	go func() {
		defer close(ended)
		select {
		case <-told:
		case <-ctx.Done():
		}
	}()
	return fmt.Sprintf("127.0.0.1:%d", 40_000+int(port)), ended, nil
}

// A port is forwarded once, so many are at a time, one that has ended makes room, and the server's end ends all.
func TestForwardsAreBounded(t *testing.T) {
	p := &ports{ends: map[uint16]chan struct{}{}}
	var f forwards
	_, err := f.open(t.Context(), p, solana.PublicKey{7}, 1)
	requireStatus(t, err, http.StatusServiceUnavailable)
	end := f.begin(t.Context())
	for range 2 {
		for port := range uint16(maxForwards) {
			got, err := f.open(t.Context(), p, solana.PublicKey{7}, port+1)
			require.NoError(t, err)
			require.Equal(t, Forward{solana.PublicKey{7}.String(), port + 1, fmt.Sprintf("127.0.0.1:%d", 40_001+int(port)), fmt.Sprintf("http://127.0.0.1:%d/", 40_001+int(port))}, got)
		}
	}
	require.Equal(t, maxForwards, p.calls)
	require.Len(t, f.of(solana.PublicKey{7}), maxForwards)
	require.Equal(t, "127.0.0.1:40002", f.of(solana.PublicKey{7})[2])
	require.Empty(t, f.of(solana.PublicKey{8}), "of another lease")
	_, err = f.open(t.Context(), p, solana.PublicKey{7}, 99)
	requireStatus(t, err, http.StatusServiceUnavailable)
	close(p.ends[3])
	require.Eventually(t, func() bool {
		_, err = f.open(t.Context(), p, solana.PublicKey{7}, 99)
		return err == nil
	}, 30*time.Second, 5*time.Millisecond)
	close(p.ends[5])
	p.mu.Lock()
	p.fails = errors.New("the container does not answer")
	p.mu.Unlock()
	require.Eventually(t, func() bool {
		_, err = f.open(t.Context(), p, solana.PublicKey{7}, 98)
		return errors.Is(err, p.fails)
	}, 30*time.Second, 5*time.Millisecond)
	end()
	_, err = f.open(t.Context(), p, solana.PublicKey{7}, 1)
	requireStatus(t, err, http.StatusServiceUnavailable)
}
