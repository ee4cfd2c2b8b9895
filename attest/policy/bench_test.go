package policy

import (
	"testing"

	"github.com/gantry-market/gantry/attest"
)

// BenchmarkJudge is the whole verdict on a bundle of tier 3: two GPUs with manifests, a TEE, inventory.
func BenchmarkJudge(b *testing.B) {
	for _, tee := range []attest.Kind{attest.KindSNP, attest.KindTDX} {
		b.Run(tee.String(), func(b *testing.B) {
			l := newLab(b)
			bundle := l.bundle(tee)
			b.ReportAllocs()
			for b.Loop() {
				if c, _, err := l.judge(bundle); err != nil || c.Tier != 3 {
					b.Fatal(c.Tier, err)
				}
			}
		})
	}
}
