package serve

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"

	"github.com/gantry-market/gantry/internal/addrgroup"
)

// What a visitor of a public server may ask: so many requests a second, and so many at once. What reads histories counts for
// heavyCost of them.
const (
	visitorRate  = 10
	visitorBurst = 120
	heavyCost    = 12
	// maxVisitors is how many are told apart; of those that were away longest nothing is remembered.
	maxVisitors = 4096
	// maxAnswers is how many answers are kept, and maxAnswer how long one of them may be, bytes.
	maxAnswers = 256
	maxAnswer  = 4 << 20
)

// heavy are beginnings of paths whose answers are read from many transactions.
var heavy = []string{"/v1/audit/", actionAudit + "/", "/v1/nodes/", "/v1/slashes", "/v1/why/", "/v1/providers/"}

func isHeavy(path string) bool {
	for _, h := range heavy {
		if strings.HasPrefix(path, h) {
			return true
		}
	}
	return false
}

// keptAnswer is how long an answer is good for everyone.
func keptAnswer(path string) time.Duration {
	switch {
	case isHeavy(path):
		return 30 * time.Second
	case strings.HasPrefix(path, "/v1/statistics/history"), strings.HasPrefix(path, checksPath):
		return time.Minute
	}
	return 3 * time.Second
}

// registerPublic adds the operations that are of nobody.
func (s *Server) registerPublic(api huma.API) {
	s.registerMarket(api)
	s.registerHistory(api)
	s.registerProvider(api)
	s.registerAbout(api)
	api.OpenAPI().Security = nil
}

// sharedAnswer is what is kept of a request.
type sharedAnswer struct {
	status int
	kind   string
	body   []byte
	etag   string
	until  time.Time
}

// takenDown takes an answer down.
type takenDown struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *takenDown) Header() http.Header { return r.header }

func (r *takenDown) WriteHeader(status int) { r.status = status }

func (r *takenDown) Write(b []byte) (int, error) { return r.body.Write(b) }

// everyone lets anybody read, without a token: each so often, and all of them the same answers for a short time.
func (s *Server) everyone(hosts []string, next http.Handler) http.Handler {
	visitors, _ := lru.New[netip.Prefix, *rate.Limiter](maxVisitors) // its only error is of a size that is none
	answers, _ := lru.New[string, sharedAnswer](maxAnswers)
	p := &publicHandler{guard: &guard{hosts: hosts}, next: next, actions: s.o.Actions, visitors: visitors, answers: answers, files: map[string]bool{}}
	for _, f := range s.o.Page {
		p.files[f.Path] = true
	}
	return p
}

// publicHandler answers everyone.
type publicHandler struct {
	guard    *guard
	next     http.Handler
	actions  *Actions        // nil for none
	files    map[string]bool // the page's, which say for themselves how they are kept
	mu       sync.Mutex
	visitors *lru.Cache[netip.Prefix, *rate.Limiter]
	answers  *lru.Cache[string, sharedAnswer]
	flight   singleflight.Group
}

func (p *publicHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := harmless(w)
	switch {
	case !p.guard.called(r.Host):
		problem(http.StatusMisdirectedRequest, fmt.Sprintf("the request is for the host %q, which this server is not", r.Host), "name the host with --host").write(w)
	case p.actions != nil && isAction(r.URL.Path):
		p.action(w, r)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		problem(http.StatusMethodNotAllowed, "this server shows the market, and changes nothing", "buy with gantry deploy, or with a gantry serve of your own").write(w)
	case p.files[r.URL.Path]:
		p.next.ServeHTTP(w, r)
	case !p.admits(r):
		h.Set("Retry-After", "2")
		problem(http.StatusTooManyRequests, "too many requests came from this address", "ask again in a few seconds, or run a gantry serve of your own").write(w)
	default:
		p.shared(w, r)
	}
}

// visitor is whose request it is, by the group of the address: of a proxy on this machine, of the one that the proxy names last.
func visitor(r *http.Request) netip.Prefix {
	from, _ := netip.ParseAddrPort(r.RemoteAddr) // what is no address is counted together
	ip := from.Addr()
	if ip.IsLoopback() {
		all := strings.Split(r.Header.Get("X-Forwarded-For"), ",")
		if named, err := netip.ParseAddr(strings.TrimSpace(all[len(all)-1])); err == nil {
			ip = named
		}
	}
	return addrgroup.Of(ip)
}

// admits says whether a visitor may ask now.
func (p *publicHandler) admits(r *http.Request) bool {
	who := visitor(r)
	p.mu.Lock()
	l, known := p.visitors.Get(who)
	if !known {
		l = rate.NewLimiter(visitorRate, visitorBurst)
		p.visitors.Add(who, l)
	}
	p.mu.Unlock()
	cost := 1
	if isHeavy(r.URL.Path) || r.Method == http.MethodPost {
		cost = heavyCost
	}
	return l.AllowN(time.Now(), cost)
}

// shared answers with what is kept, or reads it once for all that ask at the same time.
func (p *publicHandler) shared(w http.ResponseWriter, r *http.Request) {
	key := r.URL.Path + "?" + r.URL.Query().Encode()
	a, known := p.answers.Get(key)
	if !known || time.Now().After(a.until) {
		v, _, _ := p.flight.Do(key, func() (any, error) { return p.read(key, r), nil })
		a = v.(sharedAnswer)
	}
	h := w.Header()
	h.Set("Content-Type", a.kind)
	if a.status == http.StatusOK {
		left := max(time.Until(a.until), time.Second)
		h.Set("Cache-Control", fmt.Sprintf("public, max-age=%d", int(left.Round(time.Second)/time.Second)))
		h.Set("ETag", a.etag)
		if r.Header.Get("If-None-Match") == a.etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	w.WriteHeader(a.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(a.body) // a visitor that is gone does not read it
	}
}

// read answers a request for everyone: not the one that came first, whose visitor may leave.
func (p *publicHandler) read(key string, r *http.Request) sharedAnswer {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), answerWithin)
	defer cancel()
	asked := r.Clone(ctx)
	asked.Method, asked.Header = http.MethodGet, http.Header{}
	out := &takenDown{header: http.Header{}, status: http.StatusOK}
	p.next.ServeHTTP(out, asked)
	body := out.body.Bytes()
	sum := sha256.Sum256(body)
	a := sharedAnswer{status: out.status, kind: out.header.Get("Content-Type"), body: body, etag: fmt.Sprintf(`"%x"`, sum[:16]), until: time.Now().Add(keptAnswer(r.URL.Path))}
	if a.status == http.StatusOK && len(body) <= maxAnswer {
		p.answers.Add(key, a)
	}
	return a
}
