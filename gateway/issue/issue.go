// Package issue gets certificates by ACME for the names of leases whose TLS ends at a gateway. Only names that a customer
// has granted are asked for, and what visitors do asks for nothing: strangers cannot use up the issuer's limits. The
// issuer checks a name by TLS-ALPN-01, at the port at which visitors come.
package issue

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"golang.org/x/crypto/acme"

	"github.com/gantry-market/gantry/internal/options"
)

// Protocol is what an issuer offers instead of HTTP when it checks a name.
const Protocol = acme.ALPNProto

// ErrNone: there is no certificate for a name.
var ErrNone = errors.New("there is no certificate for this name")

// Name is a host name that shall have a certificate, and the customer for whom.
type Name struct {
	Host     string
	Customer solana.PublicKey
}

// Options of an Issuer. All but Email and Log are required.
type Options struct {
	// Directory is the URL of the ACME server's directory; HTTP reaches it.
	Directory string
	HTTP      *http.Client
	// Email that the ACME server may write to.
	Email string
	// Dir is the folder of the account's key, the certificates and the list of what was asked for.
	Dir string
	// Names that shall have certificates now.
	Names func() []Name
	// PerWeek bounds the new names in a week, PerCustomer those for one customer.
	PerWeek, PerCustomer int
	Log                  zerolog.Logger
}

// Issuer is safe for concurrent use.
type Issuer struct {
	o       Options
	client  *acme.Client
	now     func() time.Time
	account bool // the server knows the account's key; used by Run alone

	mu      sync.Mutex
	certs   map[string]*tls.Certificate
	checks  map[string]*tls.Certificate // what the server wants to see, by name
	asked   []request
	wanted  map[string]bool
	refused map[string]bool // names beyond a bound, of which the log has spoken
	failed  error           // of the latest request
	changed chan struct{}   // closed when certs change
}

const (
	lookEvery = time.Second
	// orderTime is how long a certificate may take.
	orderTime = 2 * time.Minute
	// waitTime is how long a visitor of a new name waits for its certificate.
	waitTime = 8 * time.Second
)

// New reads what was issued before. Errors: options.ErrMissing, those of the folder.
func New(o Options) (*Issuer, error) {
	if err := options.Complete("issuer", o, "Email", "Log"); err != nil {
		return nil, err
	}
	i := &Issuer{
		o: o, now: time.Now, certs: map[string]*tls.Certificate{}, checks: map[string]*tls.Certificate{}, wanted: map[string]bool{}, refused: map[string]bool{},
		changed: make(chan struct{}),
	}
	if err := i.load(); err != nil {
		return nil, err
	}
	key, err := i.accountKey()
	if err != nil {
		return nil, err
	}
	i.client = &acme.Client{Key: key, DirectoryURL: o.Directory, HTTPClient: o.HTTP, UserAgent: "gantry-gateway"}
	return i, nil
}

