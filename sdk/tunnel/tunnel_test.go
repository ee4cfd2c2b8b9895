package tunnel

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// between is a session, whose container connects ports 1 and 2 with dial.
func between(t *testing.T, memory *Memory, dial func(ctx context.Context, port uint16) (net.Conn, error)) (s *Session, served chan error) {
	t.Helper()
	gateway, container := net.Pipe()
	served = make(chan error, 1)
	go func() { served <- Serve(t.Context(), container, []uint16{1, 2}, dial) }()
	s, err := NewSession(gateway, memory, MaxWindow)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s, served
}

// echo answers each connection with what it was sent, once that has ended.
func echo(t *testing.T) func(context.Context, uint16) (net.Conn, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				got, _ := io.ReadAll(c)
				_, _ = c.Write(got)
			}()
		}
	}()
	return func(ctx context.Context, port uint16) (net.Conn, error) {
		if port == 2 {
			return nil, errors.New("refused")
		}
		var d net.Dialer
		return d.DialContext(ctx, "tcp", l.Addr().String())
	}
}

func TestConnectionsCarryBytesAndTheirEnds(t *testing.T) {
	memory := NewMemory(64 << 20)
	s, served := between(t, memory, echo(t))
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			sent := make([]byte, 1<<20)
			_, _ = rand.Read(sent)
			c, err := s.Dial(t.Context(), 1)
			if !noError(t, err) {
				return
			}
			defer c.Close()
			go func() { // the answer comes behind the end of what was sent
				_, _ = c.Write(sent)
				_ = c.(interface{ CloseWrite() error }).CloseWrite()
			}()
			got, err := io.ReadAll(c)
			if noError(t, err) && !bytes.Equal(sent, got) {
				t.Error("other bytes came back")
			}
		})
	}
	wg.Wait()
	_, err := s.Dial(t.Context(), 2)
	require.ErrorIs(t, err, ErrNothingListens)
	_, err = s.Dial(t.Context(), 3)
	require.ErrorIs(t, err, ErrNotGranted)
	require.Eventually(t, func() bool { return s.Connections() == 0 }, time.Minute, time.Millisecond)
	require.NoError(t, s.Close())
	require.NoError(t, <-served)
	require.Eventually(t, func() bool { // a stream gives its memory back after it has left the count
		memory.mu.Lock()
		defer memory.mu.Unlock()
		return memory.left == 64<<20
	}, time.Minute, time.Millisecond)
	_, err = s.Dial(t.Context(), 1)
	require.ErrorIs(t, err, ErrBroken)
}

// What a connection asks for after its end is not given: nobody would give it back.
func TestConnectionsThatAreOverTakeNoMemory(t *testing.T) {
	memory := NewMemory(1 << 20)
	s := &share{of: memory}
	require.NoError(t, s.ReserveMemory(1<<18, 255))
	s.Done()
	require.Equal(t, 1<<20, memory.left)
	require.ErrorIs(t, s.ReserveMemory(1<<18, 128), errMemory)
	s.ReleaseMemory(1 << 18)
	s.Done()
	require.Equal(t, 1<<20, memory.left)
}

func noError(t *testing.T, err error) bool {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
	return err == nil
}

// A connection that nobody reads holds up neither the others nor more memory than its window.
func TestAConnectionThatIsNotReadHoldsUpNoOther(t *testing.T) {
	endless := func(context.Context, uint16) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			defer far.Close()
			for {
				if _, err := far.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		}()
		return near, nil
	}
	s, _ := between(t, NewMemory(1<<20), endless) // four first windows
	for range 3 {
		_, err := s.Dial(t.Context(), 1)
		require.NoError(t, err)
	}
	c, err := s.Dial(t.Context(), 1)
	require.NoError(t, err)
	_, err = s.Dial(t.Context(), 1)
	require.Error(t, err, "no memory is left")
	n, err := io.CopyN(io.Discard, c, 20<<20)
	require.NoError(t, err)
	require.EqualValues(t, 20<<20, n)
}

func TestAContainerThatDoesNotAnswer(t *testing.T) {
	gateway, container := net.Pipe()
	defer container.Close()
	go func() { _, _ = io.Copy(io.Discard, container) }()
	s, err := NewSession(gateway, NewMemory(1<<20), MaxWindow)
	require.NoError(t, err)
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	_, err = s.Dial(ctx, 1)
	require.ErrorIs(t, err, context.Canceled)
	require.Eventually(t, func() bool { return s.Connections() == 0 }, time.Minute, time.Millisecond)
}

// Windows grow with half of the memory (yamux asks with priority 128), so that those who come later find place for their first.
func TestWindowsLeaveRoomForNewConnections(t *testing.T) {
	m := NewMemory(containerMemory)
	first := &share{of: m}
	require.NoError(t, first.ReserveMemory(containerMemory/256*129, 128))
	require.ErrorIs(t, first.ReserveMemory(1, 128), errMemory)
	for range MaxConnections + 1 { // yamux opens one too many before it refuses it
		require.NoError(t, (&share{of: m}).ReserveMemory(256<<10, 255))
	}
	first.ReleaseMemory(1 << 20)
	require.ErrorIs(t, first.ReserveMemory(1, 128), errMemory, "windows wait until connections have ended")
	first.Done()
	require.NoError(t, (&share{of: m}).ReserveMemory(1, 128))
}
