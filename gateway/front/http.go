package front

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/mholt/acmez/v3"

	"github.com/gantry-market/gantry/gateway/limit"
	"github.com/gantry-market/gantry/gateway/link"
	"github.com/gantry-market/gantry/gateway/toll"
	"github.com/gantry-market/gantry/sdk/tunnel"
)

const (
	headerTime = 10 * time.Second
	keepTime   = 2 * time.Minute // of a client's connection between requests
	// maxHeader bounds the headers of requests, maxAnswerHeader those of answers: the container may be hostile too.
	maxHeader       = 32 << 10
	maxAnswerHeader = 64 << 10
	// streamsOfOne is how many requests a client of HTTP/2 may have open.
	streamsOfOne = 64
	// pooled is how many connections to one port of a container wait for the next request, and how long.
	pooled     = 8
	pooledTime = 30 * time.Second
)

// claimed are headers in which proxies tell whom they speak for. Visitors may write what they like, and a container would
// believe it: what the gateway knows is in X-Forwarded-For.
var claimed = []string{
	"X-Real-Ip", "True-Client-Ip", "Cf-Connecting-Ip", "Cf-Connecting-Ipv6", "Cf-Pseudo-Ipv4", "Fastly-Client-Ip", "Fly-Client-Ip",
	"X-Client-Ip", "X-Cluster-Client-Ip", "X-Original-Forwarded-For", "X-Envoy-External-Address", "X-Azure-Clientip", "X-Appengine-User-Ip",
	"X-Forwarded", "Forwarded-For", "X-Forwarded-By", "X-Forwarded-Port", "X-Forwarded-Server", "X-Remote-Ip", "X-Remote-Addr", "Client-Ip",
}

// newHTTP is the server of clients whose TLS ends here.
func (s *Server) newHTTP() *http.Server {
	quiet := log.New(io.Discard, "", 0) // what clients and containers do wrong could fill the log
	transport := &http.Transport{
		DialContext: s.dial, DisableCompression: true, MaxResponseHeaderBytes: maxAnswerHeader,
		MaxIdleConns: 512, MaxIdleConnsPerHost: pooled, IdleConnTimeout: pooledTime,
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			label, _, _ := strings.Cut(r.In.Host, ".")
			r.SetURL(&url.URL{Scheme: "http", Host: strings.ToLower(label)})
			r.Out.Host = r.In.Host
			r.SetXForwarded()
			for _, h := range claimed {
				r.Out.Header.Del(h)
			}
		},
		Transport: transport, ModifyResponse: ownCookies, ErrorHandler: s.failed, ErrorLog: quiet, FlushInterval: -1,
	}
	return &http.Server{
		Handler:                      http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.request(w, r, proxy) }),
		DisableGeneralOptionsHandler: true, // it would answer for the container
		ReadHeaderTimeout:            headerTime, IdleTimeout: keepTime, MaxHeaderBytes: maxHeader, ErrorLog: quiet,
		HTTP2:     &http.HTTP2Config{MaxConcurrentStreams: streamsOfOne},
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.o.Certificate, NextProtos: []string{acmez.ACMETLS1Protocol}},
	}
}

// request passes a request on to the port that its host names.
func (s *Server) request(w http.ResponseWriter, r *http.Request, proxy http.Handler) {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	e, port, ok := s.find(host)
	if !ok {
		s.o.Seen("unknown name")
		say(w, http.StatusNotFound, "No lease has this address here: it has ended, its customer has taken the address back, or it was never there.")
		return
	}
	if port.TLS { // a connection to another name of this certificate was used again
		say(w, http.StatusMisdirectedRequest, "This address has its own certificate: open a new connection.")
		return
	}
	if r.URL.Path == "*" { // OPTIONS * is about a whole server, and here are many
		say(w, http.StatusBadRequest, "This address passes on requests for a path alone.")
		return
	}
	free, err := e.Places.Take(from(r))
	if err != nil {
		s.o.Seen("lease full")
		w.Header().Set("Retry-After", "1")
		say(w, http.StatusServiceUnavailable, "Too many requests are open at this address; try again in a moment.")
		return
	}
	defer free()
	if err := e.Toll.Check(); err != nil {
		s.failed(w, r, err)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	stop := context.AfterFunc(e.Lasts, cancel)
	defer stop()
	s.o.Seen("requests")
	r = r.WithContext(ctx)
	w = s.patiently(w, r)
	proxy.ServeHTTP(w, r)
}

// from is who asks.
func from(r *http.Request) net.Addr {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return nil
	}
	return net.TCPAddrFromAddrPort(at)
}

// dial connects with the port of a label, for requests that come later too.
func (s *Server) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	label, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	e, port, ok := s.o.Find(label)
	if !ok || port.TLS {
		return nil, errGone
	}
	c, err := s.o.Dial(ctx, e, port.Port)
	if err != nil {
		return nil, err
	}
	return limit.Paced(e.Lasts, limit.Idle(c, s.o.Idle), e.Rate, e.Toll, e.In, e.Out), nil
}

var errGone = errors.New("the grant has ended")

// failed tells a client why its request was not answered.
func (s *Server) failed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil && !errors.Is(err, errGone) { // the client has gone, or the grant
		s.o.Seen("broken off")
		say(w, http.StatusBadGateway, "The connection to the container has ended.")
		return
	}
	if errors.Is(err, errSlow) {
		s.o.Seen("too slow")
		w.Header().Set("Connection", "close")
		say(w, http.StatusRequestTimeout, "The body of the request comes too slowly.")
		return
	}
	var unpaid *toll.UnpaidError
	if errors.As(err, &unpaid) {
		s.o.Seen("unpaid")
		say(w, http.StatusPaymentRequired, upper(unpaid.Why)+".")
		return
	}
	s.o.Seen("unreachable")
	var unreachable *link.UnreachableError
	switch {
	case errors.As(err, &unreachable):
		say(w, http.StatusBadGateway, upper(unreachable.Why)+".")
	case errors.Is(err, tunnel.ErrNothingListens):
		say(w, http.StatusBadGateway, "Nothing in the container listens on this port: the job may still be starting.")
	case errors.Is(err, errGone):
		say(w, http.StatusNotFound, "No lease has this address here any more.")
	case errors.Is(err, tunnel.ErrNotGranted), errors.Is(err, tunnel.ErrBroken):
		say(w, http.StatusBadGateway, upper(err.Error())+".")
	default:
		say(w, http.StatusBadGateway, "The container did not answer with HTTP: the job may have ended, or speaks something else on this port.")
	}
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// say answers with one sentence.
func say(w http.ResponseWriter, code int, sentence string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, sentence+"\n")
}

// ownCookies keeps the cookies of a container to its own name: they could otherwise be set for every lease of the domain.
func ownCookies(r *http.Response) error {
	all := r.Header["Set-Cookie"]
	for i, line := range all {
		if !strings.Contains(strings.ToLower(line), "domain") {
			continue
		}
		c, err := http.ParseSetCookie(line)
		if err != nil {
			all[i] = ""
			continue
		}
		c.Domain = ""
		all[i] = c.String()
	}
	kept := all[:0]
	for _, line := range all {
		if line != "" {
			kept = append(kept, line)
		}
	}
	if len(kept) == 0 {
		r.Header.Del("Set-Cookie")
	} else {
		r.Header["Set-Cookie"] = kept
	}
	return nil
}
