package p2p

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"
)

// checkDialable refuses an address that is not one of TCP or QUIC, directly or through a relay: whoever names it must not choose what
// else this machine speaks, and to whom. Error: ErrAddress.
func checkDialable(m ma.Multiaddr) error {
	rest := m
	next := func(codes ...int) bool {
		if len(rest) == 0 || !slices.Contains(codes, rest[0].Code()) {
			return false
		}
		rest = rest[1:]
		return true
	}
	host := next(ma.P_IP4) || next(ma.P_DNS) || next(ma.P_DNS4) || next(ma.P_DNS6)
	if !host {
		next(ma.P_IP6ZONE)
		host = next(ma.P_IP6)
	}
	ok := host && (next(ma.P_TCP) || next(ma.P_UDP) && next(ma.P_QUIC_V1))
	next(ma.P_P2P)
	if ok && next(ma.P_CIRCUIT) {
		next(ma.P_P2P)
	}
	if !ok || len(rest) > 0 {
		return fmt.Errorf("%w: %q: peers are reached at addresses such as /ip4/203.0.113.7/tcp/4101 and /ip4/203.0.113.7/udp/4101/quic-v1", ErrAddress, m)
	}
	return nil
}

// CheckAddress reports whether peers dial an address, which may end with /p2p/ID. Error: ErrAddress.
func CheckAddress(addr string) error {
	m, err := ma.NewMultiaddr(addr)
	if err != nil {
		return fmt.Errorf("%w: %q: %w", ErrAddress, addr, err)
	}
	return checkDialable(m)
}

// resolver looks names up that are in addresses.
type resolver struct {
	a          network.MultiaddrDNSResolver
	publicOnly bool
}

// ResolveDNSAddr implements network.MultiaddrDNSResolver. One such name stands for a hundred addresses, each of which may be
// another such name. Error: ErrAddress.
func (r resolver) ResolveDNSAddr(_ context.Context, _ peer.ID, m ma.Multiaddr, _, _ int) ([]ma.Multiaddr, error) {
	return nil, fmt.Errorf("%w: %q: lists of addresses are not looked up", ErrAddress, m)
}

// ResolveDNSComponent implements network.MultiaddrDNSResolver. Errors: ErrAddress, the resolver's.
func (r resolver) ResolveDNSComponent(ctx context.Context, m ma.Multiaddr, most int) ([]ma.Multiaddr, error) {
	if r.publicOnly && (len(m) == 0 || !publicName(m[0].Value())) {
		return nil, fmt.Errorf("%w: %q: the name is not one of the public internet", ErrAddress, m)
	}
	return r.a.ResolveDNSComponent(ctx, m, most) //nolint:wrapcheck // libp2p reads it
}

// privateDomains have no names on the public internet; sites and clouds use them for services of their own (RFC 6761, RFC 6762,
// RFC 8375, ICANN's .internal, and what routers use without asking).
var privateDomains = []string{
	"localhost", "local", "internal", "arpa", "onion", "alt", "test", "invalid", "lan", "home", "corp", "mail", "intranet", "private", "localdomain",
}

// publicName reports whether a name may be one of the public internet. Names without a dot are those of this machine's own domain.
func publicName(name string) bool {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	host, top, ok := cutLast(name, ".")
	if _, err := netip.ParseAddr(name); err == nil || !ok || host == "" {
		return false
	}
	return !slices.Contains(privateDomains, top)
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
