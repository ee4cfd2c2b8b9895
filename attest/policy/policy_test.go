package policy

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
)

func TestTiersOfHonestMachines(t *testing.T) {
	for name, c := range map[string]struct {
		kinds []attest.Kind
		tier  uint8
		why   string
	}{
		"one":                {tierOneKinds, 1, "not tier 2: no TPM quote"},
		"two":                {tierTwoKinds, 2, "not tier 3: no confidential virtual machine"},
		"three":              {tierThreeKinds, 3, ""},
		"three with TDX":     {append([]attest.Kind{attest.KindTDX, attest.KindNVGPU}, tierOneKinds...), 3, ""},
		"everything":         {everything, 3, ""},
		"GPUs without a TEE": {append([]attest.Kind{attest.KindNVGPU, attest.KindTPM}, tierOneKinds...), 2, "no confidential virtual machine"},
		"a TEE without GPUs": {append([]attest.Kind{attest.KindSNP}, tierTwoKinds...), 2, "not tier 3: no NVIDIA GPU report"},
		"no inventory":       {[]attest.Kind{attest.KindSNP, attest.KindNVGPU, attest.KindTPM}, 0, "no inventory"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestbed(t)
			b := w.bundle(c.kinds...)
			got, err := w.evaluate(b)
			require.NoError(t, err)
			require.Equal(t, Sound, got.Verdict)
			require.Equal(t, c.tier, got.Tier, got.Why)
			require.Contains(t, strings.Join(got.Why, "\n"), c.why)
			digest, err := b.Digest()
			require.NoError(t, err)
			require.Equal(t, digest, got.EvidenceHash)
			require.Equal(t, b.Created+3600, got.Expiry)
			if len(b.OfKind(attest.KindInventory)) > 0 {
				want := DeviceRoot([][32]byte{DeviceHash([]byte(w.inv.GPUs[0].UUID)), DeviceHash([]byte(w.inv.GPUs[1].UUID))})
				require.Equal(t, want, got.DeviceRoot)
			}
			require.Len(t, got.Attested(), len(b.OfKind(attest.KindNVGPU)))
		})
	}
}

func resign(w *testbed, b *bundle.Bundle) { require.NoError(w.t, b.Sign(w.key)) }

// drop removes evidence of a kind.
func drop(b *bundle.Bundle, kind attest.Kind) {
	var rest []attest.Evidence
	for _, e := range b.Evidence {
		if e.Kind != kind {
			rest = append(rest, e)
		}
	}
	b.Evidence = rest
}

