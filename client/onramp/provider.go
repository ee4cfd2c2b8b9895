package onramp

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Tolerance is how far the time in a signature may be from this machine's.
const Tolerance = 5 * time.Minute

// Sentinel errors.
var (
	ErrSignature = errors.New("the webhook's signature is not valid")
	ErrTime      = errors.New("the webhook's time is too far from now")
	ErrFormat    = errors.New("the webhook cannot be read")
	ErrProvider  = errors.New("no such on-ramp")
	ErrSecret    = errors.New("no usable secret of a webhook")
	// ErrIrrelevant means that a webhook is genuine and about something else.
	ErrIrrelevant = errors.New("the webhook is about no purchase")
)

// Event is what a provider says of a purchase.
type Event struct {
	ID       string // of the event, the same each time that it is delivered
	Purchase string // the provider's name of the purchase
	// Delivered says that the tokens were sent, and Failed that they never will be.
	Delivered, Failed bool
	Wallet            string
	Network, Currency string
	// Amount is as the provider writes it. It is shown and never relied on.
	Amount string
	// Transaction is the signature of the transfer on the chain; empty where the provider does not say.
	Transaction string
}

// Provider is a hosted on-ramp's webhook.
type Provider interface {
	// Name is the last part of the webhook's path.
	Name() string
	// Verify checks who has made a webhook, and when. Errors: ErrSignature, ErrTime.
	Verify(h http.Header, body []byte, now time.Time) error
	// Read reads a webhook that was verified. Errors: ErrFormat, ErrIrrelevant.
	Read(body []byte) (Event, error)
}

// providers are the on-ramps that are known, by name.
var providers = map[string]func(secret []byte) Provider{
	"stripe":   func(secret []byte) Provider { return stripe{secret} },
	"coinbase": func(secret []byte) Provider { return coinbase{secret} },
}

// Names are the on-ramps that are known.
func Names() []string { return slices.Sorted(maps.Keys(providers)) }

// NewProvider is an on-ramp with the secret of its webhook. Errors: ErrProvider, ErrSecret.
func NewProvider(name string, secret []byte) (Provider, error) {
	with, known := providers[name]
	if !known {
		return nil, fmt.Errorf("%w: %q; known are %s", ErrProvider, name, strings.Join(Names(), ", "))
	}
	if len(secret) < 16 {
		return nil, fmt.Errorf("%w: that of %s has %d bytes, at least 16 are wanted", ErrSecret, name, len(secret))
	}
	return with(slices.Clone(secret)), nil
}

// elements splits a header such as t=1,v1=ab,v1=cd. Others than the wanted names are passed over.
func elements(header string, names ...string) map[string][]string {
	out := map[string][]string{}
	for e := range strings.SplitSeq(header, ",") {
		name, value, found := strings.Cut(strings.TrimSpace(e), "=")
		if found && slices.Contains(names, name) {
			out[name] = append(out[name], value)
		}
	}
	return out
}

// signed checks a signature over a time and what follows it. It compares in constant time, and the time last, so that
// nobody without the secret learns how the clock stands. Errors: ErrSignature, ErrTime.
func signed(secret []byte, at []string, signatures []string, payload string, now time.Time) error {
	if len(at) != 1 || len(signatures) == 0 || len(signatures) > 8 {
		return fmt.Errorf("%w: its header has not one time and a signature", ErrSignature)
	}
	m := hmac.New(sha256.New, secret)
	m.Write([]byte(at[0] + "." + payload))
	want := m.Sum(nil)
	valid := false
	for _, s := range signatures {
		got, err := hex.DecodeString(s)
		valid = (err == nil && hmac.Equal(got, want)) || valid
	}
	if !valid {
		return ErrSignature
	}
	unix, err := strconv.ParseInt(at[0], 10, 64)
	if err != nil {
		return fmt.Errorf("%w: the time %q", ErrSignature, at[0])
	}
	if d := now.Sub(time.Unix(unix, 0)); d > Tolerance || d < -Tolerance {
		return fmt.Errorf("%w: %s, at most %s are allowed", ErrTime, d.Round(time.Second), Tolerance)
	}
	return nil
}
