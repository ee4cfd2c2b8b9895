// Package limit bounds what those who connect to a gateway may hold: connections at once and new ones a second, of one
// address and of all, how long a connection may carry nothing, and how many bytes a second it carries.
package limit

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/gantry-market/gantry/internal/addrgroup"
)

// ErrFull: there is no place for another connection.
var ErrFull = errors.New("too many connections")

// Options of a Room; all are required.
type Options struct {
	// Most connections at once, and of one IPv4 address or IPv6 /56.
	Most, MostOfOne int
	// PerSecond is how many new ones such an address may make, Burst how many at once.
	PerSecond float64
	Burst     int
}

// Room counts connections.
type Room struct {
	o   Options
	now func() time.Time

	mu      sync.Mutex
	taken   int
	sources map[netip.Prefix]*source
	refused uint64
}

type source struct {
	taken int
	fresh *rate.Limiter
}

// NewRoom has room for what the options say.
func NewRoom(o Options) *Room {
	return &Room{o: o, now: time.Now, sources: map[netip.Prefix]*source{}}
}

// Enter takes a place for a connection. leave gives it back, once.
func (r *Room) Enter(from net.Addr) (leave func(), err error) {
	at := group(from)
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sources[at]
	if s == nil {
		r.forget()
		s = &source{fresh: rate.NewLimiter(rate.Limit(r.o.PerSecond), r.o.Burst)}
		r.sources[at] = s
	}
	if r.taken >= r.o.Most || s.taken >= r.o.MostOfOne || !s.fresh.AllowN(r.now(), 1) {
		r.refused++
		return nil, ErrFull
	}
	r.taken++
	s.taken++
	return sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.taken--
		s.taken--
	}), nil
}

// maxSources bounds the memory that many addresses can make the room use.
const maxSources = 16_384

// forget makes place for another source: those that have no connection and made none lately go first, then any that
// has none.
func (r *Room) forget() {
	if len(r.sources) < maxSources {
		return
	}
	now := r.now()
	for at, s := range r.sources {
		if s.taken == 0 && s.fresh.TokensAt(now) >= float64(r.o.Burst) {
			delete(r.sources, at)
		}
	}
	for at, s := range r.sources {
		if len(r.sources) < maxSources {
			return
		}
		if s.taken == 0 {
			delete(r.sources, at)
		}
	}
}

// Count returns how many connections there are, and how many were refused so far.
func (r *Room) Count() (taken int, refused uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken, r.refused
}

// group is what the connections of one site have in common. This machine's own processes are one site too.
func group(a net.Addr) netip.Prefix {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Prefix{}
	}
	return addrgroup.Of(at.Addr())
}

// Places bounds what is done for one lease at once.
type Places struct {
	most  int64
	taken atomic.Int64
}

// NewPlaces are so many.
func NewPlaces(most int) *Places { return &Places{most: int64(most)} }

// Take takes a place, which free gives back. Error: ErrFull.
func (p *Places) Take() (free func(), err error) {
	if p.taken.Add(1) > p.most {
		p.taken.Add(-1)
		return nil, ErrFull
	}
	return sync.OnceFunc(func() { p.taken.Add(-1) }), nil
}

// Taken counts the places that are taken.
func (p *Places) Taken() int { return int(p.taken.Load()) }

// Idle closes a connection over which nothing has come or gone for a time. It leaves deadlines to whoever sets them.
func Idle(c net.Conn, most time.Duration) net.Conn {
	i := &idle{Conn: c, most: most}
	i.timer = time.AfterFunc(most, func() { _ = c.Close() })
	return i
}

type idle struct {
	net.Conn
	most  time.Duration
	timer *time.Timer
}

func (i *idle) Read(b []byte) (int, error) {
	n, err := i.Conn.Read(b)
	i.moved(n)
	return n, err
}

func (i *idle) Write(b []byte) (int, error) {
	n, err := i.Conn.Write(b)
	i.moved(n)
	return n, err
}

func (i *idle) moved(n int) {
	if n > 0 {
		i.timer.Reset(i.most)
	}
}

// Close implements net.Conn.
func (i *idle) Close() error {
	i.timer.Stop()
	return i.Conn.Close()
}

// CloseWrite ends one direction.
func (i *idle) CloseWrite() error { return closeWrite(i.Conn) }

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// chunk is how many bytes are asked for at once.
const chunk = 64 << 10

// Toll is asked before bytes are relayed. Take says how many of n may be; fewer come with the reason.
type Toll interface{ Take(n int) (int, error) }

// Paced makes a connection wait for a rate of bytes, both ways together, takes a toll of them and counts them. Rate and toll
// may be shared by several connections; ctx ends every wait. A connection whose toll is not paid fails with its error.
func Paced(ctx context.Context, c net.Conn, r *rate.Limiter, toll Toll, in, out *atomic.Uint64) net.Conn {
	return &paced{Conn: c, ctx: ctx, rate: r, toll: toll, in: in, out: out}
}

// NewRate is a rate of bytes a second.
func NewRate(bytes int) *rate.Limiter { return rate.NewLimiter(rate.Limit(bytes), max(bytes, chunk)) }

type paced struct {
	net.Conn
	ctx     context.Context //nolint:containedctx // reads and writes have none
	rate    *rate.Limiter
	toll    Toll
	in, out *atomic.Uint64
}

func (p *paced) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b[:min(len(b), chunk)])
	if n > 0 {
		paid, terr := p.toll.Take(n)
		if terr != nil {
			n, err = paid, terr // the rest is not relayed
		}
		p.in.Add(uint64(n))
		if werr := p.rate.WaitN(p.ctx, n); werr != nil && err == nil {
			err = werr
		}
	}
	return n, err
}

func (p *paced) Write(b []byte) (n int, err error) {
	for len(b) > 0 {
		part := b[:min(len(b), chunk)]
		if err := p.rate.WaitN(p.ctx, len(part)); err != nil {
			return n, err
		}
		paid, terr := p.toll.Take(len(part))
		m, err := p.Conn.Write(part[:paid])
		n += m
		p.out.Add(uint64(m))
		if err = errors.Join(terr, err); err != nil {
			return n, err
		}
		b = b[len(part):]
	}
	return n, nil
}

// CloseWrite ends one direction.
func (p *paced) CloseWrite() error { return closeWrite(p.Conn) }

var _ io.ReadWriteCloser = (*paced)(nil)