func TestAttacks(t *testing.T) {
	failing := func(err error) func(*attest.Result) error {
		return func(r *attest.Result) error { return r.Fail("measurement", err, "not as expected") }
	}
	for name, c := range map[string]struct {
		spoil   func(*testbed, *bundle.Bundle)
		verdict Verdict
		tier    uint8
		err     error
		why     string
	}{
		"node signature": {
			func(_ *testbed, b *bundle.Bundle) { b.Signature[3] ^= 1 },
			Unproven, 0, attest.ErrUntrusted, "not signed by the node",
		},
		"another node's bundle under this node's challenge": {
			func(w *testbed, b *bundle.Bundle) {
				other := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{8}, ed25519.SeedSize))
				m, err := b.Statement()
				require.NoError(w.t, err)
				b.Signature = [64]byte(ed25519.Sign(other, m))
			}, Unproven, 0, attest.ErrUntrusted, "not signed",
		},
		"evidence of another challenge": {
			func(w *testbed, b *bundle.Bundle) { b.Challenge.ID[0]++; resign(w, b) },
			False, 0, attest.ErrStale, "something false",
		},
		"inventory exchanged under the TPM's quote": {
			func(w *testbed, b *bundle.Bundle) {
				w.inv.GPUs[0].Model = "NVIDIA H200"
				e, err := w.inv.Evidence()
				require.NoError(w.t, err)
				b.Evidence[0] = e
				resign(w, b)
			}, False, 0, attest.ErrStale, "something false",
		},
		"one GPU reports for two": {
			func(w *testbed, b *bundle.Bundle) {
				for i := range b.Evidence {
					if e := &b.Evidence[i]; e.Kind == attest.KindNVGPU && e.Instance == 1 {
						e.Items[0].Data = []byte(w.inv.GPUs[0].UUID + " key")
						w.signGPU(e)
					}
				}
				drop(b, attest.KindTPM)
				drop(b, attest.KindGuest)
				drop(b, attest.KindSNP)
				resign(w, b)
			}, False, 0, attest.ErrMalformed, "something false",
		},
		"more reports than GPUs": {
			func(w *testbed, b *bundle.Bundle) {
				extra := b.OfKind(attest.KindNVGPU)[0]
				extra.Instance, extra.Items = 5, []attest.Item{{Name: "key", Data: []byte("third")}, {Name: "signed"}}
				w.signGPU(&extra)
				b.Evidence = append(b.Evidence, extra)
				drop(b, attest.KindTPM)
				drop(b, attest.KindGuest)
				drop(b, attest.KindSNP)
				b.Sort()
				resign(w, b)
			}, False, 0, attest.ErrMalformed, "something false",
		},
		"a GPU without a report": {
			func(w *testbed, b *bundle.Bundle) {
				var rest []attest.Evidence
				for _, e := range b.Evidence {
					if e.Kind != attest.KindNVGPU || e.Instance != 1 {
						rest = append(rest, e)
					}
				}
				b.Evidence = rest
				drop(b, attest.KindTPM)
				drop(b, attest.KindGuest)
				drop(b, attest.KindSNP)
				resign(w, b)
			}, Sound, 1, nil, "1 of 2 GPUs have none",
		},
		"a TEE that does not bind the GPU's key": {
			func(w *testbed, b *bundle.Bundle) {
				for i := range b.Evidence {
					if e := &b.Evidence[i]; e.Kind == attest.KindNVGPU && e.Instance == 1 {
						e.Items[0].Data = []byte("a GPU of another machine")
						w.signGPU(e)
					}
				}
				drop(b, attest.KindTPM)
				resign(w, b)
			}, False, 0, attest.ErrStale, "something false",
		},
		"an unknown root": {
			func(w *testbed, _ *bundle.Bundle) {
				w.verifiers[attest.KindTPM] = fake{kind: attest.KindTPM, want: tpmWant, lie: failing(attest.ErrUntrusted)}
			}, Unproven, 3, attest.ErrUntrusted, "",
		},
		"an old driver": {
			func(w *testbed, _ *bundle.Bundle) {
				w.verifiers[attest.KindNVGPU] = fake{kind: attest.KindNVGPU, want: gpuWant, lie: failing(attest.ErrPolicy)}
			}, Unproven, 2, attest.ErrPolicy, "not tier 3: NVIDIA GPU report 0: measurement",
		},
		"no reference measurements": {
			func(w *testbed, _ *bundle.Bundle) {
				w.verifiers[attest.KindNVGPU] = fake{kind: attest.KindNVGPU, want: gpuWant, lie: func(r *attest.Result) error {
					r.Skip("measurement", "no manifest")
					r.Claim("driver", "550.54.15")
					return nil
				}}
			}, Sound, 2, nil, "(not covered: no manifest)",
		},
		"a guest that can be debugged": {
			func(w *testbed, _ *bundle.Bundle) {
				w.verifiers[attest.KindSNP] = fake{kind: attest.KindSNP, want: teeWant, lie: func(r *attest.Result) error {
					r.Pass("measurement", "as expected")
					r.Confidential = false
					return nil
				}}
			}, Sound, 2, nil, "debugging is on",
		},
		"another driver than it says": {
			func(w *testbed, _ *bundle.Bundle) {
				w.verifiers[attest.KindNVGPU] = fake{kind: attest.KindNVGPU, want: gpuWant, lie: func(r *attest.Result) error {
					r.Pass("measurement", "as expected")
					r.Claim("driver", "535.0")
					return nil
				}}
			}, Sound, 2, nil, "GPU 0 reports 535.0",
		},
		"roots made for tests": {
			func(w *testbed, _ *bundle.Bundle) {
				w.verifiers[attest.KindSNP] = fake{kind: attest.KindSNP, want: teeWant, lie: func(r *attest.Result) error {
					r.Pass("measurement", "as expected")
					r.Claim("synthetic", "true")
					return nil
				}}
			}, Sound, 0, nil, "its maker did not make",
		},
		"a verifier that fails a check without saying so": {
			func(w *testbed, _ *bundle.Bundle) {
				w.verifiers[attest.KindTPM] = fake{kind: attest.KindTPM, want: tpmWant, lie: func(r *attest.Result) error {
					_ = r.Fail("measurement", attest.ErrPolicy, "no")
					return nil
				}}
			}, Unproven, 3, attest.ErrPolicy, "",
		},
		"no verifier for the TPM": {
			func(w *testbed, b *bundle.Bundle) {
				delete(w.verifiers, attest.KindTPM)
				drop(b, attest.KindSNP)
				resign(w, b)
			},
			Sound, 1, nil, "not checked",
		},
		"a second inventory": {
			func(w *testbed, b *bundle.Bundle) {
				e := b.Evidence[0]
				e.Instance = 1
				b.Evidence = append(b.Evidence, e)
				drop(b, attest.KindTPM)
				resign(w, b)
			}, False, 0, attest.ErrMalformed, "something false",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestbed(t)
			b := w.bundle(everything...)
			c.spoil(w, b)
			got, err := w.evaluate(b)
			if c.err == nil {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, c.err)
			}
			require.Equal(t, c.verdict, got.Verdict, err)
			require.Equal(t, c.tier, got.Tier, got.Why)
			require.Contains(t, strings.Join(got.Why, "\n"), c.why)
		})
	}
}

