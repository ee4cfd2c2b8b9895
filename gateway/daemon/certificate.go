package daemon

import (
	"crypto/tls"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

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

// get is tls.Config.GetCertificate.
func (f *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
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

// wrong says what only a person can repair.
func (f *certificate) wrong() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); now.After(f.current.Leaf.NotAfter) {
		return []string{"the certificate has expired"}
	}
	return nil
}
