// Package limit bounds what clients of a gateway may use. It limits simultaneous connections and new connections a
// second, for one address and for all together. It also limits how long a connection may carry nothing, and how many
// bytes a second it carries.
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
	larger  map[netip.Prefix]int // connections of sites and networks
	refused uint64
}

type source struct {
	taken int
	fresh *rate.Limiter
}

// NewRoom has room for what the options say.
func NewRoom(o Options) *Room {
	return &Room{o: o, now: time.Now, sources: map[netip.Prefix]*source{}, larger: map[netip.Prefix]int{}}
}

// Above half of the places a group of addresses holds no more than a part of what is free, and so do the site and the
// network that it lies in: the more that few of them hold, the less they get, and others find a place. The least of each
// is what small rooms have.
const (
	partOfGroup, leastOfGroup     = 8, 2
	partOfSite, leastOfSite       = 4, 4
	partOfNetwork, leastOfNetwork = 2, 16
)

// Enter takes a place for a connection. leave gives it back, once.
func (r *Room) Enter(from net.Addr) (leave func(), err error) {
	at := address(from)
	group, site, network := addrgroup.Of(at), addrgroup.Site(at), addrgroup.Network(at)
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sources[group]
	if s == nil {
		r.forget()
		s = &source{fresh: rate.NewLimiter(rate.Limit(r.o.PerSecond), r.o.Burst)}
		r.sources[group] = s
	}
	free := r.o.Most - r.taken
	fair := 2*r.taken <= r.o.Most || (s.taken < max(leastOfGroup, free/partOfGroup) &&
		r.larger[site] < max(leastOfSite, free/partOfSite) && r.larger[network] < max(leastOfNetwork, free/partOfNetwork))
	if free <= 0 || !fair || s.taken >= r.o.MostOfOne || !s.fresh.AllowN(r.now(), 1) {
		r.refused++
		return nil, ErrFull
	}
	hold := func(n int) {
		r.taken += n
		s.taken += n
		for _, p := range []netip.Prefix{site, network} {
			if r.larger[p] += n; r.larger[p] == 0 {
				delete(r.larger, p)
			}
		}
	}
	hold(1)
	return sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		hold(-1)
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

// address is where a connection comes from. This machine's own processes are one site too.
func address(a net.Addr) netip.Addr {
	if a == nil {
		return netip.Addr{}
	}
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr()
}

// Places bounds what is done for one lease at once, and what of it for one group of addresses.
type Places struct {
	most int

	mu    sync.Mutex
	taken int
	of    map[netip.Prefix]int
}

// NewPlaces are so many.
func NewPlaces(most int) *Places { return &Places{most: most, of: map[netip.Prefix]int{}} }

// partOfOne is which part of the places one group of addresses gets.
const partOfOne = 4

// Take takes a place for who comes from an address, which free gives back. Error: ErrFull.
func (p *Places) Take(from net.Addr) (free func(), err error) {
	group := addrgroup.Of(address(from))
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken >= p.most || p.of[group] >= max(1, p.most/partOfOne) {
		return nil, ErrFull
	}
	p.taken++
	p.of[group]++
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.taken--
		if p.of[group]--; p.of[group] == 0 {
			delete(p.of, group)
		}
	}), nil
}

// Taken counts the places that are taken.
func (p *Places) Taken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken
}

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
