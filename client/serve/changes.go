package serve

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/gantry-market/gantry/client/team"
)

// change is what a request has changed, as the log will have it.
type change struct {
	order  string
	leases []string
}

type changeKey struct{}

// bought notes what a request has bought for the log of changes.
func bought(ctx context.Context, o Order) {
	ch, logged := ctx.Value(changeKey{}).(*change)
	if !logged {
		return
	}
	ch.order = o.Order
	for _, l := range o.Leases {
		ch.leases = append(ch.leases, l.Address)
	}
}

// answer notes the status of an answer.
type answer struct {
	http.ResponseWriter
	status int
}

// Unwrap implements what http.ResponseController asks.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return a.ResponseWriter.Write(b)
}

// Hijack implements http.Hijacker, for WebSockets.
func (a *answer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	a.status = http.StatusSwitchingProtocols
	return http.NewResponseController(a.ResponseWriter).Hijack()
}

// changes reports whether a request may change something. Changes of the team are logged where they are made.
func changes(r *http.Request) bool {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	return (!reads || isSocket(r)) && !strings.HasPrefix(r.URL.Path, teamPath+"/")
}

// logged writes who is about to change something before it is changed, and how it was answered afterwards.
func (s *Server) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, known := callerOf(r.Context())
		if s.o.Team == nil || !known || !changes(r) {
			next.ServeHTTP(w, r)
			return
		}
		done, err := s.o.Team.Begin(team.Line{Caller: c, Action: r.Method + " " + r.URL.Path, Key: r.Header.Get("Idempotency-Key")})
		if err != nil {
			s.o.Log.Error().Err(err).Msg("the log of changes cannot be written: nothing is changed")
			problem(http.StatusInternalServerError, "the log of changes cannot be written, and nothing was changed: "+err.Error(), "make room on the server's disk, or see: gantry team log --check").write(w)
			return
		}
		a, ch := &answer{ResponseWriter: w}, &change{}
		defer func() {
			result := "not known: the answer was not finished"
			if a.status != 0 {
				result = fmt.Sprintf("%d %s", a.status, http.StatusText(a.status))
			}
			if err := done(result, ch.order, ch.leases); err != nil {
				s.o.Log.Error().Err(err).Msg("the log of changes lacks a result")
			}
		}()
		next.ServeHTTP(a, r.WithContext(context.WithValue(r.Context(), changeKey{}, ch)))
	})
}

// signedIn logs that a browser signs in, before it has its token.
func (s *Server) signedIn(member string) error {
	if s.o.Team == nil {
		return nil
	}
	done, err := s.o.Team.Begin(team.Line{Caller: team.Caller{Member: member, Token: team.TokenPage}, Action: "sign-in"})
	if err != nil {
		return err
	}
	return done("done", "", nil)
}
