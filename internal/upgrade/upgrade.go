// Package upgrade reads the headers of an HTTP request that asks for a WebSocket, before it is accepted.
package upgrade

import (
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Wanted reports whether a request asks for a WebSocket (RFC 6455, section 4.1).
func Wanted(r *http.Request) bool {
	return httpguts.HeaderValuesContainsToken(r.Header["Connection"], "upgrade") &&
		httpguts.HeaderValuesContainsToken(r.Header["Upgrade"], "websocket")
}

// Protocols are the subprotocols that a request names, in its order.
func Protocols(r *http.Request) []string {
	var out []string
	for _, line := range r.Header["Sec-Websocket-Protocol"] {
		for p := range strings.SplitSeq(line, ",") {
			if p = strings.TrimSpace(p); p != "" {
				out = append(out, p)
			}
		}
	}
	return out
}
