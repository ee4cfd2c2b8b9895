package solanapay

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/printable"
)

// Prefix is the path below which wallets fetch transactions. Nothing there needs a token: wallets have none.
const Prefix = "/pay/"

const (
	// maxRequest is how large a wallet's request may be, bytes.
	maxRequest = 4 << 10
	// buildWithin is how long a transaction may take to be prepared.
	buildWithin = 20 * time.Second
	iconPath    = Prefix + "icon.svg"
	label       = "Gantry credits"
)

// Icon is the picture of credits, an SVG.
//
//go:embed icon.svg
var Icon []byte

// ServeHTTP answers wallets: GET says who asks, POST hands out the transaction. Wallets in browsers are on pages of
// other sites, which may read the answers: they hold nothing but what whoever has the link may know.
func (p *Payments) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Access-Control-Allow-Origin", "*")
	id := strings.TrimPrefix(r.URL.Path, Prefix)
	switch {
	case r.Method == http.MethodOptions:
		h.Set("Access-Control-Allow-Methods", "GET, POST, OPTIONS")
		h.Set("Access-Control-Allow-Headers", "Content-Type, Accept, Accept-Encoding")
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodGet && r.URL.Path == iconPath:
		h.Set("Content-Type", "image/svg+xml")
		_, _ = w.Write(Icon)
	case r.Method == http.MethodGet:
		answer(w, http.StatusOK, map[string]string{"label": label, "icon": p.o.Base.JoinPath(iconPath).String()})
	case r.Method == http.MethodPost:
		p.post(w, r, id)
	default:
		h.Set("Allow", "GET, POST, OPTIONS")
		answer(w, http.StatusMethodNotAllowed, message("Use GET or POST."))
	}
}

func (p *Payments) post(w http.ResponseWriter, r *http.Request, id string) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		answer(w, http.StatusRequestEntityTooLarge, message("The request is too large."))
		return
	}
	var in struct {
		Account string `json:"account"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		answer(w, http.StatusBadRequest, message("The request is not JSON with an account."))
		return
	}
	account, err := solana.PublicKeyFromBase58(in.Account)
	if err != nil {
		answer(w, http.StatusBadRequest, message("The account is not an address."))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), buildWithin)
	defer cancel()
	t, amount, err := p.fetch(ctx, id, account)
	var why refusal
	var f *service.Failure
	switch {
	case errors.Is(err, errBusy):
		w.Header().Set("Retry-After", "2")
		answer(w, http.StatusTooManyRequests, message("Too many wallets ask at once. Try again."))
	case errors.As(err, &why):
		answer(w, http.StatusForbidden, message(string(why)))
	case errors.As(err, &f) && (f.Code == service.CodeRefused || f.Code == service.CodeUsage):
		answer(w, http.StatusBadRequest, message(f.Reason))
	case err != nil:
		p.o.Log.Warn().Err(err).Msg("a payment's transaction could not be prepared")
		answer(w, http.StatusServiceUnavailable, message("The deposit could not be prepared: "+service.Classify(err).Reason))
	default:
		answer(w, http.StatusOK, map[string]any{
			"transaction": t.Bytes, "message": "Deposit " + amount.String() + " USDC into the credits of this wallet",
		})
	}
}

func message(text string) map[string]string {
	return map[string]string{"message": printable.Text(text)}
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a wallet that is gone does not read it
}
