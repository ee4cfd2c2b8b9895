package simulate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/gantry-market/gantry/attest/work"
)

// productOrder is the order of the products that are really computed and checked.
const productOrder = 64

// product computes a product of which a fraction of the chunks, or of the rows, is wrong in every entry: what samples
// find least.
func product(ctx context.Context, rng *rand.Rand, chunks, rows float64) (*work.Proof, error) {
	p, err := work.CPU{Workers: 1}.Prove(ctx, work.Seed(draw(rng)), productOrder)
	if err != nil {
		return nil, err
	}
	const perRow = productOrder / work.ChunkEntries
	bad := map[int]bool{}
	for _, c := range rng.Perm(productOrder * perRow)[:int(chunks*productOrder*perRow+0.5)] {
		bad[c] = true
	}
	for _, r := range rng.Perm(productOrder)[:int(rows*productOrder+0.5)] {
		for c := range perRow {
			bad[r*perRow+c] = true
		}
	}
	for c := range bad {
		for k := range work.ChunkEntries {
			p.C[c*work.ChunkEntries+k]++
		}
	}
	return work.NewProof(p.Seed, p.N, p.C)
}

// wholeChecked is what a keeper does: all of the product, by Freivalds.
func wholeChecked(fraction float64) func(context.Context, *rand.Rand) (string, error) {
	return func(ctx context.Context, rng *rand.Rand) (string, error) {
		p, err := product(ctx, rng, fraction, 0)
		if err != nil {
			return "", err
		}
		return wrong(work.Verifier{}.VerifyProof(ctx, p), "Freivalds over the whole product")
	}
}

// chunksOpened looks at k chunks.
func chunksOpened(fraction float64, k int) func(context.Context, *rand.Rand) (string, error) {
	return func(ctx context.Context, rng *rand.Rand) (string, error) {
		p, err := product(ctx, rng, fraction, 0)
		if err != nil {
			return "", err
		}
		const perRow = productOrder / work.ChunkEntries
		for _, at := range work.Sample(p.Root, draw(rng), productOrder*perRow, k) {
			o, err := p.OpenChunk(at/perRow, at%perRow)
			if err != nil {
				return "", err
			}
			if why, err := wrong(work.VerifyChunk(p.Seed, p.N, p.Root, o), "opened chunks"); why != "" || err != nil {
				return why, err
			}
		}
		return "", nil
	}
}

// rowsOpened looks at k rows.
func rowsOpened(fraction float64, k int) func(context.Context, *rand.Rand) (string, error) {
	return func(ctx context.Context, rng *rand.Rand) (string, error) {
		p, err := product(ctx, rng, 0, fraction)
		if err != nil {
			return "", err
		}
		for _, at := range work.Sample(p.Root, draw(rng), productOrder, k) {
			o, err := p.OpenRow(at)
			if err != nil {
				return "", err
			}
			if why, err := wrong(work.VerifyRow(p.Seed, p.N, p.Root, o), "opened rows"); why != "" || err != nil {
				return why, err
			}
		}
		return "", nil
	}
}

// wrong turns a verifier's verdict into a reason.
func wrong(err error, why string) (string, error) {
	switch {
	case err == nil:
		return "", nil
	case errors.Is(err, work.ErrWrongProduct):
		return why, nil
	}
	return "", fmt.Errorf("an unexpected verdict: %w", err)
}

// sampled is the theory of k samples without repetition out of count, of which a fraction is wrong: 1 − C(good,
// k)/C(count, k).
func sampled(fraction float64, count, k int) string {
	bad := int(fraction*float64(count) + 0.5)
	miss := 1.0
	for i := range k {
		miss *= max(0, float64(count-bad-i)) / float64(count-i)
	}
	return fmt.Sprintf("%.1f %%", 100*(1-miss))
}

func draw(rng *rand.Rand) (b [32]byte) {
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}
