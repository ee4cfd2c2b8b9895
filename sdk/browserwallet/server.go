package browserwallet

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/sdk/txm"
)

const (
	maxBody = 16 << 10
	// holds is how long the page's question for a request waits for one.
	holds = 20 * time.Second
)

// secret is a text of which only the hash is kept; it is empty until set.
type secret struct {
	mu    sync.Mutex
	hash  [32]byte
	there bool
}

func (s *secret) set(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hash, s.there = sha256.Sum256([]byte(text)), true
}

// is reports whether a text is it; use takes it away when it is.
func (s *secret) is(text string, use bool) bool {
	got := sha256.Sum256([]byte(text))
	s.mu.Lock()
	defer s.mu.Unlock()
	ok := s.there && subtle.ConstantTimeCompare(got[:], s.hash[:]) == 1
	if ok && use {
		s.there = false
	}
	return ok
}

// handler answers the page. Host and Origin come first: a name that leads to this machine (DNS rebinding) and pages of
// other sites learn nothing.
func (w *Wallet) handler() http.Handler {
	mux := http.NewServeMux()
	for path, f := range w.files {
		pattern := path
		if path == "/" {
			pattern = "/{$}"
		}
		mux.Handle(http.MethodGet+" "+pattern, f)
	}
	mux.HandleFunc("POST /sign/session", w.session)
	mux.HandleFunc("POST /sign/account", w.authorised(w.postAccount))
	mux.HandleFunc("GET /sign/request", w.authorised(w.getRequest))
	mux.HandleFunc("POST /sign/request/{id}/fresh", w.authorised(w.postFresh))
	mux.HandleFunc("POST /sign/request/{id}/refuse", w.authorised(w.postRefuse))
	mux.HandleFunc("POST /sign/request/{id}", w.authorised(w.postSigned))
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		h := rw.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		site := r.Header.Get("Sec-Fetch-Site")
		origin, err := url.Parse(r.Header.Get("Origin"))
		switch {
		case r.Host != w.host:
			fail(rw, http.StatusMisdirectedRequest, "the request is for another host", "open the address that the command has printed")
		case err != nil, origin.Host != "" && origin.Host != w.host, site == "cross-site", site == "same-site", r.Header.Get("Origin") == "null":
			fail(rw, http.StatusForbidden, "the request comes from a page of another site", "open the address that the command has printed")
		default:
			r.Body = http.MaxBytesReader(rw, r.Body, maxBody)
			mux.ServeHTTP(rw, r)
		}
	})
}

// session exchanges the code of the address for a token, once.
func (w *Wallet) session(rw http.ResponseWriter, r *http.Request) {
	var in struct{ Code string }
	if !read(rw, r, &in) {
		return
	}
	if !w.code.is(in.Code, true) {
		fail(rw, http.StatusUnauthorized, "the address is used already", "one tab signs; start the command again for another")
		return
	}
	answer(rw, map[string]any{"token": newSecret(&w.token), "chain": w.o.Chain, "local": w.o.Local, "command": printable.Text(w.o.Command), "expect": expected(w.o.Expect)})
}

func expected(key solana.PublicKey) string {
	if key.IsZero() {
		return ""
	}
	return key.String()
}

func (w *Wallet) authorised(next http.HandlerFunc) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		token, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !found || !w.token.is(token, false) {
			fail(rw, http.StatusUnauthorized, "this tab does not sign for the command", "start the command again")
			return
		}
		next(rw, r)
	}
}

func (w *Wallet) postAccount(rw http.ResponseWriter, r *http.Request) {
	var in struct{ Account string }
	if !read(rw, r, &in) {
		return
	}
	key, err := solana.PublicKeyFromBase58(in.Account)
	if err == nil {
		err = w.connect(key)
	}
	if err != nil {
		fail(rw, http.StatusForbidden, err.Error(), "choose the other account in the wallet, then connect again")
		return
	}
	rw.WriteHeader(http.StatusNoContent)
}

