package server

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"time"

	"github.com/gagliardetto/solana-go"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/wallet"
	"github.com/gantry-market/gantry/inference"
	"github.com/gantry-market/gantry/internal/alert"
	"github.com/gantry-market/gantry/internal/figures"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/txm"
	"github.com/gantry-market/gantry/web"
)

// Server is an HTTP API with what it acts with. What the caller adds to HTTP comes before [Server.Begin].
type Server struct {
	// HTTP is the API without templates, funding, names of hosts, and its page.
	HTTP serve.Options

	a      *Account
	models *inference.Service
	// budgets are those of the account. notices tells people what needs them; nil without [Server.Notify].
	budgets *budgets
	notices *alert.Sender
	figures *figures.Server // nil without [Server.Show]
	api     *serve.Server
	ends    []func() error // in the order of what was opened
}

// Open opens what an HTTP API of the account acts with. The caller closes it, and the account after it.
func Open(ctx context.Context, a *Account) (_ *Server, err error) {
	s := &Server{a: a}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	o := serve.Options{Service: a.Service, Customer: a.Customer, Session: a.Key.PublicKey(), Names: s.publicNames, Log: a.Log}
	if o.Store, err = serve.OpenStore(s.file("serve.db"), o.Session); err != nil {
		return nil, err
	}
	s.end(o.Store.Close)
	if err := s.seen(ctx, &o); err != nil {
		return nil, err
	}
	inspections, end := buy.NewInspections(ctx)
	a.Inspections, o.Inspections = inspections, inspections
	s.end(func() error { end(); return nil })
	own, closeExtender, err := a.extender(ctx)
	if err != nil {
		return nil, err
	}
	s.end(func() error { closeExtender(); return nil })
	by, err := a.acting(ctx, httpPurchases)
	if err != nil {
		return nil, err
	}
	endAttending := by.attend(ctx)
	s.end(func() error { endAttending(); return nil })
	if o.Machines, err = a.acting(ctx, ""); err != nil {
		return nil, err
	}
	b, err := openBudgets(ctx, a, own)
	if err != nil {
		return nil, err
	}
	s.end(func() error { b.close(); return nil })
	if err := b.resumeInspections(); err != nil {
		return nil, err
	}
	models, closeModels, err := b.models(o.Store)
	if err != nil {
		return nil, err
	}
	s.end(closeModels)
	if a.Bucket.Folder != "" {
		o.Volumes = a
	}
	o.Buyer, o.Clusters, o.Forwarder, o.Outputs, o.Extender, o.Budgets, o.Attestations, o.Team, o.Inference = by, by, by, by, own, b, b, b.team, models
	s.HTTP, s.models, s.budgets = o, models, b
	return s, nil
}

// AddPage lets the server show its page, on which the customer's wallet signs.
func (s *Server) AddPage(ctx context.Context) error {
	a := s.a
	genesis, err := a.Client.Genesis(ctx)
	if err != nil {
		return err
	}
	s.HTTP.Local = chain.ClusterOf(genesis) == chain.ClusterLocal
	if s.HTTP.Page, err = web.Files(s.HTTP.Local); err != nil {
		return err
	}
	unsigned := &buy.Sender{Client: a.Client, Fees: a.Fees, Log: a.Log, Waiting: a.Waiting}
	m, end, err := unsigned.OpenFor(ctx, s.file("serve-wallet.db"), txm.Options{Keys: txm.Keys{}, Payer: a.Customer})
	if err != nil {
		return err
	}
	s.end(func() error { end(); return nil })
	// What the wallet signed before the server ended is followed to its end.
	if _, err := m.Resume(nil); err != nil {
		return err
	}
	s.HTTP.Wallet = wallet.New(wallet.Options{Client: a.Client, Service: a.Service, Manager: m, Customer: a.Customer, Session: a.Key.PublicKey(), Now: time.Now})
	return nil
}

// Show shows the server's figures while it runs, and returns where; empty for nowhere. Call it after Notify and before Begin.
func (s *Server) Show(f Figures) (addr string, err error) {
	if s.figures, err = f.open(&s.HTTP); s.figures == nil {
		return "", err
	}
	if s.notices != nil {
		countNotices(s.HTTP.Metrics.Registry, s.notices)
	}
	return s.figures.Addr(), nil
}

// Begin makes the API of what HTTP says.
func (s *Server) Begin() *serve.Server {
	s.api = serve.New(s.HTTP)
	return s.api
}

// Run answers requests, and runs deployments of models, until ctx ends.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	told, err := tellSystemd(ctx, s.a.Log)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer told()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.models.Run(ctx) })
	g.Go(func() error { return s.api.Serve(ctx, l) })
	if s.notices != nil {
		g.Go(func() error { return s.notify(ctx) })
	}
	runFigures(ctx, g, s.figures)
	return g.Wait()
}

// Close ends what was opened, the last first.
func (s *Server) Close() error {
	var err error
	for i := len(s.ends) - 1; i >= 0; i-- {
		err = errors.Join(err, s.ends[i]())
	}
	s.ends = nil
	return err
}

func (s *Server) end(f func() error) { s.ends = append(s.ends, f) }

func (s *Server) file(name string) string { return filepath.Join(s.a.folder.Dir(), name) }

// seen opens what the server keeps of what it has seen: the changes of the customer's accounts, the names of leases, and the market's figures.
func (s *Server) seen(ctx context.Context, o *serve.Options) error {
	genesis, err := s.a.Client.Genesis(ctx)
	if err != nil {
		return err
	}
	if o.Events, err = serve.OpenEvents(s.file("events.db"), o.Customer); err != nil {
		return err
	}
	s.end(o.Events.Close)
	own, err := s.a.ofCustomer(ctx)
	if err != nil {
		return err
	}
	o.LeaseNames = serve.NewLeaseNames(own)
	if o.Samples, err = serve.OpenSamples(s.file("statistics.db"), genesis); err != nil {
		return err
	}
	s.end(o.Samples.Close)
	if o.Checks, err = serve.OpenChecks(s.file("checks.db"), genesis); err != nil {
		return err
	}
	s.end(o.Checks.Close)
	return nil
}

// publicNames are the addresses that gateways have given to ports of an order of the customer.
func (s *Server) publicNames(ctx context.Context, order solana.PublicKey) (map[uint16]string, error) {
	f, err := s.a.ofCustomer(ctx)
	if err != nil {
		return nil, err
	}
	return f.Published(order, s.a.Service.Clock.Latest(ctx))
}
