package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gantry-market/gantry/client/team"
	"github.com/gantry-market/gantry/inference"
)

const (
	// maxBody is how large a request may be, bytes.
	maxBody = 256 << 10
	// maxHeader is how large the headers of a request may be, bytes.
	maxHeader = 16 << 10
	// answerWithin is how long an operation may take that is no stream.
	answerWithin = 30 * time.Second

	otherSites = "pages of other sites may not use this server, unless it was started with their origin in --allow-origin"
)

// guard lets requests through that may be answered.
type guard struct {
	hosts   []string        // by which the server may be called, lower case and without port
	origins *Origins        // whose pages may use it besides its own
	open    map[string]bool // paths that need no token
	caller  func(token string) (team.Caller, error)
	next    http.Handler
	openai  http.Handler // answers /openai/v1, with tokens and limits of its own; nil for none
}

// harmless sets the headers of every answer: no browser takes it for a page, or keeps it.
func harmless(w http.ResponseWriter) http.Header {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	return h
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := harmless(w)
	if g.openai != nil && inference.Serves(r.URL.Path) {
		if p := g.foreign(r); p != nil {
			p.write(w)
			return
		}
		answers(r.Context(), inference.Prefix)
		g.openai.ServeHTTP(w, r)
		return
	}
	c, p := g.refuse(r)
	if p != nil {
		if p.Status == http.StatusUnauthorized {
			h.Set("WWW-Authenticate", `Bearer realm="gantry"`)
		}
		p.write(w)
		return
	}
	most := int64(maxBody)
	if isFile(r) {
		most = MaxFile
	}
	if r.ContentLength > most {
		problem(http.StatusRequestEntityTooLarge, fmt.Sprintf("the request has %d bytes, at most %d are read", r.ContentLength, most), "send less").write(w)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, most)
	if c != nil {
		r = r.WithContext(context.WithValue(r.Context(), callerKey{}, *c))
	}
	if isStream(r) || isMachineStream(r) {
		g.next.ServeHTTP(w, r)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), answerWithin)
	defer cancel()
	g.next.ServeHTTP(w, r.WithContext(ctx))
}

// refuse says why a request is not answered; nil when it is, and then who has sent it, where a token is needed. Host and Origin
// come before the token, so that a page of another site learns nothing, not even whether it has guessed one.
func (g *guard) refuse(r *http.Request) (*team.Caller, *Problem) {
	if p := g.foreign(r); p != nil {
		return nil, p
	}
	return g.stranger(r)
}

// foreign says why a request's host or origin is not one of this server.
func (g *guard) foreign(r *http.Request) *Problem {
	if !g.called(r.Host) {
		return problem(http.StatusMisdirectedRequest, fmt.Sprintf("the request is for the host %q, which this server is not", r.Host),
			"call it by the address that it printed, or name the host with --host")
	}
	origin := r.Header.Get("Origin")
	if g.origins.has(origin) {
		return nil
	}
	if origin != "" {
		if u, err := url.Parse(origin); err != nil || !strings.EqualFold(u.Host, r.Host) {
			return problem(http.StatusForbidden, fmt.Sprintf("the request comes from a page of %q", origin), otherSites)
		}
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
		return problem(http.StatusForbidden, "the request comes from a page of another site", otherSites)
	}
	return nil
}

// stranger says why a request has no token that counts, or whose it is.
func (g *guard) stranger(r *http.Request) (*team.Caller, *Problem) {
	if g.open[r.URL.Path] && (r.URL.Path != signInPath || r.Method == http.MethodPost) {
		return nil, nil
	}
	token, ok := tokenOf(r)
	if !ok {
		return nil, problem(http.StatusUnauthorized, "the request has no token", "send the header Authorization: Bearer TOKEN; gantry serve --new-token makes one, and owners of a team make others")
	}
	c, err := g.caller(token)
	switch {
	case errors.Is(err, team.ErrUnknown):
		return nil, problem(http.StatusUnauthorized, "the token is not one of this server", "gantry serve --new-token makes the server's own in place of the old one; owners make those of a team: gantry team token add")
	case errors.Is(err, team.ErrEnded):
		return nil, problem(http.StatusUnauthorized, err.Error(), "ask an owner of the team for another one: gantry team token add")
	case err != nil:
		return nil, problem(http.StatusInternalServerError, "the token cannot be compared: "+err.Error(), "look at the server's log")
	}
	return &c, nil
}

// called reports whether the server may be called by a Host header.
func (g *guard) called(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	return slices.Contains(g.hosts, strings.ToLower(strings.Trim(name, "[]")))
}
