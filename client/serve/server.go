package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

	"github.com/gantry-market/gantry/client/catalogue"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/team"
	"github.com/gantry-market/gantry/client/template"
	"github.com/gantry-market/gantry/inference"
	"github.com/gantry-market/gantry/internal/version"
	"github.com/gantry-market/gantry/sdk/sponsor/desk"
	"github.com/gantry-market/gantry/web"
)

// Options of a server.
type Options struct {
	Service *service.Service
	Store   *Store
	// Buyer orders and ends leases for the customer.
	Buyer Buyer
	// Clusters shows and ends the customer's clusters; nil for a server without them.
	Clusters Clusters
	// Volumes are those that the customer keeps; nil for a server without them.
	Volumes Volumes
	// Extender gives the customer's leases more time.
	Extender Extender
	// Forwarder leads ports of this machine into containers.
	Forwarder Forwarder
	// Names finds the public addresses that gateways have given to ports of an order's leases; nil for none.
	Names func(ctx context.Context, order solana.PublicKey) (map[uint16]string, error)
	// Outputs reads the output of the customer's jobs.
	Outputs Outputs
	// Machines speaks with the machines of leases; nil where the server acts for nobody.
	Machines Machines
	// Inspections tells what came of measuring leases beside their jobs; nil where nothing is measured.
	Inspections service.Inspections
	// Attestations tells what machines of leases have proved before they got their jobs; nil where nobody knows.
	Attestations service.Attestations
	// Latencies measures round trips from here; a server without it measures none.
	Latencies Latencies
	// Events keeps the changes of the customer's accounts; a server without it has none, and asks the cluster for every answer.
	Events *Events
	// Checks counts the checks of machines by day and hour; nil for none.
	Checks *Checks
	// LeaseNames keeps what people call their leases; a server without it names none.
	LeaseNames *LeaseNames
	// Samples keeps what the market was; nil for a server without a history of it.
	Samples *Samples
	// Inference has the deployments, whose requests come to /openai/v1; nil for none.
	Inference *inference.Service
	// Team has the members with their tokens, and the log of changes; nil for none of it.
	Team *team.Store
	// Budgets are those of the team; a server without them has its own session key alone.
	Budgets Budgets
	// Templates may be ordered by name.
	Templates template.Set
	// Catalogue are open models that may be ordered by name; nil for none.
	Catalogue *catalogue.Catalogue
	// Customer is whom the server acts for.
	Customer solana.PublicKey
	// Session is the key that it signs with.
	Session solana.PublicKey
	// Hosts are names and addresses by which the server may be called, besides those of loopback.
	Hosts []string
	// Origins are those of other sites whose pages may use the server; nil for none.
	Origins *Origins
	// Page is the web page; a server without it has none.
	Page []*web.File
	// Wallet is for what the customer's own key signs, in a browser; nil where there is no page.
	Wallet Wallet
	// Funding brings money to the customer's credits from outside.
	Funding Funding
	// Sponsor pays fees and rent of callers; nil where there is none.
	Sponsor *desk.Desk
	// Local says that the cluster is a local network.
	Local bool
	// Public makes a server that shows the market to everyone: it needs no token, and has nothing of an account.
	Public bool
	// Actions are what wallets and other sites show of a public server; nil for none.
	Actions *Actions
	// Metrics count requests and show the customer's accounts; nil for no figures.
	Metrics *Metrics
	Log     zerolog.Logger
}

// Server is the HTTP API.
type Server struct {
	o       Options
	handler http.Handler
	// patterns are those of all that it answers, besides what guard and public pass on.
	patterns []string
	orders   orders
	signIns  signIns
	streams  streams
	reads    streams // of output, which end soon
	audits   limit
	// deposits are what actions hand out in a time.
	deposits *rate.Limiter
	files    limit
	uses     uses

	challenges *challenges
	// forwards are the ports that lead into containers.
	forwards forwards
}

