package work

import (
	"bytes"
	"context"
	"fmt"
	"testing"
)

// Prove and verify side by side; the ratio is the reason for this package.

func BenchmarkProve(b *testing.B) {
	for _, n := range []int{256, 1024, 2048, 4096} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := (CPU{Workers: 1}).Prove(context.Background(), seedOf(1), n); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(Ops(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GOPS")
		})
	}
}

func BenchmarkVerify(b *testing.B) {
	for _, n := range []int{256, 1024, 2048, 4096} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			p := prove(b, 1, n)
			raw := encode(b, p)
			for b.Loop() {
				if _, err := (Verifier{}).Verify(context.Background(), p.Seed, n, bytes.NewReader(raw)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkVerifyChunk(b *testing.B) {
	p := prove(b, 1, 1024)
	o, err := p.OpenChunk(1000, 17)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := VerifyChunk(p.Seed, p.N, p.Root, o); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerifyEvidence(b *testing.B) {
	for _, n := range []int{256, 1024} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			f := newEvidenceFixture(b, n)
			for b.Loop() {
				if _, err := f.verify(f.evidence); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
