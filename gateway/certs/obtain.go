package certs

import (
	"context"
	"errors"
	"time"

	"github.com/caddyserver/certmagic"
)

// cleanEvery is how often expired certificates are removed from the folder.
const cleanEvery = 24 * time.Hour

// look serves what the folder has, and gets one certificate that is missing: names may have changed meanwhile.
func (m *Manager) look(ctx context.Context) {
	names, now := m.wanted(), m.now()
	m.mu.Lock()
	m.names = make(map[string]Name, len(names))
	for _, n := range names {
		m.names[n.Host] = n
	}
	if m.names[m.failing].Host == "" { // nobody asks again, so that nothing else would end it
		m.failed, m.failing = nil, ""
	}
	if !m.looked {
		m.looked = true
		m.wake()
	}
	m.mu.Unlock()
	m.forget(ctx, now)
	refused := map[string]bool{}
	var next *Name
	for _, n := range names {
		if m.current(n.Host) != nil || m.load(ctx, n.Host) {
			continue
		}
		switch err := m.asked.may(n, m.bounded(), now); {
		case err == nil && next == nil:
			next = &n
		case errors.Is(err, ErrFull):
			refused[n.Host] = true
			if !m.refused[n.Host] {
				m.o.Log.Warn().Str("name", n.Host).Str("customer", n.Customer.String()).Msg("no certificate is asked for: " + err.Error())
			}
		}
	}
	m.mu.Lock()
	m.refused = refused
	m.mu.Unlock()
	if m.due {
		m.due = false
		if err := m.cache.RenewManagedCertificates(ctx); err != nil {
			m.o.Log.Warn().Err(err).Msg("a certificate is not renewed; the gateway tries again later")
		}
	}
	if next != nil {
		m.obtain(ctx, *next)
	}
}

// bounded reports whether new names count: those of customers do, and the one of the whole domain does not.
func (m *Manager) bounded() bool { return m.o.DNS == nil }

// wanted are the names that shall have certificates.
func (m *Manager) wanted() []Name {
	if m.o.DNS != nil {
		return []Name{{Host: m.wildcard()}}
	}
	return m.o.Names()
}

// load serves the certificate of a name that is in the folder. It reports whether there is one.
func (m *Manager) load(ctx context.Context, host string) bool {
	if !m.files.Exists(ctx, certmagic.StorageKeys.SiteCert(m.issuer.IssuerKey(), host)) {
		return false
	}
	c, err := m.magic.CacheManagedCertificate(ctx, host)
	if err != nil {
		m.o.Log.Warn().Err(err).Str("name", host).Msg("a stored certificate cannot be read; the gateway asks for another")
		if err := m.files.Delete(ctx, certmagic.StorageKeys.CertsSitePrefix(m.issuer.IssuerKey(), host)); err != nil {
			m.o.Log.Warn().Err(err).Str("name", host).Msg("a stored certificate that cannot be read cannot be removed")
		}
		return false
	}
	m.serves(host)
	m.due = m.due || c.NeedsRenewal(m.magic)
	return true
}

// forget serves an expired certificate no longer if no grant has its name. It removes expired ones from the folder once a
// day.
func (m *Manager) forget(ctx context.Context, now time.Time) {
	for host := range m.served {
		if c := m.current(host); m.names[host].Host == "" && (c == nil || now.After(c.Leaf.NotAfter)) {
			m.cache.RemoveManaged([]certmagic.SubjectIssuer{{Subject: host}})
			delete(m.served, host)
		}
	}
	if now.Sub(m.cleaned) < cleanEvery {
		return
	}
	m.cleaned = now
	if err := certmagic.CleanStorage(ctx, m.files, certmagic.CleanStorageOptions{Logger: m.magic.Logger, OCSPStaples: true, ExpiredCerts: true}); err != nil {
		m.o.Log.Warn().Err(err).Msg("certificates that have expired cannot be removed")
	}
}

// once is the key of the function that ends a request: certmagic would repeat one that fails, with less pause.
type once struct{}

// obtain asks the CA for a certificate, one time, and serves it.
func (m *Manager) obtain(ctx context.Context, n Name) {
	limit, cancel := context.WithTimeout(ctx, m.issuer.CertObtainTimeout)
	defer cancel()
	err := m.magic.ObtainCertAsync(context.WithValue(limit, once{}, cancel), n.Host)
	if err == nil {
		var c certmagic.Certificate
		if c, err = m.magic.CacheManagedCertificate(ctx, n.Host); err == nil {
			m.serves(n.Host)
			m.o.Log.Info().Str("name", n.Host).Time("until", c.Leaf.NotAfter).Msg("certificate issued")
		}
	}
	if err != nil && !errors.Is(err, context.Canceled) { // one that the CA has refused is in the log already
		m.fails(n.Host, err)
	}
}

// serves notes that the certificate of a name is there.
func (m *Manager) serves(host string) {
	m.served[host] = true
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wake()
}

// wake lets visitors who wait look again. The caller holds the lock.
func (m *Manager) wake() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// fails keeps an error of a request for a person, nil for one that has succeeded.
func (m *Manager) fails(host string, err error) {
	m.mu.Lock()
	m.failed, m.failing = err, host
	m.mu.Unlock()
	if err != nil {
		m.o.Log.Warn().Err(err).Str("name", host).Msg("no certificate is issued; the gateway tries again later")
	}
}

// event is what certmagic tells. Before it asks a CA, for a new certificate or to renew one, it asks here.
func (m *Manager) event(ctx context.Context, what string, about map[string]any) error {
	host, _ := about["identifier"].(string)
	switch what {
	case "cert_obtaining":
		if err := m.allow(host); err != nil {
			return certmagic.ErrNoRetry{Err: err}
		}
	case "cert_failed":
		if err, ok := about["error"].(error); ok && !errors.Is(err, context.Canceled) {
			m.fails(host, err)
		}
		if stop, ok := ctx.Value(once{}).(context.CancelFunc); ok {
			stop()
		}
	case "cert_obtained":
		m.fails(host, nil)
		if renewed, _ := about["renewal"].(bool); renewed {
			m.o.Log.Info().Str("name", host).Msg("certificate renewed")
		}
	}
	return nil
}

// allow is what stands before the CA. It writes down what is asked for. Errors: ErrNotGranted, ErrFull, ErrEarly.
func (m *Manager) allow(host string) error {
	m.mu.Lock()
	n, wanted := m.names[host]
	m.mu.Unlock()
	if !wanted {
		return ErrNotGranted
	}
	return m.asked.take(n, m.bounded() && m.current(host) == nil, m.now())
}
