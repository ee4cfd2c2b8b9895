package p2p

import (
	"sync"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"github.com/gantry-market/gantry/internal/addrgroup"
)

// entrance is a resource manager that shares half-open connections out by where they come from. Nobody has proved a key there, so
// that those who are known need these places as strangers do.
type entrance struct {
	network.ResourceManager

	mu       sync.Mutex
	halfOpen places
}

// groupShare is which part of the half-open connections may come from one address group.
const groupShare = 8

func newEntrance(rm network.ResourceManager, halfOpen int) *entrance {
	return &entrance{ResourceManager: rm, halfOpen: newPlaces(halfOpen, halfOpen/groupShare)}
}

// OpenConnection implements network.ResourceManager. Connections through relays are bounded by the relay.
func (e *entrance) OpenConnection(dir network.Direction, usefd bool, at ma.Multiaddr) (network.ConnManagementScope, error) {
	at = plainAddr(at)
	if ip := ipOf(at); dir == network.DirOutbound || isCircuit(at) || !ip.IsValid() || ip.IsLoopback() {
		return e.ResourceManager.OpenConnection(dir, usefd, at)
	}
	from := originOf("", at)
	if !e.take(from) {
		return nil, network.ErrResourceLimitExceeded
	}
	leave := sync.OnceFunc(func() { e.free(from) })
	s, err := e.ResourceManager.OpenConnection(dir, usefd, at)
	if err != nil {
		leave()
		return nil, err
	}
	return &entering{s, leave}, nil
}

func (e *entrance) take(from origin) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.halfOpen.take(from)
}

func (e *entrance) free(from origin) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.halfOpen.free(from)
}

// entering is a connection that is half-open until its peer is known.
type entering struct {
	network.ConnManagementScope

	leave func()
}

// SetPeer implements network.ConnManagementScope.
func (s *entering) SetPeer(id peer.ID) error {
	s.leave()
	return s.ConnManagementScope.SetPeer(id)
}

// Done implements network.ConnManagementScope.
func (s *entering) Done() {
	s.leave()
	s.ConnManagementScope.Done()
}

// plainAddr writes an IPv6 address that stands for one of IPv4 as that, so that libp2p counts it so.
func plainAddr(at ma.Multiaddr) ma.Multiaddr {
	ip := ipOf(at)
	plain := addrgroup.Plain(ip)
	if !ip.IsValid() || plain == ip || len(at) == 0 || at[0].Code() != ma.P_IP6 {
		return at
	}
	first, err := manet.FromIP(plain.AsSlice())
	if err != nil {
		return at
	}
	return ma.Join(first, at[1:])
}
