// Package link reaches the containers of granted leases over the market's network: a session for each lease that carries
// its connections, and a stream for each connection of SSH. The node at the other end checks the grant each time.
package link

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/gateway/grants"
	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/tunnel"
)

// UnreachableError says, for people, why a container is not reached.
type UnreachableError struct {
	Why string
	err error
}

func (e *UnreachableError) Error() string { return e.Why }
func (e *UnreachableError) Unwrap() error { return e.err }

// Options of Links; all but Log are required.
type Options struct {
	Net *p2p.Node
	// Keepers know the addresses of nodes.
	Keepers func() []solana.PublicKey
	// Memory bounds what all sessions buffer.
	Memory *tunnel.Memory
	Log    zerolog.Logger
}

// Links is safe for concurrent use.
type Links struct {
	o Options

	mu    sync.Mutex
	links map[*grants.Entry]*link
}

// New checks the options.
func New(o Options) (*Links, error) {
	if err := options.Complete("links", o, "Log"); err != nil {
		return nil, err
	}
	return &Links{o: o, links: map[*grants.Entry]*link{}}, nil
}

const (
	// reachTime is how long the way to a node may take.
	reachTime = 20 * time.Second
	// pause is how long a container that was not reached is not tried again: whoever asks meanwhile gets the same answer.
	pause = time.Second
	// idleTime is how long a session without connections is kept.
	idleTime  = 5 * time.Minute
	idleCheck = 30 * time.Second
	// window is how many bytes of one connection wait at most in the gateway, which has many.
	window = 1 << 20
)

var guestProtocol = p2p.Protocol{ID: messages.Guest, MaxRequest: 8 << 10, MaxResponse: 4 << 10}

// link is the session of one grant.
type link struct {
	made sync.Mutex // held while a session is made

	mu      sync.Mutex
	session *tunnel.Session
	used    time.Time
	failed  error // of the last attempt
	at      time.Time

	stop func() bool // what ends the link with its grant
}

var errMoving = &UnreachableError{Why: "this lease moves to another machine, since its own has failed; try again in a moment"}

// Dial connects with a granted port. Errors: guest's, *UnreachableError, the context's.
func (l *Links) Dial(ctx context.Context, e *grants.Entry, port uint16) (net.Conn, error) {
	if e.Moving {
		return nil, errMoving
	}
	k := l.of(e)
	for try := 0; ; try++ {
		s, err := k.get(ctx, l, e)
		if err != nil {
			return nil, err
		}
		c, err := s.Dial(ctx, port)
		if err == nil || try > 0 || !errors.Is(err, tunnel.ErrBroken) {
			return c, err
		}
		k.forget(s) // it had ended: a new one may do
	}
}

// Check makes the session of a grant, if there is none. Errors: those of Dial.
func (l *Links) Check(ctx context.Context, e *grants.Entry) error {
	_, err := l.of(e).get(ctx, l, e)
	return err
}

// SSH opens a stream to the container's SSH server. Errors: *UnreachableError, the context's.
func (l *Links) SSH(ctx context.Context, e *grants.Entry) (net.Conn, error) {
	if e.Moving {
		return nil, errMoving
	}
	return l.enter(ctx, e, true)
}

// Count returns how many sessions there are.
func (l *Links) Count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.links)
}

func (l *Links) of(e *grants.Entry) *link {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.links[e]
	if k == nil {
		k = &link{used: time.Now()}
		k.stop = context.AfterFunc(e.Lasts, func() { l.sweep(func(other *grants.Entry, _ *link) bool { return other == e }) })
		l.links[e] = k
	}
	return k
}

// enter has the node accept a stream.
func (l *Links) enter(ctx context.Context, e *grants.Entry, ssh bool) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	if err := l.o.Net.Find(ctx, e.NodeKey, l.o.Keepers()); err != nil {
		l.o.Log.Debug().Err(err).Str("lease", e.Lease().String()).Msg("node is not reached")
		return nil, &UnreachableError{"the machine of this lease is not reachable now; try again in a moment", err}
	}
	req := messages.GuestRequest{Version: messages.Version, Grant: e.Signed, SSH: ssh}
	c, answer, err := p2p.Dial[messages.GuestRequest, messages.GuestAnswer](ctx, l.o.Net, e.NodeKey, guestProtocol, req)
	switch {
	case errors.Is(err, p2p.ErrProtocol):
		return nil, &UnreachableError{"the machine of this lease takes no gateways; its provider has to update its agent", err}
	case err != nil:
		l.o.Log.Debug().Err(err).Str("lease", e.Lease().String()).Msg("node does not answer")
		return nil, &UnreachableError{"the machine of this lease does not answer now; try again in a moment", err}
	case answer.Refused != "":
		_ = c.Close()
		return nil, &UnreachableError{Why: "the machine of this lease refuses: " + printable.Text(answer.Refused)}
	}
	return c, nil
}

// get returns the session, or makes it; one caller at a time does.
func (k *link) get(ctx context.Context, l *Links, e *grants.Entry) (*tunnel.Session, error) {
	if s, err := k.current(); s != nil || err != nil {
		return s, err
	}
	k.made.Lock()
	defer k.made.Unlock()
	if s, err := k.current(); s != nil || err != nil {
		return s, err
	}
	// The attempt is for all who wait: it does not end with the one who happens to make it.
	stream, err := l.enter(context.WithoutCancel(ctx), e, false)
	var s *tunnel.Session
	if err == nil {
		s, err = tunnel.NewSession(stream, l.o.Memory, window)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.used = time.Now()
	if e.Lasts.Err() != nil { // meanwhile: nobody would end the session
		err = errors.Join(err, &UnreachableError{Why: "the grant has ended"})
	}
	if err != nil {
		if s != nil {
			_ = s.Close()
		}
		k.failed, k.at = err, time.Now()
		return nil, err
	}
	k.session = s
	return s, nil
}

// current is the session that lives, or the error of an attempt that has just failed; neither otherwise.
func (k *link) current() (*tunnel.Session, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.session != nil {
		select {
		case <-k.session.Done():
			k.session = nil
		default:
			k.used = time.Now()
			return k.session, nil
		}
	}
	if k.failed != nil && time.Since(k.at) < pause {
		return nil, k.failed
	}
	return nil, nil
}

func (k *link) forget(s *tunnel.Session) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.session == s {
		k.session = nil
	}
}

// idle reports whether a link is of no more use.
func (k *link) idle() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.session != nil && k.session.Connections() > 0 {
		k.used = time.Now()
	}
	return time.Since(k.used) > idleTime
}

func (k *link) close() {
	k.stop()
	k.mu.Lock()
	s := k.session
	k.session = nil
	k.mu.Unlock()
	if s != nil {
		_ = s.Close()
	}
}

// Run ends sessions that are idle until ctx ends; then it ends all.
func (l *Links) Run(ctx context.Context) error {
	tick := time.NewTicker(idleCheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			l.sweep(func(*grants.Entry, *link) bool { return true })
			return ctx.Err()
		case <-tick.C:
			l.sweep(func(_ *grants.Entry, k *link) bool { return k.idle() })
		}
	}
}

func (l *Links) sweep(over func(*grants.Entry, *link) bool) {
	l.mu.Lock()
	var gone []*link
	for e, k := range l.links {
		if over(e, k) {
			delete(l.links, e)
			gone = append(gone, k)
		}
	}
	l.mu.Unlock()
	for _, k := range gone {
		k.close()
	}
}
