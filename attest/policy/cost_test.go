package policy

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/attest/inventory"
	"github.com/gantry-market/gantry/attest/nvgpu"
	"github.com/gantry-market/gantry/attest/nvgpu/nvgputest"
	"github.com/gantry-market/gantry/attest/snp"
)

// costly are bundles that cost a keeper as much as a node can make them.
func costly(t testing.TB) map[string]func() (*lab, *bundle.Bundle) {
	machine := func(gpus int) *lab {
		l := newLab(t)
		l.gpus, l.inv.GPUs = nil, nil
		h, err := theHardware()
		require.NoError(t, err)
		for i := range gpus {
			g, err := h.authority.NewGPU(nvgputest.GPUOptions{})
			require.NoError(t, err)
			l.gpus = append(l.gpus, g)
			l.inv.GPUs = append(l.inv.GPUs, inventory.GPU{
				Index: i, Model: "NVIDIA H100 80GB HBM3", UUID: fmt.Sprintf("GPU-00000000-0000-4000-8000-%012d", i), VRAMMiB: 81_559,
			})
		}
		return l
	}
	copies := func(kind attest.Kind) func() (*lab, *bundle.Bundle) {
		return func() (*lab, *bundle.Bundle) {
			l := newLab(t)
			b := l.bundle(attest.KindSNP)
			e := b.OfKind(kind)[0]
			for n := uint16(2); len(b.Evidence) < bundle.MaxEvidence; n++ {
				e.Instance = n
				b.Evidence = append(b.Evidence, e)
			}
			b.Sort()
			require.NoError(t, b.Sign(l.key))
			return l, b
		}
	}
	collateral := func(change func(*lab)) func() (*lab, *bundle.Bundle) {
		return func() (*lab, *bundle.Bundle) {
			l := machine(inventory.MaxGPUs)
			b := l.bundle(attest.KindSNP)
			change(l)
			return l, b
		}
	}
	return map[string]func() (*lab, *bundle.Bundle){
		"eight genuine GPUs, SEV-SNP": func() (*lab, *bundle.Bundle) { l := machine(inventory.MaxGPUs); return l, l.bundle(attest.KindSNP) },
		"eight genuine GPUs, TDX":     func() (*lab, *bundle.Bundle) { l := machine(inventory.MaxGPUs); return l, l.bundle(attest.KindTDX) },
		"copies of a GPU report":      copies(attest.KindNVGPU),
		"copies of a TEE's report":    copies(attest.KindSNP),
		"copies of a guest's key":     copies(attest.KindGuest),
		"manifests of junk": collateral(func(l *lab) {
			junk := []byte("<SoftwareIdentity>" + strings.Repeat(`<a b="c"/>`, (nvgpu.MaxRIMSize-100)/10) + "</SoftwareIdentity>")
			for key := range l.collateral {
				if strings.HasPrefix(key, "nvgpu/rim/") {
					l.collateral[key] = junk
				}
			}
		}),
		// As much as fits into a bundle.
		"large revocation lists": collateral(func(l *lab) {
			junk := bytes.Repeat([]byte{0x30}, 1<<20)
			l.collateral[snp.CollateralCRL("Milan")] = junk
			for _, c := range l.gpus[0].Chain[1:3] {
				l.collateral[nvgpu.CRLKey(c)] = junk
			}
		}),
		"junk beside the rest": func() (*lab, *bundle.Bundle) {
			l := machine(inventory.MaxGPUs)
			b := l.bundle(attest.KindSNP)
			items := []attest.Item{{Name: "a", Data: make([]byte, bundle.MaxItem)}, {Name: "b", Data: make([]byte, bundle.MaxItem-200_000)}}
			b.Evidence = append(b.Evidence, attest.Evidence{Kind: attest.KindTPM, Items: items})
			require.NoError(t, b.Sign(l.key))
			return l, b
		},
	}
}

// Of a bundle with more pieces than a machine can have none is verified.
func TestBundlesOfCopiesAreNotVerified(t *testing.T) {
	for name, build := range costly(t) {
		if !strings.HasPrefix(name, "copies") {
			continue
		}
		l, b := build()
		c, _, err := l.judge(b)
		require.ErrorIs(t, err, attest.ErrMalformed, name)
		require.Zero(t, c.Tier)
		require.True(t, slices.ContainsFunc(c.Bundle.Checks, func(c attest.Check) bool { return c.Name == CheckPieces && c.Outcome == attest.Failed }), name)
		for _, p := range c.Pieces {
			require.Empty(t, p.Checks, name)
		}
	}
}

// BenchmarkCostly is the most that judging one bundle takes.
func BenchmarkCostly(b *testing.B) {
	for name, build := range costly(b) {
		b.Run(name, func(b *testing.B) {
			l, made := build()
			raw, err := made.Encode()
			require.NoError(b, err)
			b.ReportAllocs()
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				read, err := bundle.Parse(raw)
				require.NoError(b, err)
				_, _, _ = l.judge(read)
			}
		})
	}
}
