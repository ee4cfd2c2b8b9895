package service

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// source is what a cache reads: each read waits for let and gives the next number.
type source struct {
	mu    sync.Mutex
	at    time.Time
	n     int
	fails error
	began chan struct{}
	let   chan struct{}
	wg    sync.WaitGroup
	over  bool
}

func newSource() (*source, *cached[int]) {
	s := &source{at: time.Unix(1000, 0), began: make(chan struct{}, 100), let: make(chan struct{}, 100)}
	return s, &cached[int]{read: s.read, now: s.now, run: func(f func(context.Context)) bool {
		if s.over {
			return false
		}
		s.wg.Go(func() { f(context.Background()) })
		return true
	}}
}

func (s *source) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

func (s *source) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = s.at.Add(d)
}

func (s *source) read(ctx context.Context) (int, error) {
	s.began <- struct{}{}
	select {
	case <-s.let:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	return s.n, s.fails
}

// Callers at once share a read; a young answer is given as it is, one past half of its time too while the next is read,
// and an older one never.
func TestCachedAnswersAreFresh(t *testing.T) {
	s, c := newSource()
	_, _, ok := c.peek()
	require.False(t, ok)
	require.Empty(t, s.began, "a look reads nothing")
	got := make(chan int, 3)
	for range 3 {
		go func() {
			v, err := c.get(t.Context())
			if err != nil {
				v = -1
			}
			got <- v
		}()
	}
	<-s.began
	s.let <- struct{}{}
	for range 3 {
		require.Equal(t, 1, <-got)
	}
	s.wg.Wait()
	require.Empty(t, s.began)

	s.pass(freshFor / 4)
	v, age, ok := c.peek()
	require.True(t, ok)
	require.Equal(t, 1, v)
	require.Equal(t, freshFor/4, age)
	v, err := c.get(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, v)
	require.Empty(t, s.began)

	s.pass(freshFor / 2)
	v, err = c.get(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, v)
	<-s.began
	s.pass(freshFor) // the read takes that long
	s.let <- struct{}{}
	s.wg.Wait()
	v, err = c.get(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, v)
	s.pass(2 * freshFor) // four times what it took
	v, err = c.get(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, v)
	<-s.began
	s.let <- struct{}{}
	s.wg.Wait()

	s.pass(staleAfter + 1)
	s.fails = errors.New("the cluster does not answer")
	s.let <- struct{}{}
	_, err = c.get(t.Context())
	require.ErrorIs(t, err, s.fails, "an answer that is too old is not given")
	<-s.began
	s.wg.Wait()

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.get(ctx)
	require.ErrorIs(t, err, context.Canceled)
	<-s.began
	s.let <- struct{}{}
	s.wg.Wait()
	s.over, s.fails = true, nil // an owner that has ended: every caller reads
	s.let <- struct{}{}
	v, err = c.get(t.Context())
	require.NoError(t, err)
	require.Equal(t, s.n, v)
}
