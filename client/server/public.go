package server

import (
	"context"
	"os"
	"path/filepath"

	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/web"
)

// Public opens what a server needs that shows the market to everyone: the page, and the market's figures of the past, which it keeps
// below root. It has no key. The caller closes it.
func Public(ctx context.Context, client *chain.Client, s *service.Service, root string, log zerolog.Logger) (o serve.Options, closed func() error, err error) {
	genesis, err := client.Genesis(ctx)
	if err != nil {
		return o, nil, err
	}
	o = serve.Options{Service: s, Public: true, Local: chain.ClusterOf(genesis) == chain.ClusterLocal, Log: log}
	if o.Page, err = web.Files(false); err != nil { // the wallet for development signs in to nothing here
		return o, nil, err
	}
	dir := filepath.Join(root, "serve", genesis.String())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return o, nil, err
	}
	if o.Samples, err = serve.OpenSamples(filepath.Join(dir, "public-statistics.db"), genesis); err != nil {
		return o, nil, err
	}
	return o, o.Samples.Close, nil
}
