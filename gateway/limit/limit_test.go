package limit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func at(t *testing.T, addr string) net.Addr {
	t.Helper()
	a, err := net.ResolveTCPAddr("tcp", addr)
	require.NoError(t, err)
	return a
}

func TestARoomCountsByAddress(t *testing.T) {
	r := NewRoom(Options{Most: 5, MostOfOne: 2, PerSecond: 1, Burst: 100})
	enter := func(addr string) (func(), error) { return r.Enter(at(t, addr)) }
	first, err := enter("192.0.2.1:1")
	require.NoError(t, err)
	_, err = enter("192.0.2.1:2")
	require.NoError(t, err)
	_, err = enter("[::ffff:192.0.2.1]:3")
	require.ErrorIs(t, err, ErrFull, "the same address, written otherwise")
	_, err = enter("[2001:db8:0:1::1]:1")
	require.NoError(t, err)
	_, err = enter("[2001:db8:0:2::1]:1")
	require.NoError(t, err)
	_, err = enter("[2001:db8:0:ff::1]:1")
	require.ErrorIs(t, err, ErrFull, "one /56 is one site")
	_, err = enter("192.0.2.2:1")
	require.NoError(t, err)
	_, err = enter("192.0.2.3:1")
	require.ErrorIs(t, err, ErrFull, "five in all")
	first()
	first() // gives back once
	_, err = enter("192.0.2.1:4")
	require.NoError(t, err)
	_, err = enter("192.0.2.4:1")
	require.ErrorIs(t, err, ErrFull)
	taken, refused := r.Count()
	require.Equal(t, 5, taken)
	require.EqualValues(t, 4, refused)
}

func TestNewConnectionsHaveARate(t *testing.T) {
	r := NewRoom(Options{Most: 1000, MostOfOne: 1000, PerSecond: 1, Burst: 3})
	now := time.Unix(1000, 0)
	r.now = func() time.Time { return now }
	tries := func() (n int) {
		for range 10 {
			if leave, err := r.Enter(at(t, "192.0.2.1:1")); err == nil {
				leave()
				n++
			}
		}
		return n
	}
	require.Equal(t, 3, tries())
	require.Zero(t, tries())
	now = now.Add(2 * time.Second)
	require.Equal(t, 2, tries())
}

func TestManyAddressesTakeBoundedMemory(t *testing.T) {
	r := NewRoom(Options{Most: 10, MostOfOne: 2, PerSecond: 1, Burst: 3})
	held, err := r.Enter(at(t, "198.51.100.1:1"))
	require.NoError(t, err)
	for i := range 2 * maxSources {
		leave, err := r.Enter(&net.TCPAddr{IP: net.IPv4(10, byte(i>>16), byte(i>>8), byte(i)), Port: 1})
		require.NoError(t, err)
		leave()
	}
	require.LessOrEqual(t, len(r.sources), maxSources)
	_, err = r.Enter(at(t, "198.51.100.1:2"))
	require.NoError(t, err)
	_, err = r.Enter(at(t, "198.51.100.1:3"))
	require.ErrorIs(t, err, ErrFull, "who is here is not forgotten")
	held()
}

func TestPlaces(t *testing.T) {
	p := NewPlaces(5)
	take := func(addr string) func() {
		t.Helper()
		free, err := p.Take(at(t, addr))
		require.NoError(t, err)
		return free
	}
	free := take("192.0.2.1:1")
	for i := range 4 {
		take(fmt.Sprintf("198.51.100.%d:1", i))
	}
	_, err := p.Take(at(t, "192.0.2.2:1"))
	require.ErrorIs(t, err, ErrFull)
	free()
	free()
	require.Equal(t, 4, p.Taken())
	take("192.0.2.2:1")
	require.Equal(t, 5, p.Taken())
}

// A visitor gets a quarter of a lease's places at most, however many connections and addresses of one group it has.
func TestOneVisitorGetsAQuarterOfALeasesPlaces(t *testing.T) {
	p := NewPlaces(256)
	var free []func()
	for i := range 256 {
		f, err := p.Take(at(t, fmt.Sprintf("[2001:db8:0:%x::1]:%d", i%256, 1000+i)))
		if i < 64 {
			require.NoError(t, err)
			free = append(free, f)
		} else {
			require.ErrorIs(t, err, ErrFull)
		}
	}
	_, err := p.Take(at(t, "192.0.2.1:1"))
	require.NoError(t, err)
	for _, f := range free {
		f()
	}
	require.Equal(t, 1, p.Taken())
	require.Len(t, p.of, 1, "who has none is forgotten")
}

