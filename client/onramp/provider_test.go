package onramp

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const secret = "whsec_4eC39HqLyjWDarjtT1zdp7dc"

// mac is the formula of the providers' pages, written here a second time.
func mac(key, payload string) string {
	m := hmac.New(sha256.New, []byte(key))
	m.Write([]byte(payload))
	return hex.EncodeToString(m.Sum(nil))
}

// Fixed vectors: computed once from the documented formulas with another program (openssl dgst -sha256 -hmac SECRET),
// not by a provider.
func TestVectors(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	body := []byte(`{"id":"evt_1"}`)
	s, err := NewProvider("stripe", []byte(secret))
	require.NoError(t, err)
	require.NoError(t, s.Verify(http.Header{"Stripe-Signature": {"t=1700000000,v1=10590e0929bf86cbbce26d12c016f8037f61f433fc1465c8313adbcd032e8bd9"}}, body, at))
	c, err := NewProvider("coinbase", []byte(secret))
	require.NoError(t, err)
	require.NoError(t, c.Verify(http.Header{
		"X-Hook0-Signature": {"t=1700000000,h=content-type x-event-id,v1=3838e63b0146b5143a41c4ea739278da1415b2ad700d2f9458d37cdd819430ad"},
		"Content-Type":      {"application/json"}, "X-Event-Id": {"e-1"},
	}, body, at))
}

// signatures makes the headers of a webhook that each provider would send.
var signatures = map[string]func(key string, at time.Time, body []byte) http.Header{
	"stripe": func(key string, at time.Time, body []byte) http.Header {
		return http.Header{"Stripe-Signature": {fmt.Sprintf("t=%d,v1=%s,v0=00", at.Unix(), mac(key, fmt.Sprintf("%d.%s", at.Unix(), body)))}}
	},
	"coinbase": func(key string, at time.Time, body []byte) http.Header {
		names := "content-type x-event-id"
		sig := mac(key, fmt.Sprintf("%d.%s.application/json.e-1.%s", at.Unix(), names, body))
		return http.Header{
			"X-Hook0-Signature": {fmt.Sprintf("t=%d,v0=00,h=%s,v1=%s", at.Unix(), names, sig)}, "Content-Type": {"application/json"}, "X-Event-Id": {"e-1"},
		}
	},
}

func TestVerify(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	body := []byte(`{"id":"evt_1","data":{}}`)
	for name, sign := range signatures {
		t.Run(name, func(t *testing.T) {
			p, err := NewProvider(name, []byte(secret))
			require.NoError(t, err)
			header := "Stripe-Signature"
			if name == "coinbase" {
				header = "X-Hook0-Signature"
			}
			good := sign(secret, now, body)
			require.NoError(t, p.Verify(good, body, now))
			require.NoError(t, p.Verify(good, body, now.Add(Tolerance)))
			require.NoError(t, p.Verify(good, body, now.Add(-Tolerance)))
			require.ErrorIs(t, p.Verify(good, body, now.Add(Tolerance+time.Second)), ErrTime, "old")
			require.ErrorIs(t, p.Verify(good, body, now.Add(-Tolerance-time.Second)), ErrTime, "of the future")
			require.ErrorIs(t, p.Verify(sign(secret+"x", now, body), body, now), ErrSignature, "another secret")
			for i := range body {
				other := []byte(string(body))
				other[i] ^= 1
				require.ErrorIs(t, p.Verify(good, other, now), ErrSignature, "byte %d of the body", i)
			}
			text := good.Get(header)
			for i := range text {
				other := good.Clone()
				changed := []byte(text)
				changed[i] ^= 1
				other.Set(header, string(changed))
				if err := p.Verify(other, body, now); err == nil { // what is not signed may differ: v0, and the case of hex digits
					require.True(t, strings.Contains(text[max(0, i-5):min(len(text), i+5)], "v0") || strings.EqualFold(text, string(changed)), "byte %d of %s", i, text)
				}
			}
			for _, bad := range []string{"", "t=", "v1=00", "t=1,v1=", "t=1,t=1,v1=00", "t=x,h=a,v1=" + mac(secret, "x.a.."+string(body)), strings.Repeat("v1=00,", 100) + "t=1,h=a"} {
				other := good.Clone()
				other.Set(header, bad)
				require.ErrorIs(t, p.Verify(other, body, now), ErrSignature, bad)
			}
		})
	}
	// While a secret is replaced, a provider signs with both.
	s, err := NewProvider("stripe", []byte(secret))
	require.NoError(t, err)
	both := fmt.Sprintf("t=%d,v1=%s,v1=%s", now.Unix(), strings.Repeat("00", 32), mac(secret, fmt.Sprintf("%d.%s", now.Unix(), body)))
	require.NoError(t, s.Verify(http.Header{"Stripe-Signature": {both}}, body, now))
	// A header that the signature covers is not changed.
	c, err := NewProvider("coinbase", []byte(secret))
	require.NoError(t, err)
	h := signatures["coinbase"](secret, now, body)
	h.Set("X-Event-Id", "e-2")
	require.ErrorIs(t, c.Verify(h, body, now), ErrSignature)
}

func TestSecret(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(path, []byte(secret+"\n"), 0o600))
	got, err := ReadSecret(path)
	require.NoError(t, err)
	require.Equal(t, secret, string(got))
	require.NoError(t, os.Chmod(path, 0o640))
	_, err = ReadSecret(path)
	require.ErrorIs(t, err, ErrSecret)
	require.NotContains(t, err.Error(), secret)
	_, err = NewProvider("stripe", []byte("short"))
	require.ErrorIs(t, err, ErrSecret)
	_, err = NewProvider("moonbase", []byte(secret))
	require.ErrorIs(t, err, ErrProvider)
}
