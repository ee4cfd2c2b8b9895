package lease

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/agent/shell"
	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/messages"
)

// What the gateways of one lease may hold. The customer's own connections have places of their own, [maxShells].
const (
	maxGateways   = 4
	maxGuestLinks = 8 // streams that carry connections to ports
	maxGuestSSH   = 8
)

// clockSkew is how far a customer's clock may be ahead of the chain's.
const clockSkew = 2 * time.Minute

// guestRoom is what the gateways of a lease hold.
type guestRoom struct {
	gateways   map[solana.PublicKey]time.Time // that have shown a grant, until when it lasts
	links, ssh int
}

// Guest connects a gateway with a lease's container, as far as the lease's customer has granted it: with the container's
// SSH server, or with the granted ports. accept is called once nothing is left to refuse and returns the gateway's
// stream. Guest returns when the stream or the container has ended, or the grant has. Error: *RefusedError.
func (m *Manager) Guest(ctx context.Context, from solana.PublicKey, req messages.GuestRequest, accept func() (io.ReadWriter, error)) error {
	r, err := m.granted(ctx, from, req)
	if err != nil {
		return err
	}
	var setup shell.Setup
	if req.SSH {
		setup, err = shell.NewSetup(m.o.Identity, r.Address, r.Job.SSHKeys)
	} else {
		for _, p := range req.Grant.Grant.Ports {
			setup.Ports = append(setup.Ports, p.Port)
		}
	}
	if err != nil {
		return err
	}
	line, err := setup.Line()
	if err != nil {
		return err
	}
	free, err := m.takeGuest(r.Address, from, req)
	if err != nil {
		return err
	}
	defer free()
	stream, err := accept()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go watchGuest(ctx, cancel, func() error {
		_, err := m.granted(ctx, from, req)
		return err
	})
	m.log.Info().Str("lease", keyString(r.Address)).Str("gateway", from.String()).Bool("ssh", req.SSH).Msg("gateway connects to the container")
	return m.o.Runtime.Shell(ctx, keyString(r.Address), false, line, stream)
}

// granted returns the lease that a grant is of, if it lets this gateway in now. Anybody may ask, so that what costs
// nothing is looked at first, and nothing is waited for.
func (m *Manager) granted(ctx context.Context, from solana.PublicKey, req messages.GuestRequest) (store.Lease, error) {
	g, now := &req.Grant.Grant, m.o.Now()
	switch {
	case g.Domain != m.o.Domain:
		return store.Lease{}, refuse("the grant is for another cluster")
	case g.Gateway != from:
		return store.Lease{}, refuse("the grant is for another gateway")
	case now.UnixMilli() >= g.Expiry:
		return store.Lease{}, refuse("the grant has expired")
	case g.IssuedAt > now.Add(clockSkew).UnixMilli():
		return store.Lease{}, refuse("the grant is of the future: the clock of the computer that signed it is ahead of the chain's; enable NTP there and grant again")
	case req.SSH && len(g.SSHKeys) == 0:
		return store.Lease{}, refuse("SSH is not granted")
	case !req.SSH && len(g.Ports) == 0:
		return store.Lease{}, refuse("no port is granted")
	}
	if err := req.Grant.Verify(); err != nil {
		return store.Lease{}, refuse("the grant is not valid: %v", err)
	}
	address := g.Lease
	for _, l := range m.o.Chain.Leases() {
		if l.Order == g.Lease && l.Continues == 1 { // it is granted what was granted to the lease that failed
			address = l.Address
		}
	}
	r, err := m.o.Store.Lease(store.Key(address))
	if errors.Is(err, store.ErrNotFound) {
		account, ok := m.o.Chain.Lease(address)
		if !ok {
			return r, &RefusedError{Why: "this node has no such lease", Unknown: true}
		}
		r, err = newEntry(account), nil
	}
	switch {
	case err != nil:
		return r, err
	case !m.o.Chain.ActsFor(req.Grant.Signer, solana.PublicKey(r.Customer)):
		return r, refuse("the lease is of another customer than the one who signed the grant")
	case g.IssuedAt <= r.RevokedUntil:
		return r, refuse("the customer has taken the grant back")
	}
	return m.container(ctx, r.Address, req.SSH)
}

// Revoke makes void every grant of a lease that was issued until a time of its customer's. Error: *RefusedError.
func (m *Manager) Revoke(ctx context.Context, from solana.PublicKey, req messages.RevokeRequest) error {
	if err := m.authorise(ctx, from, req.Lease); err != nil {
		return err
	}
	if req.Until > m.o.Now().Add(clockSkew).UnixMilli() {
		return refuse("grants of the future cannot be taken back: the clock of your computer is ahead of the chain's; enable NTP there and try again")
	}
	_, err := m.o.Store.Update(req.Lease, func(l *store.Lease) error {
		l.RevokedUntil = max(l.RevokedUntil, req.Until)
		return nil
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return refuse("the lease has not started yet")
	case err != nil:
		return fmt.Errorf("store lease %s: %w", keyString(req.Lease), err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if room := m.guests[req.Lease]; room != nil {
		clear(room.gateways) // those whose grants are newer show them again
	}
	m.log.Info().Str("lease", keyString(req.Lease)).Msg("customer takes grants back")
	return nil
}

// Welcome reports whether a key is that of a gateway that has shown a grant which lasts.
func (m *Manager) Welcome(key solana.PublicKey) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.o.Now()
	for _, room := range m.guests {
		if until, ok := room.gateways[key]; ok && now.Before(until) {
			return true
		}
	}
	return false
}

// takeGuest takes a place for a gateway's stream. free gives it back.
func (m *Manager) takeGuest(lease store.Key, gateway solana.PublicKey, req messages.GuestRequest) (free func(), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	room := m.guests[lease]
	if room == nil {
		room = &guestRoom{gateways: map[solana.PublicKey]time.Time{}}
		m.guests[lease] = room
	}
	now := m.o.Now()
	maps.DeleteFunc(room.gateways, func(_ solana.PublicKey, until time.Time) bool { return !now.Before(until) })
	_, known := room.gateways[gateway]
	taken, most := &room.links, maxGuestLinks
	if req.SSH {
		taken, most = &room.ssh, maxGuestSSH
	}
	switch {
	case !known && len(room.gateways) >= maxGateways:
		return nil, refuse("%d gateways reach this container already", maxGateways)
	case *taken >= most && req.SSH:
		return nil, refuse("there are %d SSH connections through gateways already; end one of them", most)
	case *taken >= most:
		return nil, refuse("there are %d streams of gateways already", most)
	}
	room.gateways[gateway] = time.UnixMilli(req.Grant.Grant.Expiry)
	*taken++
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		*taken--
	}, nil
}
