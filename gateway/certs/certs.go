// Package certs gets certificates by ACME (certmagic) for the names of leases whose TLS ends at a gateway: one for each
// name that a customer has granted, or one for all names of the gateway's domain. What visitors do asks for nothing:
// strangers cannot use up the CA's limits. A CA checks a single name by TLS-ALPN-01, at the port at which visitors come,
// and the whole domain by DNS-01.
package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/caddyserver/certmagic"
	"github.com/gagliardetto/solana-go"
	"github.com/mholt/acmez/v3"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/internal/options"
)

// Directories of a CA that many use.
const (
	LetsEncrypt        = certmagic.LetsEncryptProductionCA
	LetsEncryptStaging = certmagic.LetsEncryptStagingCA
)

// ErrNone: there is no certificate for a name.
var ErrNone = errors.New("there is no certificate for this name")

// Name is a host name that shall have a certificate, and the customer for whom.
type Name struct {
	Host     string
	Customer solana.PublicKey
}

// Options of a Manager.
type Options struct {
	// Domain below which all names are.
	Domain string
	// Directory is the URL of the ACME server's directory; Roots are what its own certificate is checked against, nil for
	// the system's.
	Directory string
	Roots     *x509.CertPool
	// Email that the ACME server may write to; may be empty.
	Email string
	// Dir is the folder of the account's key, the certificates and the list of what was asked for.
	Dir string
	// Visitors is where visitors come in.
	Visitors net.Addr
	// DNS writes records of the domain; nil for a certificate for each name. Resolvers are asked for the domain's zone and
	// its records; empty for the system's and the zone's own servers.
	DNS       certmagic.DNSProvider
	Resolvers []string
	// Names that shall have certificates now.
	Names func() []Name
	// PerWeek bounds the new names in a week, PerCustomer those for one customer.
	PerWeek, PerCustomer int
	Log                  zerolog.Logger
}

// Manager is safe for concurrent use.
type Manager struct {
	o      Options
	files  *certmagic.FileStorage
	cache  *certmagic.Cache
	magic  *certmagic.Config
	issuer *certmagic.ACMEIssuer
	asked  *asked
	now    func() time.Time
	// Used by Run alone: the names that are served, whether one of those that were read has to be renewed, and when the folder
	// was cleaned.
	served  map[string]bool
	due     bool
	cleaned time.Time

	mu      sync.Mutex
	looked  bool            // the names are known
	names   map[string]Name // that shall have certificates
	refused map[string]bool // of them, those beyond a bound, of which the log has spoken
	failed  error           // of the latest request, while its name is wanted
	failing string          // its name
	changed chan struct{}   // closed when there is another certificate
}

const (
	lookEvery = time.Second
	// orderTime is how long a certificate may take; with DNS, records have to reach all servers of the zone.
	orderTime, orderTimeDNS = 2 * time.Minute, 5 * time.Minute
	// waitTime is how long a visitor of a new name waits for its certificate.
	waitTime = 8 * time.Second
	// longestName is the length of the longest host name.
	longestName = 253
)

// New reads what was asked for before. The caller calls Close. Errors: options.ErrMissing, those of the folder.
func New(o Options) (*Manager, error) {
	if err := options.Complete("certificates", o, "Email", "Roots", "DNS", "Resolvers", "Log"); err != nil {
		return nil, err
	}
	at, ok := o.Visitors.(*net.TCPAddr)
	if !ok {
		return nil, fmt.Errorf("certificates: visitors come by %s, not by TCP", o.Visitors.Network())
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of certificates: %w", err)
	}
	m := &Manager{
		o: o, files: &certmagic.FileStorage{Path: o.Dir}, now: time.Now, served: map[string]bool{}, names: map[string]Name{}, refused: map[string]bool{}, changed: make(chan struct{}),
	}
	var err error
	if m.asked, err = openAsked(filepath.Join(o.Dir, "asked.json"), o.PerWeek, o.PerCustomer); err != nil {
		return nil, err
	}
	log := zapOf(o.Log)
	m.cache = certmagic.NewCache(certmagic.CacheOptions{
		GetConfigForCert: func(certmagic.Certificate) (*certmagic.Config, error) { return m.magic, nil }, Logger: log,
	})
	m.magic = certmagic.New(m.cache, certmagic.Config{Storage: m.files, OnEvent: m.event, Logger: log})
	issuer := certmagic.ACMEIssuer{
		CA: o.Directory, Email: o.Email, Agreed: true, TrustedRoots: o.Roots, CertObtainTimeout: orderTime, Logger: log,
		// A name is checked at the port at which visitors come, which is taken already: certmagic opens none.
		DisableHTTPChallenge: true, DisableDistributedSolvers: true, ListenHost: hostOf(at), AltTLSALPNPort: at.Port,
	}
	if o.DNS != nil {
		issuer.CertObtainTimeout = orderTimeDNS
		issuer.DNS01Solver = &certmagic.DNS01Solver{DNSManager: certmagic.DNSManager{DNSProvider: o.DNS, Resolvers: o.Resolvers, Logger: log}}
	}
	m.issuer = certmagic.NewACMEIssuer(m.magic, issuer)
	m.magic.Issuers = []certmagic.Issuer{m.issuer}
	return m, nil
}