func TestSimulatedMachinesHaveNoTier(t *testing.T) {
	w := newTestbed(t)
	w.inv.Simulated = true
	got, err := w.evaluate(w.bundle(tierTwoKinds...))
	require.NoError(t, err)
	require.Zero(t, got.Tier)
	require.True(t, got.Simulated)
	require.NotZero(t, got.EvidenceHash)
	require.Contains(t, got.Why[0], "simulated")
}

func TestMachineWithoutGPUs(t *testing.T) {
	w := newTestbed(t)
	w.inv.GPUs = nil
	got, err := w.evaluate(w.bundle(tierTwoKinds...))
	require.NoError(t, err)
	require.Zero(t, got.Tier)
	require.Equal(t, [32]byte{}, got.DeviceRoot)
	require.Contains(t, got.Why[0], "no GPU")
}

func TestTime(t *testing.T) {
	for name, c := range map[string]struct {
		created, now, expiry int64 // relative to the world's now; expiry of the challenge
		ok                   bool
	}{
		"at once":                  {0, 0, 30, true},
		"at the challenge's end":   {30, 30, 30, true},
		"after the challenge":      {31, 40, 30, false},
		"as the challenge opens":   {-30, 0, 30, true},
		"before the challenge":     {-31, 0, 30, false},
		"clock a little ahead":     {100, 0, 130, true},
		"clock far ahead":          {200, 0, 230, false},
		"until the last second":    {0, 3600, 30, true},
		"one second too late":      {0, 3601, 30, false},
		"an auditor goes back":     {0, 10, 30, true},
		"judged before it existed": {0, -200, 30, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestbed(t)
			base := w.now
			w.challenge.Expiry = base.Unix() + c.expiry
			for kind, v := range w.verifiers {
				w.verifiers[kind] = v
			}
			w.now = base.Add(time.Duration(c.created) * time.Second)
			b := w.bundle(tierOneKinds...)
			w.now = base.Add(time.Duration(c.now) * time.Second)
			got, err := w.evaluate(b)
			if c.ok {
				require.NoError(t, err)
				require.Equal(t, uint8(1), got.Tier)
				return
			}
			require.ErrorIs(t, err, attest.ErrStale)
			require.Zero(t, got.Tier)
			require.Equal(t, Unproven, got.Verdict, "a wrong clock is no fraud")
		})
	}
}

// A TEE whose binding fails because the key that it binds was lost on the way is not a lie of the node.
func TestLostKeysAreNobodysFault(t *testing.T) {
	w := newTestbed(t)
	b := w.bundle(everything...)
	w.verifiers[attest.KindTPM] = fake{kind: attest.KindTPM, want: tpmWant, lie: func(r *attest.Result) error {
		r.Keys = nil
		return r.Fail("endorsement", attest.ErrUntrusted, "of an unknown maker")
	}}
	got, err := w.evaluate(b)
	require.ErrorIs(t, err, attest.ErrUntrusted)
	require.Equal(t, Unproven, got.Verdict)
	require.Equal(t, uint8(1), got.Tier)
}

