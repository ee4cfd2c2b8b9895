package server

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/web"
)

// PublicOptions configure a server that shows the market to everyone. It has no key.
type PublicOptions struct {
	Client    *chain.Client
	Service   *service.Service
	Root      string // the market's figures of the past are kept below it
	Listening *Listening
	// Base is the public address at which wallets ask, for whom Sender, which needs no key, builds deposits; nil for no actions.
	Base    *url.URL
	Sender  *buy.Sender
	Figures Figures
	Serving func(url string) error // is told when the server answers
	Log     zerolog.Logger
}

// ServePublic shows the market to everyone until ctx is done.
func ServePublic(ctx context.Context, o PublicOptions) (err error) {
	public, closed, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closed()) }()
	if o.Base != nil {
		actions, end, err := openActions(ctx, o.Service, o.Sender, o.Base)
		if err != nil {
			return err
		}
		defer end()
		public.Actions, public.Hosts = actions, append(slices.Clone(public.Hosts), o.Base.Hostname())
	}
	shown, err := o.Figures.open(&public)
	if err != nil {
		return err
	}
	kept, cancel := context.WithCancel(ctx)
	defer cancel()
	wait, err := o.Service.Keep(kept)
	if err != nil {
		return err
	}
	defer func() {
		cancel()
		wait()
	}()
	// Its answers are public, and it accepts no secrets: plain HTTP is allowed on any address.
	o.Listening.Plain = true
	l, err := o.Listening.Listen()
	if err != nil {
		return err
	}
	if err := o.Serving(o.Listening.URL(l)); err != nil {
		return errors.Join(err, l.Close())
	}
	told, err := tellSystemd(ctx, o.Log)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer told()
	g, ctx := errgroup.WithContext(ctx)
	runFigures(ctx, g, shown)
	g.Go(func() error { return serve.New(public).Serve(ctx, l) })
	return g.Wait()
}

// open opens the page and the figures of the past. The caller closes them.
func (o *PublicOptions) open(ctx context.Context) (public serve.Options, closed func() error, err error) {
	genesis, err := o.Client.Genesis(ctx)
	if err != nil {
		return public, nil, err
	}
	local := chain.ClusterOf(genesis) == chain.ClusterLocal
	public = serve.Options{Service: o.Service, Public: true, Local: local, Hosts: o.Listening.Names, Log: o.Log}
	if public.Page, err = web.Files(false); err != nil { // the wallet for development signs in to nothing here
		return public, nil, err
	}
	dir := filepath.Join(o.Root, "serve", genesis.String())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return public, nil, err
	}
	if public.Samples, err = serve.OpenSamples(filepath.Join(dir, "public-statistics.db"), genesis); err != nil {
		return public, nil, err
	}
	if public.Checks, err = serve.OpenChecks(filepath.Join(dir, "public-checks.db"), genesis); err != nil {
		return public, nil, errors.Join(err, public.Samples.Close())
	}
	return public, func() error { return errors.Join(public.Checks.Close(), public.Samples.Close()) }, nil
}
