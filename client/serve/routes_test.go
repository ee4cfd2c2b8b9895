package serve

import (
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/catalogue"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/team"
	"github.com/gantry-market/gantry/client/template"
	"github.com/gantry-market/gantry/inference"
	"github.com/gantry-market/gantry/sdk/sponsor/desk"
	"github.com/gantry-market/gantry/web"
)

// Fields of these names would hide methods.
type (
	anyClusters = Clusters
	anyVolumes  = Volumes
)

// everything is a server with each part that it can have. Nothing is behind them: what asks one is not refused before.
func everything(t *testing.T) Options {
	t.Helper()
	page, err := web.Files(true)
	require.NoError(t, err)
	store := testStore(t)
	_, err = store.NewToken()
	require.NoError(t, err)
	o := Options{
		Service: &service.Service{}, Store: store, Buyer: struct{ Buyer }{}, Clusters: struct{ anyClusters }{}, Volumes: struct{ anyVolumes }{}, Extender: struct{ Extender }{},
		Forwarder: struct{ Forwarder }{}, Outputs: struct{ Outputs }{}, Machines: struct{ Machines }{}, Inspections: struct{ service.Inspections }{},
		Attestations: struct{ service.Attestations }{}, Latencies: struct{ Latencies }{}, Events: &Events{}, Checks: &Checks{}, LeaseNames: &LeaseNames{}, Samples: &Samples{},
		Inference: &inference.Service{}, Team: &team.Store{}, Budgets: struct{ Budgets }{}, Templates: template.Set{}, Catalogue: &catalogue.Catalogue{},
		Customer: solana.PublicKey{1}, Session: solana.PublicKey{2}, Page: page, Wallet: struct{ Wallet }{}, Sponsor: &desk.Desk{}, Local: true, Log: zerolog.Nop(),
	}
	// These add no operation, or make a server of another kind.
	without := map[string]bool{"Names": true, "Hosts": true, "Origins": true, "Funding": true, "Public": true, "Actions": true, "Metrics": true, "Log": true, "Templates": true}
	for i, v := 0, reflect.ValueOf(o); i < v.NumField(); i++ {
		name := v.Type().Field(i).Name
		require.True(t, without[name] || !v.Field(i).IsZero(), "Options.%s is new: set it here, so that its operations are seen", name)
	}
	return o
}

var variable = regexp.MustCompile(`\{[^}]*\}`)

// Every operation asks for a token but those that are public on purpose, with the page and without.
func TestEveryOperationNeedsAToken(t *testing.T) {
	whole := everything(t)
	bare := whole
	bare.Page, bare.Wallet = nil, nil
	for name, try := range map[string]struct {
		o      Options
		public []string
	}{
		"with the page": {whole, []string{"GET /health", "GET /openapi.json", "POST " + signInPath, "GET " + aboutPath, "POST " + challengePath, "POST " + walletPath}},
		"without":       {bare, []string{"GET /health", "GET /openapi.json", "POST " + signInPath}},
	} {
		public := map[string]bool{}
		for _, p := range try.public {
			public[p] = true
		}
		for _, f := range try.o.Page {
			public["GET "+f.Path] = true
		}
		s := New(try.o)
		asked, guarded := map[string]bool{}, 0
		for _, pattern := range s.patterns {
			method, path, ok := strings.Cut(pattern, " ")
			require.True(t, ok, "%s: %q is for every method", name, pattern)
			path = variable.ReplaceAllString(strings.ReplaceAll(path, "{$}", ""), "x")
			w, _ := ask(t, s, method, path, "", nil)
			if public[method+" "+path] {
				asked[method+" "+path] = true
				require.NotEqual(t, http.StatusUnauthorized, w.Code, "%s: %s %s", name, method, path)
				continue
			}
			require.Equal(t, http.StatusUnauthorized, w.Code, "%s: %s %s is open to everybody", name, method, path)
			guarded++
		}
		require.Equal(t, public, asked, name)
		require.Greater(t, guarded, 50, name)
	}
}