// shown is what waits for the wallet, as the page sees it.
type shown struct {
	State       string   `json:"state"` // idle, sign, done
	Key         string   `json:"key"`   // tells states apart: the page asks with the one that it knows
	ID          int      `json:"id,omitempty"`
	Effects     []string `json:"effects,omitempty"`
	Transaction []byte   `json:"transaction,omitempty"`
	Note        string   `json:"note,omitempty"`
}

// done is shown when the command has ended.
var done = shown{State: "done", Key: "done"}

// getRequest answers with what waits for the wallet, and waits for a change from the one that the page knows.
func (w *Wallet) getRequest(rw http.ResponseWriter, r *http.Request) {
	known := r.URL.Query().Get("known")
	wait := time.NewTimer(holds)
	defer wait.Stop()
	for {
		w.mu.Lock()
		out, changed := w.shown(), w.changed
		w.mu.Unlock()
		if out.Key != known {
			answer(rw, out)
			return
		}
		select {
		case <-changed:
		case <-wait.C:
			answer(rw, out)
			return
		case <-w.ended:
			answer(rw, done)
			return
		case <-r.Context().Done():
			return
		}
	}
}

// shown is the present state. The caller holds mu.
func (w *Wallet) shown() shown {
	select {
	case <-w.ended:
		return done
	default:
	}
	if w.request == nil {
		return shown{State: "idle", Key: "idle:" + w.note, Note: w.note}
	}
	return shown{State: "sign", Key: strconv.Itoa(w.request.id), ID: w.request.id, Effects: w.request.effects, Transaction: w.request.unsigned()}
}

// current is the request of the path; it answers where that is over.
func (w *Wallet) current(rw http.ResponseWriter, r *http.Request) *request {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.request == nil || strconv.Itoa(w.request.id) != r.PathValue("id") {
		fail(rw, http.StatusConflict, "the command does not wait for this transaction any more", "sign the one that is shown now")
		return nil
	}
	return w.request
}

// give ends a request, once.
func (r *request) give(o outcome) {
	select {
	case r.done <- o:
	default:
	}
}

// postFresh is asked before the wallet: a transaction that is old already is built anew.
func (w *Wallet) postFresh(rw http.ResponseWriter, r *http.Request) {
	x := w.current(rw, r)
	if x == nil {
		return
	}
	fresh := time.Since(x.at) < freshFor
	if !fresh {
		x.give(outcome{err: txm.ErrStale})
	}
	answer(rw, map[string]bool{"fresh": fresh})
}

func (w *Wallet) postRefuse(rw http.ResponseWriter, r *http.Request) {
	if x := w.current(rw, r); x != nil {
		x.give(outcome{err: notSigned("it was refused on the page")})
		rw.WriteHeader(http.StatusNoContent)
	}
}

func (w *Wallet) postSigned(rw http.ResponseWriter, r *http.Request) {
	var in struct{ Signed []byte }
	x := w.current(rw, r)
	if x == nil || !read(rw, r, &in) {
		return
	}
	sig, why := x.signed(in.Signed, w.PublicKey())
	if why != "" {
		fail(rw, http.StatusConflict, why, "some wallets add instructions of their own: switch that off for this page, or use another wallet")
		return
	}
	x.give(outcome{signature: sig})
	rw.WriteHeader(http.StatusNoContent)
}

func read(rw http.ResponseWriter, r *http.Request, into any) bool {
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		fail(rw, http.StatusBadRequest, "the request is not JSON of the page", "load the page again")
		return false
	}
	return true
}

func answer(rw http.ResponseWriter, v any) {
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(v) // a page that is gone does not read it
}

// fail answers as the page expects errors (RFC 9457).
func fail(rw http.ResponseWriter, status int, detail, next string) {
	rw.Header().Set("Content-Type", "application/problem+json")
	rw.WriteHeader(status)
	_ = json.NewEncoder(rw).Encode(map[string]any{"title": http.StatusText(status), "status": status, "detail": printable.Text(detail), "nextStep": next})
}
