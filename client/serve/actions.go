package serve

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/gagliardetto/solana-go"
	"golang.org/x/time/rate"

	"github.com/gantry-market/gantry/client/solanapay"
	"github.com/gantry-market/gantry/client/wallet"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/sdk/market"
)

// Actions are Solana Actions, which wallets and other sites show as blinks: credits for the wallet that asks, and what an audit says. They
// are only of a server for everyone, which has no key.
//
// Specification: https://solana.com/docs/advanced/actions, types in the npm package @solana/actions-spec.
type Actions struct {
	// Base is the public address of the server: solanapay.ParseBase.
	Base *url.URL
	// Genesis names the cluster.
	Genesis solana.Hash
	// Deposit prepares what moves an amount of an account's USDC into the credits of the same account, for that account to sign.
	Deposit func(ctx context.Context, account solana.PublicKey, amount market.USDC) (wallet.Transaction, error)
}

// Paths of actions.
const (
	actionRules   = "/actions.json"
	actionPrefix  = "/actions/"
	actionIcon    = actionPrefix + "icon.svg"
	actionCredits = actionPrefix + "credits"
	actionAudit   = actionPrefix + "audit"

	actionVersion = "2.4"
	// maxActionBody is how large a wallet's request may be, bytes.
	maxActionBody = 4 << 10
)

// The kinds of buttons that are used here.
const (
	buttonTransaction = "transaction"
	buttonLink        = "external-link"
)

// actionButtons are amounts to choose from, USDC.
var actionButtons = []string{"10", "50", "100"}

const actionAmount = `^[0-9]{1,5}(\.[0-9]{1,6})?$`

var isActionAmount = regexp.MustCompile(actionAmount)

// action is what a wallet shows: ActionGetResponse.
type action struct {
	Type        string      `json:"type"`
	Icon        string      `json:"icon"`
	Title       string      `json:"title"`
	Description string      `json:"description"`
	Label       string      `json:"label"`
	Links       actionLinks `json:"links"`
}

type actionLinks struct {
	Actions []actionButton `json:"actions"`
}

// actionButton is a button, with an input for each parameter: LinkedAction.
type actionButton struct {
	Type       string            `json:"type"`
	Href       string            `json:"href"`
	Label      string            `json:"label"`
	Parameters []actionParameter `json:"parameters,omitempty"`
}

type actionParameter struct {
	Type     string `json:"type"`
	Name     string `json:"name"`
	Label    string `json:"label"`
	Required bool   `json:"required"`
	Pattern  string `json:"pattern"`
	Says     string `json:"patternDescription"`
}

// isAction reports whether a path is one of actions.
func isAction(path string) bool { return path == actionRules || strings.HasPrefix(path, actionPrefix) }

// at is the address of a path.
func (a *Actions) at(path string) string { return a.Base.JoinPath(path).String() }

// headers let pages of all sites read what follows, as the specification asks. Nothing of a visitor is in it, and no cookie or token counts here.
func (a *Actions) headers(h http.Header) {
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", "GET,POST,PUT,OPTIONS")
	h.Set("Access-Control-Allow-Headers", "Content-Type, Authorization, Content-Encoding, Accept-Encoding, X-Accept-Action-Version, X-Accept-Blockchain-Ids")
	h.Set("Access-Control-Expose-Headers", "X-Action-Version, X-Blockchain-Ids")
	h.Set("X-Action-Version", actionVersion)
	h.Set("X-Blockchain-Ids", "solana:"+a.Genesis.String()[:32]) // CAIP-2
}

// action answers one request for an action: what is read comes from the answers that all visitors share.
func (p *publicHandler) action(w http.ResponseWriter, r *http.Request) {
	p.actions.headers(w.Header())
	switch {
	case r.Method == http.MethodOptions:
		w.WriteHeader(http.StatusNoContent)
	case !p.admits(r):
		w.Header().Set("Retry-After", "2")
		actionError(w, http.StatusTooManyRequests, "Too many requests came from this address. Ask again in a few seconds.")
	case r.Method == http.MethodGet, r.Method == http.MethodHead:
		p.shared(w, r)
	case r.Method == http.MethodPost:
		ctx, cancel := context.WithTimeout(r.Context(), answerWithin)
		defer cancel()
		p.next.ServeHTTP(w, r.WithContext(ctx))
	default:
		w.Header().Set("Allow", "GET, HEAD, POST, OPTIONS")
		actionError(w, http.StatusMethodNotAllowed, "Use GET or POST.")
	}
}

