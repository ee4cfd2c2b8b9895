package daemon

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/gateway/certs"
	"github.com/gantry-market/gantry/gateway/grants"
	"github.com/gantry-market/gantry/gateway/rfc2136"
)

// certificates for TLS that ends at the gateway: from files, or by ACME.
type certificates interface {
	Get(hello *tls.ClientHelloInfo) (*tls.Certificate, error)
	Wrong() []string
	// State is when the certificate ends that ends first, and how many are missing.
	State() (ends time.Time, missing int)
}

// openCertificates reads the certificate's files, or what ACME has issued before.
func (g *Gateway) openCertificates() (err error) {
	a := g.c.ACME
	if a.Directory == "" {
		g.cert, err = newCertificate(&g.c)
		return err
	}
	o := certs.Options{
		Domain: g.c.Domain, Directory: a.Directory, Email: a.Email, Dir: filepath.Join(g.c.Data, "certificates"), Visitors: g.tls.Addr(),
		Names: g.endedHere, PerWeek: a.PerWeek, PerCustomer: a.PerCustomer, Resolvers: a.DNSResolvers, Log: g.c.Log.With().Str("part", "certificates").Logger(),
	}
	if a.CA != "" {
		raw, err := os.ReadFile(a.CA)
		if err != nil {
			return fmt.Errorf("the ACME server's CA: %w", err)
		}
		o.Roots = x509.NewCertPool()
		if !o.Roots.AppendCertsFromPEM(raw) {
			return fmt.Errorf("%w: --acme-ca %s has no certificate in PEM", ErrConfig, a.CA)
		}
	}
	if a.DNS != "" {
		key, err := rfc2136.ReadKey(a.DNSKey)
		if err != nil {
			return fmt.Errorf("%w: --acme-dns-key: %w", ErrConfig, err)
		}
		o.DNS = rfc2136.New(a.DNS, key)
	}
	if g.issuer, err = certs.New(o); err != nil {
		return err
	}
	g.cert = g.issuer
	return nil
}

// endedHere are the granted names whose TLS ends at the gateway, those of the oldest grants first.
func (g *Gateway) endedHere() (out []certs.Name) {
	all := g.table.All()
	slices.SortFunc(all, func(a, b *grants.Entry) int { return cmp.Compare(a.Signed.Grant.IssuedAt, b.Signed.Grant.IssuedAt) })
	for _, e := range all {
		for i, label := range e.Names() {
			if !e.Signed.Grant.Ports[i].TLS {
				out = append(out, certs.Name{Host: label + "." + g.c.Domain, Customer: e.Customer})
			}
		}
	}
	return out
}

// certificate is a pair of files, read again when one of them changed: whoever renews it writes them anew.
type certificate struct {
	cert, key string
	domain    string
	log       zerolog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	written [2]time.Time
	looked  time.Time
}

// certificateEvery is how often the files are looked at.
const certificateEvery = 10 * time.Second

func newCertificate(c *Config) (*certificate, error) {
	f := &certificate{cert: c.Certificate, key: c.CertificateKey, domain: c.Domain, log: c.Log}
	return f, f.read()
}

// read reads the files. The caller holds the lock, or is alone.
func (f *certificate) read() error {
	var written [2]time.Time
	for i, path := range []string{f.cert, f.key} {
		info, err := os.Stat(path)
		if err != nil {
			return fmt.Errorf("certificate: %w", err)
		}
		written[i] = info.ModTime()
	}
	if f.current != nil && written == f.written {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return fmt.Errorf("certificate %s and key %s: %w", f.cert, f.key, err)
	}
	if err := pair.Leaf.VerifyHostname("name." + f.domain); err != nil {
		return fmt.Errorf("certificate %s is not for *.%s: %w", f.cert, f.domain, err)
	}
	f.current, f.written = &pair, written
	f.log.Info().Time("until", pair.Leaf.NotAfter).Strs("names", pair.Leaf.DNSNames).Msg("certificate read")
	return nil
}

// Get is tls.Config.GetCertificate.
func (f *certificate) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) { return f.now(), nil }

// now is the certificate of the files, at which it looks from time to time.
func (f *certificate) now() *tls.Certificate {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.looked) >= certificateEvery {
		f.looked = time.Now()
		if err := f.read(); err != nil {
			f.log.Warn().Err(err).Msg("the certificate's files cannot be read; the earlier one stays")
		}
	}
	return f.current
}

// Wrong says what only a person can repair.
func (f *certificate) Wrong() []string {
	if time.Now().After(f.now().Leaf.NotAfter) {
		return []string{"the certificate has expired"}
	}
	return nil
}

// State implements certificates.
func (f *certificate) State() (ends time.Time, missing int) {
	return f.now().Leaf.NotAfter, 0
}
