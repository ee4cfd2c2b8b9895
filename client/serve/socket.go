package serve

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/internal/socket"
	"github.com/gantry-market/gantry/internal/upgrade"
)

// bearerProtocol begins the second protocol that a client of a WebSocket names, which carries its token: a browser sends no header of
// the page's with a WebSocket.
const bearerProtocol = "gantry.bearer."

// isSocket reports whether a request opens a WebSocket: a terminal, or a command.
func isSocket(r *http.Request) bool {
	path := r.URL.Path
	return (strings.HasPrefix(path, leasesPath) && strings.HasSuffix(path, "/terminal") || strings.HasPrefix(path, apiLeasesPath) && strings.HasSuffix(path, execSuffix)) &&
		upgrade.Wanted(r)
}

// tokenOf is the token of a request.
func tokenOf(r *http.Request) (token string, ok bool) {
	if isSocket(r) {
		for _, p := range upgrade.Protocols(r) {
			if token, ok = strings.CutPrefix(p, bearerProtocol); ok {
				return token, true
			}
		}
	}
	if key := r.Header.Get(apiKey); key != "" && r.URL.Path == SponsorPath {
		return key, true
	}
	token, ok = strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return strings.TrimSpace(token), ok
}

// entered is the lease of a request that enters its container, and who does.
func (s *Server) entered(r *http.Request, operation string) (solana.PublicKey, Actor, error) {
	id, err := address(r.PathValue("id"))
	if err != nil {
		return id, Actor{}, err
	}
	c, _ := callerOf(r.Context())
	if p := permitted(c, operation); p != nil {
		return id, Actor{}, p
	}
	a, err := s.actorOf(r.Context(), id, false)
	if err == nil && a.Machines == nil {
		err = problem(http.StatusServiceUnavailable, "this server does not reach machines", "use gantry ssh or gantry exec")
	}
	return id, a, err
}

// accept opens the WebSocket of a request that enters the container of a lease. Nil: it has answered why not.
func (s *Server) accept(w http.ResponseWriter, r *http.Request, operation, protocol string, slow time.Duration) (solana.PublicKey, Actor, *socket.Socket) {
	id, a, err := s.entered(r, operation)
	if err != nil {
		var p *Problem
		if errors.As(err, &p) {
			p.write(w)
		}
		return id, a, nil
	}
	if !upgrade.Wanted(r) {
		w.Header().Set("Upgrade", "websocket")
		problem(http.StatusUpgradeRequired, "this is asked with a WebSocket", "open one with the protocol "+protocol).write(w)
		return id, a, nil
	}
	// The guard has compared the origin.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{protocol}, InsecureSkipVerify: true})
	if err != nil {
		return id, a, nil // it has answered
	}
	return id, a, socket.New(conn, slow)
}

// ending is the last message of a WebSocket.
type ending struct {
	Ended    bool     `json:"ended"`
	ExitCode *int     `json:"exitCode,omitempty"`
	Problem  *Problem `json:"problem,omitempty"`
}

// endSocket says how it has ended.
func endSocket(c *socket.Socket, e ending, err error) {
	e.Ended = true
	errors.As(err, &e.Problem)
	if raw, err := json.Marshal(e); err == nil {
		_ = c.Send(websocket.MessageText, raw) // a client that is gone does not read it
	}
	_ = c.Close(websocket.StatusNormalClosure, "")
}