// registerActions adds the actions. They are not in the OpenAPI document: another specification describes them, and their errors are its own.
func (s *Server) registerActions(mux *routes) {
	s.deposits = rate.NewLimiter(5, 20)
	mux.HandleFunc("GET "+actionRules, s.actionRules)
	mux.HandleFunc("GET "+actionIcon, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/svg+xml")
		_, _ = w.Write(solanapay.Icon)
	})
	mux.HandleFunc("GET "+actionCredits, s.creditsAction)
	mux.HandleFunc("POST "+actionCredits, s.depositAction)
	mux.HandleFunc("GET "+actionAudit, s.auditAction)
	mux.HandleFunc("GET "+actionAudit+"/{id}", s.auditOfAction)
	mux.HandleFunc("POST "+actionAudit+"/{id}", s.auditLink)
	mux.HandleFunc(actionPrefix, func(w http.ResponseWriter, _ *http.Request) {
		actionError(w, http.StatusNotFound, "There is no such action.")
	})
}

// actionRules says which addresses are actions. Views of the page are behind a #, which a rule cannot match.
func (s *Server) actionRules(w http.ResponseWriter, _ *http.Request) {
	every := s.o.Actions.at(actionPrefix) + "**"
	actionAnswer(w, map[string]any{"rules": []map[string]string{{"pathPattern": every, "apiPath": every}}})
}

func (s *Server) creditsAction(w http.ResponseWriter, _ *http.Request) {
	a := s.o.Actions
	to := a.at(actionCredits) + "?amount="
	out := action{
		Type: "action", Icon: a.at(actionIcon), Title: "Gantry credits", Label: "Add credits",
		Description: "Moves USDC of your wallet into the credits of the same wallet. Orders of GPUs are paid from them. What no order has reserved can be withdrawn at any time.",
	}
	for _, n := range actionButtons {
		out.Links.Actions = append(out.Links.Actions, actionButton{Type: buttonTransaction, Href: to + n, Label: "Add " + n + " USDC"})
	}
	out.Links.Actions = append(out.Links.Actions, actionButton{
		Type: buttonTransaction, Href: to + "{amount}", Label: "Add USDC",
		Parameters: []actionParameter{{
			Type: "text", Name: "amount", Label: "USDC", Required: true, Pattern: actionAmount, Says: "USDC, such as 25 or 12.50, at most " + solanapay.MaxAmount.String(),
		}},
	})
	actionAnswer(w, out)
}

// depositAction hands the account that asks a deposit of its own USDC into its own credits: the amount is in the address, and nothing else of a request counts.
func (s *Server) depositAction(w http.ResponseWriter, r *http.Request) {
	text := r.URL.Query().Get("amount")
	amount, err := market.ParseUSDC(text)
	if err != nil || !isActionAmount.MatchString(text) || amount == 0 || amount > solanapay.MaxAmount {
		actionError(w, http.StatusBadRequest, "The amount is not one of USDC, such as 25 or 12.50. It is at most "+solanapay.MaxAmount.String()+".")
		return
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxActionBody))
	if err != nil {
		actionError(w, http.StatusRequestEntityTooLarge, "The request is too large.")
		return
	}
	var in struct {
		Account string `json:"account"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		actionError(w, http.StatusBadRequest, "The request is not JSON with an account.")
		return
	}
	account, err := solana.PublicKeyFromBase58(in.Account)
	if err != nil || account.IsZero() || !account.IsOnCurve() {
		actionError(w, http.StatusBadRequest, "The account is not the address of a wallet that signs.")
		return
	}
	if !s.deposits.Allow() { // each takes a simulation
		w.Header().Set("Retry-After", "2")
		actionError(w, http.StatusTooManyRequests, "Too many wallets ask at once. Try again.")
		return
	}
	t, err := s.o.Actions.Deposit(r.Context(), account, amount)
	if err != nil {
		s.actionFailed(w, err)
		return
	}
	actionAnswer(w, map[string]any{"type": buttonTransaction, "transaction": t.Bytes, "message": strings.Join(t.Effects, " ")})
}

// actionFailed answers with an error of the service.
func (s *Server) actionFailed(w http.ResponseWriter, err error) {
	p, is := errors.AsType[*Problem](failed(err))
	if !is {
		s.o.Log.Warn().Err(err).Msg("an action failed")
		actionError(w, http.StatusInternalServerError, "The server could not do it.")
		return
	}
	text := p.Detail
	if p.NextStep != "" {
		text += ". Next: " + p.NextStep
	}
	actionError(w, p.Status, text)
}

// actionError answers with an ActionError.
func actionError(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"message": printable.Text(text)}) // a wallet that is gone does not read it
}

func actionAnswer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}