// However many groups of addresses hold what they can get, another one finds places.
func TestFewGroupsCannotHoldAllConnections(t *testing.T) {
	for name, addr := range map[string]func(group, n int) string{
		"sixteen addresses":   func(g, n int) string { return fmt.Sprintf("%d.0.2.1:%d", 20+g%16, 1000+n) },
		"a hundred addresses": func(g, n int) string { return fmt.Sprintf("%d.0.2.1:%d", 20+g%100, 1000+n) },
		"a network of IPv4":   func(g, n int) string { return fmt.Sprintf("31.7.%d.%d:%d", g/250%250, g%250, 1000+n) },
		"a network of IPv6":   func(g, n int) string { return fmt.Sprintf("[2001:4dd0:%x::1]:%d", g%65536, 1000+n) },
	} {
		t.Run(name, func(t *testing.T) {
			r := NewRoom(Options{Most: 2048, MostOfOne: 128, PerSecond: 1e9, Burst: 1e9})
			held := 0
			var leave []func()
			for i := range 1 << 16 {
				if l, err := r.Enter(at(t, addr(i, i%50_000))); err == nil {
					held++
					leave = append(leave, l)
				}
			}
			require.GreaterOrEqual(t, held, 1024)
			t.Logf("%d of 2,048 held", held)
			for i := range 32 { // visitors from elsewhere, with a few connections each
				for n := range 2 {
					l, err := r.Enter(at(t, fmt.Sprintf("%d.99.5.5:%d", 130+i, n+1)))
					require.NoError(t, err)
					leave = append(leave, l)
				}
			}
			for _, l := range leave {
				l()
			}
			require.Empty(t, r.larger)
			taken, _ := r.Count()
			require.Zero(t, taken)
		})
	}
}

func TestAnIdleConnectionIsClosed(t *testing.T) {
	near, far := net.Pipe()
	c := Idle(near, 2*time.Second)
	go func() {
		for i := range 5 { // it lasts while something comes
			fmt.Fprint(far, i)
		}
	}()
	got, err := io.ReadAll(c)
	require.Equal(t, "01234", string(got))
	require.Error(t, err)
	_, err = far.Write([]byte{1})
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

func TestAPacedConnectionWaitsAndCounts(t *testing.T) {
	near, far := net.Pipe()
	go func() { _, _ = io.Copy(io.Discard, far) }()
	ctx, cancel := context.WithCancel(t.Context())
	var in, out atomic.Uint64
	c := Paced(ctx, near, NewRate(1), free{}, &in, &out)
	_, err := c.Write(make([]byte, chunk)) // the burst
	require.NoError(t, err)
	time.AfterFunc(10*time.Millisecond, cancel)
	n, err := c.Write(make([]byte, chunk)) // eighteen hours at this rate
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, n)
	require.EqualValues(t, chunk, out.Load())
}

// free takes no toll, budget one until it is used up.
type (
	free   struct{}
	budget struct{ left int }
)

func (free) Take(n int) (int, error) { return n, nil }

var errBudget = errors.New("used up")

func (b *budget) Take(n int) (int, error) {
	if n > b.left {
		rest := b.left
		b.left = 0
		return rest, errBudget
	}
	b.left -= n
	return n, nil
}

// TestNothingIsRelayedWithoutItsToll: both ways count, what the toll still covers is relayed, and not a byte more.
func TestNothingIsRelayedWithoutItsToll(t *testing.T) {
	near, far := net.Pipe()
	var in, out atomic.Uint64
	b := &budget{left: 150}
	c := Paced(t.Context(), near, NewRate(chunk), b, &in, &out)
	go func() { _, _ = far.Write(make([]byte, 100)) }()
	got := make([]byte, 200)
	n, err := c.Read(got)
	require.NoError(t, err)
	require.Equal(t, 100, n)
	sent := make(chan int, 1)
	go func() {
		n, _ := io.ReadFull(far, make([]byte, 50))
		sent <- n
	}()
	n, err = c.Write(make([]byte, 80))
	require.ErrorIs(t, err, errBudget)
	require.Equal(t, 50, n)
	require.Equal(t, 50, <-sent)
	go func() { _, _ = far.Write(make([]byte, 10)) }()
	n, err = c.Read(got)
	require.ErrorIs(t, err, errBudget)
	require.Zero(t, n)
	require.EqualValues(t, 150, in.Load()+out.Load())
}
