package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/gantry-market/gantry/agent/network"
	"github.com/gantry-market/gantry/internal/addrgroup"
	"github.com/gantry-market/gantry/internal/ociregistry"
	"github.com/gantry-market/gantry/sdk/jobspec"
)

const (
	// stallTime is how long a registry may send nothing at all.
	stallTime = time.Minute
	// maxDocument is the largest manifest, configuration or message of a registry.
	maxDocument = jobspec.MaxConfigBytes
	// patience is how long a request waits for a registry that is asked too often. A lease's start deadline ends a pull earlier.
	patience = 10 * time.Minute
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

// neverVisited are the addresses of no registry, not even of one in a private network; some are those of metadata
// services, which answer with secrets of the machine. 64:ff9b:1::/48 is for translators of a network's own (RFC 8215), and
// which bits of such an address are the one of IPv4 is known to that network alone.
var neverVisited = prefixes("0.0.0.0/8", "169.254.0.0/16", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32", "fd00:ec2::/32",
	"fe80::/10", "::/128", "224.0.0.0/4", "240.0.0.0/4", "ff00::/8", "64:ff9b:1::/48")

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}

// Dialer opens connections for customers: to public addresses, and with local also to those of this machine and of private
// networks. Metadata services are out of its reach in any case.
func Dialer(local bool) *net.Dialer {
	return &net.Dialer{Timeout: 30 * time.Second, Control: func(_, address string, _ syscall.RawConn) error { return visits(address, local) }}
}

// visits says why the node does not open a connection, or nothing. It is asked with the address that was looked up, so
// that a name which changes its address, and a registry which redirects, change nothing.
func visits(address string, local bool) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %q is not an address", ErrAddress, address)
	}
	ip := at.Addr().Unmap().WithZone("")
	never := slices.ContainsFunc(neverVisited, func(p netip.Prefix) bool { return p.Contains(ip) || p.Contains(addrgroup.Plain(ip)) })
	if never || (!local && (!network.Public(ip) || ownAddress(ip))) {
		return fmt.Errorf("%w: %s; push the image to a registry on the internet", ErrAddress, ip)
	}
	return nil
}

// ownAddress reports whether an address is one of this machine, where services may trust connections from it.
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
	next    *http.Transport
	local   bool         // registries of private networks are visited too
	max     atomic.Int64 // the most bytes of a blob
	patient atomic.Bool  // it waits for a registry that asks for it
}

func (s *Store) visitor() *visitor {
	d := Dialer(s.o.LocalRegistries)
	v := &visitor{local: s.o.LocalRegistries, next: &http.Transport{
		DialContext: func(ctx context.Context, transport, address string) (net.Conn, error) {
			c, err := d.DialContext(ctx, transport, address)
			if err != nil {
				return nil, err
			}
			return &stalling{Conn: c, after: s.stall()}, nil
		},
		TLSHandshakeTimeout: 30 * time.Second, MaxResponseHeaderBytes: 1 << 20, MaxIdleConnsPerHost: 2,
	}}
	v.max.Store(maxDocument)
	v.patient.Store(true)
	return v
}

func (s *Store) stall() time.Duration {
	if s.o.stall > 0 {
		return s.o.stall
	}
	return stallTime
}

// RoundTrip waits where the registry asks for it, and limits what an answer may hold.
func (v *visitor) RoundTrip(r *http.Request) (*http.Response, error) {
	wait := patience
	if !v.patient.Load() {
		wait = 0
	}
	answer, err := ociregistry.Patient{Next: v.next, Most: wait}.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if err := sends(answer, v.local); err != nil {
		_ = answer.Body.Close()
		return nil, err
	}
	most := int64(maxDocument)
	if answer.StatusCode < http.StatusBadRequest && ofBlob(r) {
		most = v.max.Load()
	}
	answer.Body = &limited{ReadCloser: answer.Body, left: most}
	return answer, nil
}

// ofBlob reports whether a request is for a blob, or where the registry sends its visitor for one. What else an answer has, such as a
// message or a token, is read into memory. A request for a token says what it is for after a question mark, whatever its address.
func ofBlob(r *http.Request) bool {
	for r.Response != nil && r.Response.Request != nil {
		r = r.Response.Request
	}
	return r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/v2/") && strings.Contains(r.URL.Path, "/blobs/") && r.URL.RawQuery == ""
}

// realm is where a registry sends its visitors for a token.
var realm = regexp.MustCompile(`(?i)\brealm="([^"]*)"`)

// sends says why the node does not go to the address that an answer names; the Dialer judges the addresses of names.
// The client of registries refuses some such addresses too, with an error that does not help a customer.
func sends(answer *http.Response, local bool) error {
	to := []string{answer.Header.Get("Location")}
	for _, challenge := range answer.Header.Values("WWW-Authenticate") {
		for _, m := range realm.FindAllStringSubmatch(challenge, -1) {
			to = append(to, m[1])
		}
	}
	for _, text := range to {
		u, err := url.Parse(text)
		if err != nil {
			continue // the client says so
		}
		if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
			if err := visits(netip.AddrPortFrom(ip, 0).String(), local); err != nil {
				return err
			}
		}
	}
	return nil
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
