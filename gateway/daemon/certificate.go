package daemon

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/gateway/grants"
	"github.com/gantry-market/gantry/gateway/issue"
)

// certificates for TLS that ends at the gateway: from files, or by ACME.
type certificates interface {
	Get(hello *tls.ClientHelloInfo) (*tls.Certificate, error)
	Wrong() []string
}

// openCertificates reads the certificate's files, or what ACME has issued before.
func (g *Gateway) openCertificates() (err error) {
	a := g.c.ACME
	if a.Directory == "" {
		g.cert, err = newCertificate(&g.c)
		return err
	}
	client := &http.Client{Timeout: acmeTime}
	if a.CA != "" {
		raw, err := os.ReadFile(a.CA)
		if err != nil {
			return fmt.Errorf("the ACME server's CA: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(raw) {
			return fmt.Errorf("%w: --acme-ca %s has no certificate in PEM", ErrConfig, a.CA)
		}
		client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, Proxy: http.ProxyFromEnvironment}
	}
	g.issuer, err = issue.New(issue.Options{
		Directory: a.Directory, HTTP: client, Email: a.Email, Dir: filepath.Join(g.c.Data, "certificates"), Names: g.endedHere,
		PerWeek: a.PerWeek, PerCustomer: a.PerCustomer, Log: g.c.Log,
	})
	g.cert = g.issuer
	return err
}

// acmeTime is how long one request to the ACME server may take.
const acmeTime = 30 * time.Second

// endedHere are the granted names whose TLS ends at the gateway, those of the oldest grants first.
func (g *Gateway) endedHere() (out []issue.Name) {
	all := g.table.All()
	slices.SortFunc(all, func(a, b *grants.Entry) int { return cmp.Compare(a.Signed.Grant.IssuedAt, b.Signed.Grant.IssuedAt) })
	for _, e := range all {
		for i, label := range e.Names() {
			if !e.Signed.Grant.Ports[i].TLS {
				out = append(out, issue.Name{Host: label + "." + g.c.Domain, Customer: e.Customer})
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
func (f *certificate) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.looked) >= certificateEvery {
		f.looked = time.Now()
		if err := f.read(); err != nil {
			f.log.Warn().Err(err).Msg("the certificate's files cannot be read; the earlier one stays")
		}
	}
	return f.current, nil
}

// Wrong says what only a person can repair.
func (f *certificate) Wrong() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); now.After(f.current.Leaf.NotAfter) {
		return []string{"the certificate has expired"}
	}
	return nil
}
