package onramp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

const (
	// Prefix is the path below which providers deliver webhooks: the provider's name follows.
	Prefix = "/onramp/"
	// MaxBody is how large a webhook may be, bytes.
	MaxBody = 64 << 10
	// looks is how many transfers are looked up at once, and lookFor how old a notice may be for it.
	looks   = 8
	lookFor = 7 * 24 * time.Hour
	// lookEvery is how often the chain is asked.
	lookEvery = 2 * time.Second
	// maxText is the most of a provider's text that is kept, bytes.
	maxText = 128
)

// Options of an Inbox; all are required but Log.
type Options struct {
	Store     *Store
	Providers []Provider
	Customer  solana.PublicKey
	// Received says what a transfer has brought the customer, by the chain. Errors: chain.ErrNotFound.
	Received func(ctx context.Context, sig solana.Signature) (market.USDC, error)
	Now      func() time.Time
	Log      zerolog.Logger
}

// Inbox takes webhooks. It is safe for concurrent use.
type Inbox struct {
	o      Options
	byName map[string]Provider

	mu     sync.Mutex
	looked time.Time
}

// New is an inbox for the webhooks of these providers.
func New(o Options) *Inbox {
	b := &Inbox{o: o, byName: map[string]Provider{}}
	for _, p := range o.Providers {
		b.byName[p.Name()] = p
	}
	return b
}

// Providers are the names of those whose webhooks are taken.
func (b *Inbox) Providers() []string { return slices.Sorted(maps.Keys(b.byName)) }

// ServeHTTP takes a webhook. It answers with success when the notice is on the disk, or was before, so that a provider
// stops repeating then and not earlier. Nothing of a webhook is read before its signature is valid.
func (b *Inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	p := b.byName[strings.TrimPrefix(r.URL.Path, Prefix)]
	switch {
	case p == nil:
		answer(w, http.StatusNotFound, map[string]string{"error": "no such on-ramp is set up here"})
		return
	case r.Method != http.MethodPost:
		h.Set("Allow", http.MethodPost)
		answer(w, http.StatusMethodNotAllowed, map[string]string{"error": "use POST"})
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if err != nil {
		answer(w, http.StatusRequestEntityTooLarge, map[string]string{"error": "the body is too large, or it broke off"})
		return
	}
	log := b.o.Log.With().Str("onramp", p.Name()).Logger()
	if err := p.Verify(r.Header, body, b.o.Now()); err != nil {
		log.Warn().Err(err).Msg("a webhook was refused")
		answer(w, http.StatusUnauthorized, map[string]string{"error": err.Error()})
		return
	}
	e, err := p.Read(body)
	switch {
	case errors.Is(err, ErrIrrelevant):
		answer(w, http.StatusOK, map[string]bool{"received": true})
		return
	case err != nil:
		log.Warn().Err(err).Msg("a webhook could not be read")
		answer(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
		return
	}
	fresh, err := b.o.Store.Take(b.notice(p, e))
	if err != nil {
		log.Error().Err(err).Msg("a webhook could not be stored; the on-ramp will repeat it")
		answer(w, http.StatusServiceUnavailable, map[string]string{"error": "it could not be stored; send it again"})
		return
	}
	answer(w, http.StatusOK, map[string]bool{"received": true, "duplicate": !fresh})
}

// notice is what is kept of an event.
func (b *Inbox) notice(p Provider, e Event) Notice {
	n := Notice{
		ID: cut(p.Name()+"/"+e.ID, 2*maxText), Provider: p.Name(), Purchase: cut(e.Purchase, maxText), Received: b.o.Now().Unix(),
		Reported: cut(strings.TrimSpace(e.Amount), maxText), Transaction: cut(e.Transaction, maxText), State: Pending,
	}
	switch {
	case e.Wallet != b.o.Customer.String() && (e.Wallet != "" || e.Delivered), e.Network != "" && !strings.EqualFold(e.Network, "solana"),
		e.Currency != "" && !strings.EqualFold(e.Currency, "usdc"):
		n.State = Elsewhere
	case e.Failed:
		n.State = Failed
	case e.Delivered:
		n.State = Reported
	}
	return n
}

func cut(text string, n int) string {
	if len(text) > n {
		return text[:n]
	}
	return text
}

// Notices are what was received, the newest first. The transfers of those that are reported are looked up on the chain.
func (b *Inbox) Notices(ctx context.Context) ([]Notice, error) {
	all, err := b.o.Store.Notices()
	if err != nil {
		return nil, err
	}
	now := b.o.Now()
	b.mu.Lock()
	defer b.mu.Unlock() // one looks at a time
	if now.Sub(b.looked) < lookEvery {
		return all, nil
	}
	b.looked = now
	left := looks
	for i, n := range all {
		if n.State != Reported || left == 0 || now.Sub(time.Unix(n.Received, 0)) > lookFor {
			continue
		}
		sig, err := solana.SignatureFromBase58(n.Transaction)
		if err != nil {
			continue // the provider does not say which transfer it was
		}
		left--
		arrived, err := b.o.Received(ctx, sig)
		switch {
		case errors.Is(err, chain.ErrNotFound), err == nil && arrived == 0:
			continue
		case err != nil:
			return nil, err
		}
		n.State, n.Arrived = Arrived, arrived.String()
		if all[i], err = b.o.Store.Settle(n); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a provider that is gone repeats it
}
