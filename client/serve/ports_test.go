package serve

import (
	"path/filepath"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/template"
)

// Ports are those that the order has declared, those that are forwarded, and those that have a public name, each once.
func TestPortsOf(t *testing.T) {
	declared := []template.Port{{Name: "web", Port: 8080}, {Name: "api", Port: 8000}}
	got := portsOf(declared, map[uint16]string{8000: "127.0.0.1:4000", 22: "127.0.0.1:4001"}, map[uint16]string{8080: "https://x.example/"})
	require.Equal(t, []LeasePort{
		{Port: 22, Endpoint: "127.0.0.1:4001", URL: "http://127.0.0.1:4001/"},
		{Name: "api", Port: 8000, Declared: true, Endpoint: "127.0.0.1:4000", URL: "http://127.0.0.1:4000/"},
		{Name: "web", Port: 8080, Declared: true, Public: "https://x.example/"},
	}, got)
	require.Equal(t, []LeasePort{}, portsOf(nil, nil, nil))
}

// What an order declares is kept until the lease asks for it, also behind a restart.
func TestDeclaredPortsAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "serve.db")
	store, err := OpenStore(path, solana.PublicKey{1})
	require.NoError(t, err)
	s := New(Options{Store: store})
	order := solana.PublicKey{2}
	s.declared(Bought{Order: order.String()}, OrderRequest{Ports: []template.Port{{Name: "web", Port: 8080}}})
	s.declared(Bought{Order: solana.PublicKey{3}.String()}, OrderRequest{})
	require.NoError(t, store.Close())
	store, err = OpenStore(path, solana.PublicKey{1})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	got, err := store.ports(order)
	require.NoError(t, err)
	require.Equal(t, []template.Port{{Name: "web", Port: 8080}}, got)
	got, err = store.ports(solana.PublicKey{3})
	require.NoError(t, err)
	require.Empty(t, got)
}
