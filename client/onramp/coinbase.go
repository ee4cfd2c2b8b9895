package onramp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// coinbase is Coinbase's onramp (CDP). Its header X-Hook0-Signature has a time t, the names of headers h with spaces
// between, and v1, HMAC-SHA256 in hex of "t.names.values.body": the values of those headers, with dots between.
// https://docs.cdp.coinbase.com/webhooks/verify-signatures, https://docs.cdp.coinbase.com/webhooks/onramp
type coinbase struct{ secret []byte }

func (coinbase) Name() string { return "coinbase" }

func (c coinbase) Verify(h http.Header, body []byte, now time.Time) error {
	e := elements(h.Get("X-Hook0-Signature"), "t", "h", "v1")
	if len(e["h"]) != 1 {
		return fmt.Errorf("%w: its header does not name the headers that it covers", ErrSignature)
	}
	var values []string
	for name := range strings.SplitSeq(e["h"][0], " ") {
		values = append(values, h.Get(name))
	}
	return signed(c.secret, e["t"], e["v1"], e["h"][0]+"."+strings.Join(values, ".")+"."+string(body), now)
}

// statusPrefix is that of the states of a purchase.
const statusPrefix = "ONRAMP_TRANSACTION_STATUS_"

func (coinbase) Read(body []byte) (Event, error) {
	var in struct {
		Type        string                           `json:"eventType"`
		ID          string                           `json:"transactionId"`
		Status      string                           `json:"status"`
		Currency    string                           `json:"purchaseCurrency"`
		Network     string                           `json:"purchaseNetwork"`
		Purchase    struct{ Value, Currency string } `json:"purchaseAmount"`
		Transaction string                           `json:"txHash"`
		Wallet      string                           `json:"walletAddress"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if !strings.HasPrefix(in.Type, "onramp.transaction.") {
		return Event{}, fmt.Errorf("%w: it is a %q", ErrIrrelevant, in.Type)
	}
	if in.ID == "" {
		return Event{}, fmt.Errorf("%w: it has no transactionId; purchases by an order (Headless) are not read", ErrFormat)
	}
	status := strings.TrimPrefix(in.Status, statusPrefix)
	return Event{
		// Deliveries have no id in the body: a purchase is in a state once.
		ID: in.ID + "/" + status, Purchase: in.ID, Delivered: status == "SUCCESS", Failed: status == "FAILED",
		Wallet: in.Wallet, Network: in.Network, Currency: in.Currency, Amount: strings.TrimSpace(in.Purchase.Value + " " + in.Purchase.Currency), Transaction: in.Transaction,
	}, nil
}
