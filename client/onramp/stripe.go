package onramp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// stripe is Stripe's crypto onramp. Its header Stripe-Signature has a time t and signatures v1, HMAC-SHA256 in hex of
// "t.body" with the endpoint's secret; while a secret is replaced there are several.
// https://docs.stripe.com/webhooks#verify-manually, https://docs.stripe.com/api/crypto/onramp_sessions/object
type stripe struct{ secret []byte }

func (stripe) Name() string { return "stripe" }

func (s stripe) Verify(h http.Header, body []byte, now time.Time) error {
	e := elements(h.Get("Stripe-Signature"), "t", "v1")
	return signed(s.secret, e["t"], e["v1"], string(body), now)
}

func (stripe) Read(body []byte) (Event, error) {
	var in struct {
		ID   string `json:"id"`
		Data struct {
			Object struct {
				ID      string `json:"id"`
				Object  string `json:"object"`
				Status  string `json:"status"`
				Details struct {
					Currency    string `json:"destination_currency"`
					Network     string `json:"destination_network"`
					Amount      string `json:"destination_amount"`
					Transaction string `json:"transaction_id"`
					Wallet      string `json:"wallet_address"`
				} `json:"transaction_details"`
			} `json:"object"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	o := in.Data.Object
	if o.Object != "crypto.onramp_session" {
		return Event{}, fmt.Errorf("%w: it is about a %q", ErrIrrelevant, o.Object)
	}
	if in.ID == "" || o.ID == "" {
		return Event{}, fmt.Errorf("%w: it has no id", ErrFormat)
	}
	return Event{
		ID: in.ID, Purchase: o.ID, Delivered: o.Status == "fulfillment_complete", Failed: o.Status == "rejected",
		Wallet: o.Details.Wallet, Network: o.Details.Network, Currency: o.Details.Currency, Amount: o.Details.Amount, Transaction: o.Details.Transaction,
	}, nil
}
