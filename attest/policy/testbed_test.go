package policy

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/attest/guest"
	"github.com/gantry-market/gantry/attest/inventory"
)

// fake is a verifier whose evidence is honest exactly when its item "signed" holds what the binding asks for. It stands
// in for hardware that a test cannot have.
type fake struct {
	kind attest.Kind
	want func(attest.Binding) []byte
	// lie changes the result.
	lie func(*attest.Result) error
}

func (f fake) Kind() attest.Kind { return f.kind }

func (f fake) Verify(e attest.Evidence, b attest.Binding, _ time.Time) (attest.Result, error) {
	r := attest.Result{Kind: e.Kind, Instance: e.Instance, Confidential: true}
	if key, ok := e.Item("key"); ok {
		id := sha256.Sum256(key)
		r.Keys = [][32]byte{id}
		r.Devices = []attest.Device{{Identity: id[:], Model: "fake"}}
	}
	signed, _ := e.Item("signed")
	name := blames(f.kind)[0]
	key, _ := e.Item("key")
	if !bytes.Equal(signed, slices.Concat(f.want(b), key)) {
		return r, r.Fail(name, attest.ErrStale, "it signs something else")
	}
	r.Pass(name, "as asked")
	if f.lie == nil {
		r.Pass("measurement", "as expected")
		r.Claim("driver", "550.54.15")
		return r, nil
	}
	return r, f.lie(&r)
}

func gpuWant(b attest.Binding) []byte { n := b.GPU(); return n[:] }
func tpmWant(b attest.Binding) []byte { q := b.Qualifying(); return q[:] }
func teeWant(b attest.Binding) []byte { d := b.ReportData(); return d[:] }

// testbed makes bundles of one node.
type testbed struct {
	t         testing.TB
	key       ed25519.PrivateKey
	guest     *guest.Key
	challenge attest.Challenge
	inv       inventory.Inventory
	now       time.Time
	policy    Policy
	verifiers map[attest.Kind]attest.Verifier
}

func newTestbed(t testing.TB) *testbed {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{3}, ed25519.SeedSize))
	own, err := guest.NewKey()
	require.NoError(t, err)
	w := &testbed{
		t: t, key: key, guest: own, now: time.Unix(1_790_000_000, 0),
		challenge: attest.Challenge{
			GenesisHash: [32]byte{1}, Program: [32]byte{2}, ID: [32]byte{4}, SlotHash: [32]byte{5}, Node: [32]byte{9},
			NodeKey: [32]byte(key.Public().(ed25519.PublicKey)), Expiry: 1_790_000_030,
		},
		inv: inventory.Inventory{
			Version: inventory.Version, Cores: 8, RAMMiB: 1 << 16, Driver: "550.54.15", GPUs: []inventory.GPU{
				{Index: 0, Model: "NVIDIA H100 80GB HBM3", UUID: "GPU-00000000-0000-4000-8000-000000000001", VRAMMiB: 81559},
				{Index: 1, Model: "NVIDIA H100 80GB HBM3", UUID: "GPU-00000000-0000-4000-8000-000000000002", VRAMMiB: 81559},
			},
		},
		policy: Policy{
			Version: Version, Name: "test", MaxAgeSecs: 3600, WindowSecs: 60,
			Require: map[string][]string{
				"snp": {"report data", "measurement"}, "tdx": {"report data", "measurement"}, "gpu": {"measurement"},
				"tpm": {"measurement"},
			},
		},
	}
	w.verifiers = map[attest.Kind]attest.Verifier{
		attest.KindInventory: inventory.Verifier{},
		attest.KindGuest:     guest.Verifier{},
		attest.KindNVGPU:     fake{kind: attest.KindNVGPU, want: gpuWant},
		attest.KindTPM:       fake{kind: attest.KindTPM, want: tpmWant},
		attest.KindSNP:       fake{kind: attest.KindSNP, want: teeWant},
		attest.KindTDX:       fake{kind: attest.KindTDX, want: teeWant},
	}
	return w
}

// bundle collects evidence as an honest machine with these parts would.
func (w *testbed) bundle(kinds ...attest.Kind) *bundle.Bundle {
	has := map[attest.Kind]bool{}
	for _, k := range kinds {
		has[k] = true
	}
	b := &bundle.Bundle{Challenge: w.challenge, Created: w.now.Unix()}
	binding := w.challenge.Binding()
	if has[attest.KindInventory] {
		e, err := w.inv.Evidence()
		require.NoError(w.t, err)
		b.Evidence = append(b.Evidence, e)
	}
	if has[attest.KindNVGPU] {
		for i := range w.inv.GPUs {
			b.Evidence = append(b.Evidence, attest.Evidence{Kind: attest.KindNVGPU, Instance: uint16(i), Items: []attest.Item{
				{Name: "key", Data: []byte(w.inv.GPUs[i].UUID + " key")}, {Name: "signed"},
			}})
			w.signGPU(&b.Evidence[len(b.Evidence)-1])
		}
	}
	if has[attest.KindTPM] {
		binding.Keys = [][32]byte{sha256.Sum256([]byte("ak"))}
	}
	b.Sort()
	for _, kind := range []attest.Kind{attest.KindSNP, attest.KindTDX} {
		if has[kind] {
			w.vouch(b, binding, func(data [64]byte) (attest.Evidence, error) {
				return attest.Evidence{Kind: kind, Items: []attest.Item{{Name: "signed", Data: data[:]}}}, nil
			})
		}
	}
	if has[attest.KindTPM] {
		b.Sort()
		others, err := bundle.Others(b.Evidence)
		require.NoError(w.t, err)
		binding.Others = others
		b.Evidence = append(b.Evidence, attest.Evidence{Kind: attest.KindTPM, Items: []attest.Item{
			{Name: "key", Data: []byte("ak")}, {Name: "signed", Data: append(tpmWant(binding), "ak"...)},
		}})
	}
	require.NoError(w.t, b.Sign(w.key))
	return b
}

// vouch has the guest's key and a TEE vouch for what the bundle has.
func (w *testbed) vouch(b *bundle.Bundle, binding attest.Binding, tee func([64]byte) (attest.Evidence, error)) {
	b.Sort()
	vouched, err := w.guest.Vouch(b.Evidence, binding, tee)
	require.NoError(w.t, err)
	b.Evidence = append(b.Evidence, vouched...)
}

// signGPU makes the report of the GPU whose key the evidence holds.
func (w *testbed) signGPU(e *attest.Evidence) {
	e.Items[1].Data = slices.Concat(gpuWant(w.challenge.Binding()), e.Items[0].Data)
}

func (w *testbed) evaluate(b *bundle.Bundle) (Claims, error) {
	all := make([]attest.Verifier, 0, len(w.verifiers))
	for _, v := range w.verifiers {
		all = append(all, v)
	}
	return Evaluate(b, w.policy, all, w.now)
}

var (
	tierOneKinds   = []attest.Kind{attest.KindInventory}
	tierTwoKinds   = append([]attest.Kind{attest.KindTPM}, tierOneKinds...)
	tierThreeKinds = append([]attest.Kind{attest.KindSNP, attest.KindNVGPU}, tierOneKinds...)
	everything     = append([]attest.Kind{attest.KindTPM}, tierThreeKinds...)
)