// hostOf is the host of an address that others can be reached at by connecting to it; empty for all addresses.
func hostOf(at *net.TCPAddr) string {
	if at.IP == nil || at.IP.IsUnspecified() {
		return ""
	}
	return at.IP.String()
}

// Close ends what looks for certificates that end soon.
func (m *Manager) Close() error {
	m.cache.Stop()
	return nil
}

// wildcard is the name of the certificate for the whole domain.
func (m *Manager) wildcard() string { return "*." + m.o.Domain }

// subject is the name of the certificate for a host; empty if no certificate can be for it. Whatever visitors send as
// their host comes through here.
func (m *Manager) subject(host string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	label, ok := strings.CutSuffix(host, "."+m.o.Domain)
	if !ok || label == "" || len(host) > longestName || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return ""
	}
	if m.o.DNS != nil {
		return m.wildcard()
	}
	return host
}

// Get is tls.Config.GetCertificate. Error: ErrNone.
func (m *Manager) Get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	subject := m.subject(hello.ServerName)
	if subject == "" {
		return nil, ErrNone
	}
	if slices.Equal(hello.SupportedProtos, []string{acmez.ACMETLS1Protocol}) {
		if _, _, wanted := m.state(subject); !wanted || m.o.DNS != nil {
			return nil, ErrNone
		}
		return m.magic.GetCertificate(hello)
	}
	late := time.NewTimer(waitTime)
	defer late.Stop()
	for {
		changed, coming, _ := m.state(subject)
		c := m.current(subject)
		switch {
		case c != nil:
			return &c.Certificate, nil
		case !coming:
			return nil, ErrNone
		}
		select {
		case <-changed:
		case <-late.C:
			return nil, ErrNone
		case <-hello.Context().Done():
			return nil, hello.Context().Err()
		}
	}
}

// state of a name: whether it shall have a certificate, and whether one may come soon.
func (m *Manager) state(subject string) (changed chan struct{}, coming, wanted bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, wanted = m.names[subject]
	return m.changed, !m.looked || wanted && !m.refused[subject], wanted
}

// current is the certificate of a name that lasts longest.
func (m *Manager) current(subject string) (best *certmagic.Certificate) {
	for _, c := range m.cache.AllMatchingCertificates(subject) {
		if best == nil || c.Leaf.NotAfter.After(best.Leaf.NotAfter) {
			best = &c
		}
	}
	return best
}

// Wrong says what only a person can repair.
func (m *Manager) Wrong() (out []string) {
	m.mu.Lock()
	failed, names := m.failed, m.names
	m.mu.Unlock()
	if failed != nil {
		out = append(out, "the latest certificate that was asked for was not issued: "+failed.Error())
	}
	expired := 0
	for host := range names {
		if c := m.current(host); c != nil && m.now().After(c.Leaf.NotAfter) {
			expired++
		}
	}
	if expired > 0 {
		out = append(out, fmt.Sprintf("%d certificates have expired", expired))
	}
	return out
}

// State is when the certificate ends that ends first, of those that are needed (zero: there is none), and how many are
// missing.
func (m *Manager) State() (ends time.Time, missing int) {
	m.mu.Lock()
	names := m.names
	m.mu.Unlock()
	for host := range names {
		c := m.current(host)
		if c == nil {
			missing++
		} else if ends.IsZero() || c.Leaf.NotAfter.Before(ends) {
			ends = c.Leaf.NotAfter
		}
	}
	return ends, missing
}

// Run gets what is missing, one certificate at a time, until ctx ends.
func (m *Manager) Run(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		m.look(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
