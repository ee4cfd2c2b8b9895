package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

const (
	// stallTime is how long a registry may send nothing at all.
	stallTime = time.Minute
	// maxDocument is the largest manifest, configuration or message of a registry.
	maxDocument = 4 << 20
)

// ErrAddress: a registry is at an address that the node does not visit.
var ErrAddress = errors.New("image: the registry's address is not public")

// Credential opens one repository for one pull. The zero value opens what is there for everyone.
type Credential struct {
	// Token is a bearer token, for registries that give out such; otherwise User and Password.
	Token    string `json:"token,omitempty"`
	User     string `json:"user,omitempty"`
	Password string `json:"password,omitempty"`
}

// String keeps credentials out of logs.
func (c Credential) String() string { return "(credential)" }

func (c Credential) authenticator() authn.Authenticator {
	if c == (Credential{}) {
		return authn.Anonymous
	}
	return authn.FromConfig(authn.AuthConfig{Username: c.User, Password: c.Password, RegistryToken: c.Token})
}

// Metadata services answer with secrets of the machine. Registries are nowhere near them, not even in private networks.
var neverVisited = prefixes("0.0.0.0/8", "169.254.0.0/16", "100.100.100.200/32", "192.0.0.192/32", "fd00:ec2::/32", "fe80::/10", "::/128",
	"224.0.0.0/4", "240.0.0.0/4", "ff00::/8")

// notPublic are the addresses that IANA keeps for special purposes and that a machine's own network may use; addresses
// that contain one of IPv4 are among them, because a gateway may lead them there.
var notPublic = prefixes("10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24",
	"192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "::1/128", "::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64",
	"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fc00::/7", "fec0::/10")

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}

// visits says why the node does not open a connection, or nothing. It is asked with the address that was looked up, so
// that a name which changes its address, and a registry which redirects, change nothing.
func (s *Store) visits(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %s", ErrAddress, address)
	}
	ip := at.Addr().Unmap().WithZone("")
	in := func(list []netip.Prefix) bool {
		for _, p := range list {
			if p.Contains(ip) {
				return true
			}
		}
		return false
	}
	if in(neverVisited) || (!s.o.LocalRegistries && (in(notPublic) || ownAddress(ip))) {
		return fmt.Errorf("%w: %s", ErrAddress, ip)
	}
	return nil
}

// ownAddress reports whether an address is one of this machine, where services may trust whoever comes from it.
func ownAddress(ip netip.Addr) bool {
	own, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	for _, a := range own {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Unmap().WithZone("") == ip {
			return true
		}
	}
	return false
}

// visitor talks to registries for one pull.
type visitor struct {
	next *http.Transport
	max  atomic.Int64 // the most bytes of an answer
}

func (s *Store) visitor() *visitor {
	d := net.Dialer{Timeout: 30 * time.Second, Control: func(_, address string, _ syscall.RawConn) error { return s.visits(address) }}
	v := &visitor{next: &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := d.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &stalling{Conn: c, after: s.stall()}, nil
		},
		TLSHandshakeTimeout: 30 * time.Second, MaxResponseHeaderBytes: 1 << 20, MaxIdleConnsPerHost: 2,
	}}
	v.max.Store(maxDocument)
	return v
}

func (s *Store) stall() time.Duration {
	if s.o.stall > 0 {
		return s.o.stall
	}
	return stallTime
}

// RoundTrip limits what an answer may hold.
func (v *visitor) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := v.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer.Body = &limited{ReadCloser: answer.Body, left: v.max.Load()}
	return answer, nil
}

func (v *visitor) options(ctx context.Context, c Credential) []remote.Option {
	return []remote.Option{remote.WithContext(ctx), remote.WithTransport(v), remote.WithAuth(c.authenticator())}
}

// limited is an answer that fails when it is longer than it may be.
type limited struct {
	io.ReadCloser
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, fmt.Errorf("%w: the registry sends more than it may", ErrTooLarge)
	}
	return n, err
}

// stalling is a connection that fails when the other side does nothing for too long.
type stalling struct {
	net.Conn
	after time.Duration
}

func (c *stalling) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.after)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c *stalling) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.after)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
