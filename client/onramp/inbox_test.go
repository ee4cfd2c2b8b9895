package onramp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// box is an inbox with a clock and a chain of its own.
type box struct {
	*Inbox
	t     *testing.T
	path  string
	now   time.Time
	chain map[string]market.USDC // what transfers have brought
	log   bytes.Buffer
}

var customer = solana.PublicKey{7}

func newBox(t *testing.T) *box {
	b := &box{t: t, path: filepath.Join(t.TempDir(), "onramp.db"), now: time.Unix(1_700_000_000, 0), chain: map[string]market.USDC{}}
	b.open()
	return b
}

// open opens the store, as a process that begins does.
func (b *box) open() {
	store, err := OpenStore(b.path, customer)
	require.NoError(b.t, err)
	b.t.Cleanup(func() { _ = store.Close() })
	var all []Provider
	for _, name := range Names() {
		p, err := NewProvider(name, []byte(secret))
		require.NoError(b.t, err)
		all = append(all, p)
	}
	b.Inbox = New(Options{
		Store: store, Providers: all, Customer: customer, Now: func() time.Time { return b.now }, Log: zerolog.New(&b.log),
		Received: func(_ context.Context, sig solana.Signature) (market.USDC, error) {
			n, there := b.chain[sig.String()]
			if !there {
				return 0, chain.ErrNotFound
			}
			return n, nil
		},
	})
}

// deliver hands a body to the inbox, signed now.
func (b *box) deliver(provider string, body []byte) (int, map[string]any) {
	return b.send(provider, body, signatures[provider](secret, b.now, body))
}

func (b *box) send(provider string, body []byte, h http.Header) (int, map[string]any) {
	r := httptest.NewRequest(http.MethodPost, Prefix+provider, bytes.NewReader(body))
	r.Header = h
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	var out map[string]any
	require.NoError(b.t, json.Unmarshal(w.Body.Bytes(), &out), w.Body)
	return w.Code, out
}

func (b *box) notices() []Notice {
	b.t.Helper()
	b.now = b.now.Add(lookEvery)
	all, err := b.Notices(b.t.Context())
	require.NoError(b.t, err)
	return all
}

func session(id, status, wallet, tx string) []byte {
	return fmt.Appendf(nil, `{"id":%q,"type":"crypto.onramp_session.updated","data":{"object":{"id":"cos_1","object":"crypto.onramp_session","status":%q,`+
		`"transaction_details":{"destination_currency":"usdc","destination_network":"solana","destination_amount":"1000000","transaction_id":%q,"wallet_address":%q}}}}`, id, status, tx, wallet)
}

func purchase(status, wallet, tx string) []byte {
	return fmt.Appendf(nil, `{"eventType":"onramp.transaction.updated","transactionId":"1f087a54","status":"ONRAMP_TRANSACTION_STATUS_%s",`+
		`"purchaseCurrency":"USDC","purchaseNetwork":"solana","purchaseAmount":{"currency":"USDC","value":"5.00"},"txHash":%q,"walletAddress":%q}`, status, tx, wallet)
}

var transfer = solana.Signature{9}.String()

// What a webhook says decides nothing: the chain says what has arrived, once for a transfer, whoever reports it.
func TestTheChainDecides(t *testing.T) {
	b := newBox(t)
	me := customer.String()
	code, _ := b.deliver("stripe", session("evt_0", "fulfillment_processing", "", ""))
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, Pending, b.notices()[0].State)
	code, _ = b.deliver("stripe", session("evt_1", "fulfillment_complete", me, transfer))
	require.Equal(t, http.StatusOK, code)
	n := b.notices()[0]
	require.Equal(t, Reported, n.State, "the chain does not show it")
	require.Equal(t, "1000000", n.Reported)
	require.Empty(t, n.Arrived)

	b.chain[transfer] = 10 * market.OneUSDC
	n = b.notices()[0]
	require.Equal(t, Arrived, n.State)
	require.Equal(t, "10.00", n.Arrived, "not the million that the webhook tells")

	code, _ = b.deliver("coinbase", purchase("SUCCESS", me, transfer))
	require.Equal(t, http.StatusOK, code)
	for _, n := range b.notices() {
		if n.Provider == "coinbase" {
			require.Equal(t, Repeated, n.State)
			require.Empty(t, n.Arrived)
		}
	}
	// Of others, and of nothing.
	for i, body := range [][]byte{session("evt_2", "fulfillment_complete", solana.PublicKey{8}.String(), transfer), session("evt_3", "fulfillment_complete", "", transfer)} {
		b.now = b.now.Add(time.Minute)
		code, _ = b.deliver("stripe", body)
		require.Equal(t, http.StatusOK, code)
		require.Equal(t, Elsewhere, b.notices()[0].State, i)
	}
	b.now = b.now.Add(time.Minute)
	_, _ = b.deliver("stripe", session("evt_4", "rejected", me, ""))
	require.Equal(t, Failed, b.notices()[0].State)
	before := len(b.notices())
	code, _ = b.deliver("stripe", []byte(`{"id":"evt_5","data":{"object":{"id":"ch_1","object":"charge"}}}`))
	require.Equal(t, http.StatusOK, code)
	code, _ = b.deliver("stripe", []byte(`{"id":`))
	require.Equal(t, http.StatusBadRequest, code)
	require.Len(t, b.notices(), before)
	require.NotContains(t, b.log.String(), secret)
}

