package serve

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/team"
)

// A lease has the name that people gave it, on the page or else when they bought it; else one of what runs on it, or of its GPUs. Names
// are there after a restart, and an empty one takes the chosen one back.
func TestNamesOfLeases(t *testing.T) {
	f, err := purchase.Open(t.TempDir(), solana.Hash{1}, solana.PublicKey{1})
	require.NoError(t, err)
	n := NewLeaseNames(f)
	lease, order := solana.PublicKey{7}, solana.PublicKey{8}
	all := []service.Lease{{Address: lease.String(), Order: order.String(), Model: "A100 SXM4 80GB"}}
	letters := lease.String()[:4]
	name := func() string {
		got, err := n.of(all)
		require.NoError(t, err)
		require.Empty(t, all[0].Name, "the leases that came are as they were")
		return got[0].Name
	}
	require.Equal(t, "a100-sxm4-80gb-"+letters, name())
	require.NoError(t, n.label(order, "vllm"))
	require.Equal(t, "vllm-"+letters, name())
	require.NoError(t, n.call(order, lease, "Nightly <b>training</b> ☾"))
	require.Equal(t, "Nightly <b>training</b> ☾", name())
	n = NewLeaseNames(f)
	require.Equal(t, "Nightly <b>training</b> ☾", name())
	require.NoError(t, n.call(order, lease, ""))
	require.NoError(t, n.call(order, lease, ""))
	require.Equal(t, "vllm-"+letters, name())

	held, err := f.Hold(order)
	require.NoError(t, err)
	require.NoError(t, held.Write(purchase.Purchase{Order: order, Name: "train"}))
	require.NoError(t, held.Release())
	require.Equal(t, "train", name(), "gantry deploy --name")
	require.NoError(t, n.call(order, lease, "nightly"))
	require.Equal(t, "nightly", name())

	// A record that cannot be read costs the others nothing.
	other := service.Lease{Address: solana.PublicKey{9}.String(), Order: solana.PublicKey{10}.String(), Model: "H100"}
	require.NoError(t, n.call(solana.PublicKey{10}, solana.PublicKey{9}, "fine"))
	require.NoError(t, os.WriteFile(filepath.Join(f.Dir(), "orders", order.String(), "called.json"), []byte("{"), 0o600))
	got, err := n.of(append(all, other))
	require.ErrorContains(t, err, order.String())
	require.Equal(t, []string{"a100-sxm4-80gb-" + letters, "fine"}, []string{got[0].Name, got[1].Name})
}

// What runs is named by the last part of its image.
func TestNamesOfImages(t *testing.T) {
	for image, want := range map[string]string{
		"vllm/vllm-openai:v0.9.1": "vllm-openai", "debian": "debian", "ghcr.io:443/x/y@sha256:0": "y", "localhost:5000/a_b:1": "a_b", "": "",
	} {
		require.Equal(t, want, imageName(image), image)
	}
	require.Equal(t, "a-b-7hER", ownName("A_b", "7hERxxxx"))
	require.Equal(t, "lease-7hER", ownName("☾", "7hERxxxx"))
	require.Equal(t, strings.Repeat("a", maxLabel)+"-7hER", ownName(strings.Repeat("a", 500), "7hERxxxx"))
}

// A name that is too long, or would write to a terminal, is refused.
func TestNamesThatAreRefused(t *testing.T) {
	s, _, token, _ := teamServer(t)
	header := map[string]string{"Authorization": "Bearer " + token("ada", team.Owner, ""), "Content-Type": "application/json"}
	for _, name := range []string{strings.Repeat("é", 65), `a\u0000b`, `a\u001b[31m`, `a\nb`} {
		w, _ := ask(t, s, http.MethodPut, "/v1/leases/"+solana.PublicKey{7}.String()+"/name", `{"name": "`+name+`"}`, header)
		require.Equal(t, http.StatusUnprocessableEntity, w.Code, "%s: %s", name, w.Body)
	}
	w, _ := ask(t, s, http.MethodPut, "/v1/leases/"+solana.PublicKey{7}.String()+"/name", `{"name": "x"}`, header)
	require.Equal(t, http.StatusServiceUnavailable, w.Code, "this server has no file for names")
}