func TestTwoVerifiersOfAKind(t *testing.T) {
	w := newTestbed(t)
	v := w.verifiers[attest.KindInventory]
	_, err := Evaluate(w.bundle(tierOneKinds...), w.policy, []attest.Verifier{v, v}, w.now)
	require.ErrorContains(t, err, "two verifiers")
}

// No subset of evidence, with any of it damaged, ever reaches a tier that its sound parts do not.
func TestTierNeverExceedsItsParts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newTestbed(t)
		var kinds []attest.Kind
		for _, k := range everything {
			if rapid.Bool().Draw(rt, k.String()) {
				kinds = append(kinds, k)
			}
		}
		if len(kinds) == 0 {
			return
		}
		b := w.bundle(kinds...)
		at := rapid.IntRange(0, len(b.Evidence)-1).Draw(rt, "piece")
		item := rapid.IntRange(0, len(b.Evidence[at].Items)-1).Draw(rt, "item")
		data := b.Evidence[at].Items[item].Data
		data[rapid.IntRange(0, len(data)-1).Draw(rt, "byte")] ^= byte(rapid.IntRange(1, 255).Draw(rt, "flip"))
		if rapid.Bool().Draw(rt, "signed") {
			resign(w, b)
		}
		hit := b.Evidence[at].Kind
		got, err := w.evaluate(b)
		has := func(k attest.Kind) bool {
			for _, x := range kinds {
				if x == k && hit != k {
					return true
				}
			}
			return false
		}
		most := uint8(0)
		switch base := has(attest.KindInventory); {
		case base && has(attest.KindSNP) && has(attest.KindNVGPU):
			most = 3
		case base && has(attest.KindTPM):
			most = 2
		case base:
			most = 1
		}
		// A damaged inventory may still be a sound one with another letter; then only the signature or the TPM tells.
		if hit == attest.KindInventory && err == nil {
			return
		}
		require.LessOrEqual(rt, got.Tier, most, "%v, %s damaged: %v", kinds, hit, err)
	})
}

func TestDocument(t *testing.T) {
	p := newTestbed(t).policy
	want, err := p.Digest()
	require.NoError(t, err)
	raw, err := p.Encode()
	require.NoError(t, err)
	again, err := Parse(raw)
	require.NoError(t, err)
	got, err := again.Digest()
	require.NoError(t, err)
	require.Equal(t, want, got)

	spaced := bytes.ReplaceAll(raw, []byte(","), []byte(" ,\n "))
	again, err = Parse(spaced)
	require.NoError(t, err)
	got, err = again.Digest()
	require.NoError(t, err)
	require.Equal(t, want, got, "formatting does not matter")

	root := strings.Repeat("ab", 32)
	p.Roots.GPU = []string{root, strings.Repeat("01", 32)}
	a, err := p.Digest()
	require.NoError(t, err)
	p.Roots.GPU = []string{strings.Repeat("01", 32), root, root}
	b, err := p.Digest()
	require.NoError(t, err)
	require.Equal(t, a, b, "lists are sets")
	require.NotEqual(t, want, a)

	for name, bad := range map[string]string{
		"unknown field": strings.Replace(string(raw), `"name"`, `"nom":1,"name"`, 1),
		"trailing":      string(raw) + "{}",
		"version":       strings.Replace(string(raw), `"version":1`, `"version":2`, 1),
		"no age":        strings.Replace(string(raw), `"max_age_secs":3600`, `"max_age_secs":0`, 1),
		"unknown kind":  strings.Replace(string(raw), `"snp":[`, `"sgx":[`, 1),
		"root":          strings.Replace(string(raw), `"gpu":[],"rim"`, `"gpu":["AB"],"rim"`, 1),
		"not JSON":      "x",
		"too large":     strings.Repeat(" ", maxDocument+1),
	} {
		t.Run(name, func(t *testing.T) {
			require.NotEqual(t, string(raw), bad)
			_, err := Parse([]byte(bad))
			require.ErrorIs(t, err, ErrDocument)
		})
	}
}

func FuzzParsePolicy(f *testing.F) {
	raw, err := newTestbed(f).policy.Encode()
	require.NoError(f, err)
	f.Add(raw)
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse(data)
		if err != nil {
			require.True(t, errors.Is(err, ErrDocument))
			return
		}
		raw, err := p.Encode()
		require.NoError(t, err)
		again, err := Parse(raw)
		require.NoError(t, err)
		twice, err := again.Encode()
		require.NoError(t, err)
		require.Equal(t, raw, twice)
	})
}