// New is a server that does not listen yet.
func New(o Options) *Server {
	s := &Server{
		o: o, orders: orders{running: map[string]*buying{}}, audits: make(limit, maxAudits), files: make(limit, maxFiles),
		signIns: signIns{now: time.Now, tokens: map[[32]byte]signedInAs{}}, challenges: newChallenges(time.Now),
	}
	s.orders.ended = func(b Bought, r OrderRequest, err error) {
		o.Metrics.bought(err)
		if err == nil {
			s.declared(b, r)
			s.labelled(b.Order, imageName(r.Image))
		}
	}
	mux := &routes{}
	s.api(mux)
	open := map[string]bool{"/openapi.json": true, "/health": true, signInPath: true}
	if len(o.Page) > 0 {
		open[aboutPath] = true
	}
	if o.Wallet != nil {
		open[challengePath], open[walletPath] = true, true
	}
	for _, f := range o.Page {
		open[f.Path] = true
		pattern := f.Path
		if pattern == "/" {
			pattern = "/{$}"
		}
		mux.Handle(http.MethodGet+" "+pattern, f)
	}
	s.patterns = mux.patterns
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	for _, h := range o.Hosts {
		hosts = append(hosts, strings.ToLower(h))
	}
	if o.Public {
		s.handler = o.Metrics.counted(s.recovered(s.everyone(hosts, s.logged(found(mux)))))
		return s
	}
	g := &guard{hosts: hosts, origins: o.Origins, open: open, caller: s.caller, next: s.logged(found(mux))}
	if o.Inference != nil {
		g.openai = o.Inference
	}
	s.handler = o.Metrics.counted(s.recovered(s.public(g)))
	return s
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// routes are a mux that remembers its patterns.
type routes struct {
	http.ServeMux
	patterns []string
}

// Handle adds a handler.
func (m *routes) Handle(pattern string, h http.Handler) {
	m.patterns = append(m.patterns, pattern)
	m.ServeMux.Handle(pattern, h)
}

// HandleFunc implements humago.Mux.
func (m *routes) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	m.Handle(pattern, http.HandlerFunc(h))
}

// api registers the operations on a mux.
func (s *Server) api(mux *routes) huma.API {
	settings()
	c := huma.DefaultConfig("Gantry", "1")
	c.Info.Description = "Searches and buys GPU compute on the Gantry market. Amounts are USDC, times are unix seconds, unless a field says otherwise."
	c.Formats = strictFormats()
	c.CreateHooks = nil // they add a field $schema to every answer
	c.DocsPath = ""     // its page loads scripts of others
	c.SchemasPath = ""  // the document has all of them
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer"}}
	c.Security = []map[string][]string{{"token": {}}}
	api := humago.New(mux, c)
	api.UseMiddleware(authorise, valued(api))
	if s.o.Public {
		s.registerPublic(api)
		if s.o.Actions != nil {
			s.registerActions(mux)
		}
		return api
	}
	s.register(api)
	if len(s.o.Page) > 0 {
		s.registerAbout(api)
	}
	if s.o.Wallet != nil {
		s.registerWallet(api)
	}
	if s.o.Machines != nil {
		s.registerMachines(api, mux)
	}
	if s.o.Sponsor != nil {
		mux.HandleFunc(http.MethodPost+" "+SponsorPath, s.sponsor)
	}
	// huma takes an array of bytes for base64; encoding/json writes numbers.
	if params, ok := api.OpenAPI().Components.Schemas.Map()["Params"]; ok {
		params.Properties["pad"] = &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeInteger}, Description: "Unused"}
	}
	return api
}

// Serve answers requests until ctx ends, then waits for those that are being answered. It closes the listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler: s, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second, WriteTimeout: answerWithin + 5*time.Second,
		IdleTimeout: time.Minute, MaxHeaderBytes: maxHeader,
	}
	srv.RegisterOnShutdown(s.streams.end)
	srv.RegisterOnShutdown(s.reads.end)
	if s.o.Events != nil {
		end, err := s.keepEvents(ctx)
		if err != nil {
			return errors.Join(err, l.Close())
		}
		defer end()
	}
	defer s.orders.begin(ctx)()
	defer s.forwards.begin(ctx)()
	if s.o.Samples != nil {
		defer s.beginSamples(ctx)()
	}
	if s.o.Machines != nil && s.o.Events != nil { // whose leases are in memory
		defer s.beginUses(ctx)()
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	select {
	case err := <-done:
		return fmt.Errorf("server: %w", err)
	case <-ctx.Done():
	}
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := srv.Shutdown(wait)
	if errors.Is(err, context.DeadlineExceeded) {
		err = srv.Close()
	}
	<-done
	return err
}

// found answers what the mux does not know with a problem; its own answers are plain text.
func found(mux *routes) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern != "" {
			answers(r.Context(), pattern)
			mux.ServeHTTP(w, r)
			return
		}
		var allowed []string
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
			other := r.Clone(r.Context())
			other.Method = method
			if _, pattern := mux.Handler(other); pattern != "" {
				allowed = append(allowed, method)
			}
		}
		if len(allowed) == 0 {
			problem(http.StatusNotFound, fmt.Sprintf("there is nothing at %q", r.URL.Path), "see the paths in /openapi.json").write(w)
			return
		}
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		problem(http.StatusMethodNotAllowed, fmt.Sprintf("%q cannot be asked with %s", r.URL.Path, r.Method), "use "+strings.Join(allowed, " or ")).write(w)
	})
}

// recovered answers a request whose handler has panicked, and goes on.
func (s *Server) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler {
				panic(v)
			}
			s.o.Log.Error().Interface("panic", v).Str("path", r.URL.Path).Msg("a request could not be answered")
			problem(http.StatusInternalServerError, "the server has a fault", "look at its log, version "+version.Build).write(w)
		}()
		next.ServeHTTP(w, r)
	})
}