// Get is tls.Config.GetCertificate. Error: ErrNone.
func (i *Issuer) Get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	host := strings.ToLower(strings.TrimSuffix(hello.ServerName, "."))
	if slices.Equal(hello.SupportedProtos, []string{Protocol}) {
		i.mu.Lock()
		defer i.mu.Unlock()
		if c := i.checks[host]; c != nil {
			return c, nil
		}
		return nil, ErrNone
	}
	late := time.NewTimer(waitTime)
	defer late.Stop()
	for {
		i.mu.Lock()
		c, wanted, changed := i.certs[host], i.wanted[host], i.changed
		i.mu.Unlock()
		switch {
		case c != nil:
			return c, nil
		case !wanted:
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

// Wrong says what only a person can repair.
func (i *Issuer) Wrong() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.failed != nil {
		return []string{"the latest certificate that was asked for was not issued: " + i.failed.Error()}
	}
	return nil
}

// Run asks for what is missing, one certificate at a time, until ctx ends.
func (i *Issuer) Run(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		for ctx.Err() == nil {
			name, due := i.next()
			if !due {
				break
			}
			if err := i.obtain(ctx, name); err != nil && ctx.Err() == nil {
				i.o.Log.Warn().Err(err).Str("name", name.Host).Msg("no certificate is issued; the gateway tries again later")
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// next is the name to ask for now, if there is one. It is asked for before the next one is looked for: each counts.
func (i *Issuer) next() (out Name, due bool) {
	names, now := i.o.Names(), i.now()
	i.mu.Lock()
	defer i.mu.Unlock()
	refused := i.refused
	i.wanted, i.refused = map[string]bool{}, map[string]bool{}
	i.expire(now)
	for _, n := range names {
		c := i.certs[n.Host]
		if c != nil && now.Before(renewal(c.Leaf)) {
			continue
		}
		if c == nil && !i.room(n) {
			i.refused[n.Host] = true
			if !refused[n.Host] {
				i.o.Log.Warn().Str("name", n.Host).Str("customer", n.Customer.String()).
					Msg("no certificate is asked for: too many new names had one in the last seven days, in total or for this customer")
			}
			continue
		}
		i.wanted[n.Host] = true
		if !due && i.due(n.Host, now) {
			out, due = n, true
		}
	}
	return out, due
}

// renewal is when a certificate is asked for anew: when a third of its time is left.
func renewal(leaf *x509.Certificate) time.Time {
	return leaf.NotAfter.Add(-leaf.NotAfter.Sub(leaf.NotBefore) / 3)
}

// obtain asks for a certificate and keeps it. That it asks is written down before.
func (i *Issuer) obtain(ctx context.Context, n Name) error {
	if err := i.note(request{Host: n.Host, Customer: n.Customer, At: i.now().Unix()}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, orderTime)
	defer cancel()
	key, der, err := i.order(ctx, n.Host)
	var c *tls.Certificate
	if err == nil {
		c, err = i.save(n.Host, key, der)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.failed = err; err != nil {
		return err
	}
	i.certs[n.Host] = c
	close(i.changed)
	i.changed = make(chan struct{})
	i.o.Log.Info().Str("name", n.Host).Time("until", c.Leaf.NotAfter).Msg("certificate issued")
	return nil
}

// order goes the way of RFC 8555: account, order, check of the name, certificate.
func (i *Issuer) order(ctx context.Context, host string) (crypto.Signer, [][]byte, error) {
	if !i.account {
		account := &acme.Account{}
		if i.o.Email != "" {
			account.Contact = []string{"mailto:" + i.o.Email}
		}
		if _, err := i.client.Register(ctx, account, acme.AcceptTOS); err != nil && !errors.Is(err, acme.ErrAccountAlreadyExists) {
			return nil, nil, fmt.Errorf("account at %s: %w", i.o.Directory, err)
		}
		i.account = true
	}
	order, err := i.client.AuthorizeOrder(ctx, acme.DomainIDs(host))
	if err != nil {
		return nil, nil, fmt.Errorf("order: %w", err)
	}
	for _, at := range order.AuthzURLs {
		if err := i.prove(ctx, host, at); err != nil {
			return nil, nil, err
		}
	}
	if order, err = i.client.WaitOrder(ctx, order.URI); err != nil {
		return nil, nil, fmt.Errorf("order: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	csr, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{DNSNames: []string{host}}, key)
	if err != nil {
		return nil, nil, err
	}
	der, _, err := i.client.CreateCertFromOrder(ctx, order, csr, true)
	if err != nil {
		return nil, nil, fmt.Errorf("certificate: %w", err)
	}
	return key, der, nil
}

// prove lets the server see that the name leads here.
func (i *Issuer) prove(ctx context.Context, host, at string) error {
	a, err := i.client.GetAuthorization(ctx, at)
	if err != nil {
		return fmt.Errorf("authorization: %w", err)
	}
	if a.Status == acme.StatusValid {
		return nil
	}
	n := slices.IndexFunc(a.Challenges, func(c *acme.Challenge) bool { return c.Type == "tls-alpn-01" })
	if n < 0 {
		return errors.New("the ACME server does not offer to check names by TLS-ALPN-01")
	}
	check, err := i.client.TLSALPN01ChallengeCert(a.Challenges[n].Token, host)
	if err != nil {
		return fmt.Errorf("challenge: %w", err)
	}
	i.mu.Lock()
	i.checks[host] = &check
	i.mu.Unlock()
	defer func() {
		i.mu.Lock()
		delete(i.checks, host)
		i.mu.Unlock()
	}()
	if _, err := i.client.Accept(ctx, a.Challenges[n]); err != nil {
		return fmt.Errorf("challenge: %w", err)
	}
	if _, err := i.client.WaitAuthorization(ctx, at); err != nil {
		return fmt.Errorf("the ACME server does not reach this gateway by the name: %w", err)
	}
	return nil
}