func TestRefusals(t *testing.T) {
	b := newBox(t)
	body := session("evt_1", "fulfillment_complete", customer.String(), transfer)
	old := signatures["stripe"](secret, b.now.Add(-Tolerance-time.Second), body)
	for what, c := range map[string]struct {
		provider string
		body     []byte
		header   http.Header
		code     int
	}{
		"no signature":           {"stripe", body, http.Header{}, http.StatusUnauthorized},
		"forged":                 {"stripe", body, signatures["stripe"]("whsec_of_somebody_else", b.now, body), http.StatusUnauthorized},
		"another body":           {"stripe", session("evt_2", "fulfillment_complete", customer.String(), transfer), signatures["stripe"](secret, b.now, body), http.StatusUnauthorized},
		"old":                    {"stripe", body, old, http.StatusUnauthorized},
		"another's signature":    {"coinbase", body, signatures["stripe"](secret, b.now, body), http.StatusUnauthorized},
		"huge":                   {"stripe", bytes.Repeat([]byte(" "), MaxBody+1), signatures["stripe"](secret, b.now, body), http.StatusRequestEntityTooLarge},
		"unknown":                {"moonpay", body, signatures["stripe"](secret, b.now, body), http.StatusNotFound},
		"a name that is no name": {"../stripe", body, signatures["stripe"](secret, b.now, body), http.StatusNotFound},
	} {
		code, out := b.send(c.provider, c.body, c.header)
		require.Equal(t, c.code, code, what)
		require.NotContains(t, fmt.Sprint(out), secret, what)
	}
	require.Empty(t, b.notices())
	require.NotContains(t, b.log.String(), secret)
}

// An event is taken once: delivered at once many times, again after the store was opened anew, and with a new
// signature.
func TestReplays(t *testing.T) {
	b := newBox(t)
	body := session("evt_1", "fulfillment_complete", customer.String(), transfer)
	first := signatures["stripe"](secret, b.now, body)
	var wg sync.WaitGroup
	var mu sync.Mutex
	fresh := 0
	for range 32 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r := httptest.NewRequest(http.MethodPost, Prefix+"stripe", bytes.NewReader(body))
			r.Header = first.Clone()
			w := httptest.NewRecorder()
			b.ServeHTTP(w, r)
			mu.Lock()
			defer mu.Unlock()
			if w.Code == http.StatusOK && strings.Contains(w.Body.String(), `"duplicate":false`) {
				fresh++
			}
		}()
	}
	wg.Wait()
	require.Equal(t, 1, fresh)
	require.Len(t, b.notices(), 1)

	require.NoError(t, b.o.Store.Close())
	b.open()
	code, out := b.send("stripe", body, first)
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, true, out["duplicate"])
	b.now = b.now.Add(3 * 24 * time.Hour) // as a provider that had no answer
	code, out = b.deliver("stripe", body)
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, true, out["duplicate"])
	require.Len(t, b.notices(), 1)
	b.now = b.now.Add(kept)
	_, _ = b.deliver("stripe", session("evt_9", "rejected", customer.String(), ""))
	require.Len(t, b.notices(), 1, "what is too old is gone")
}
