package simulate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"time"

	"github.com/gantry-market/gantry/attest/work"
	"github.com/gantry-market/gantry/attest/work/class"
	"github.com/gantry-market/gantry/attest/work/series"
	"github.com/gantry-market/gantry/attest/work/vram"
)

const (
	// order of the products whose time is simulated, and of those really computed.
	order, smallOrder = 4096, 32
	// smallRounds stand for the thousands of rounds of a real series: the same fraction of them is made up.
	smallRounds = 64
	// openedRounds, openedBlocks of a series and a sweep.
	openedRounds, openedBlocks = 8, 16
	// network is what bounds allow, networkShare the most of a bound that it may be.
	network      = 250 * time.Millisecond
	networkShare = 0.1
	// smallBlocks stand for a claimed memory.
	smallBlocks = 64
)

// machine is simulated hardware.
type machine struct {
	class class.Class
	// speed against the data sheet of its class, besides what honest machines lose.
	speed float64
	// relay is added to the network's time.
	relay time.Duration
}

// trip is a round trip over the network: 20 to 120 ms.
func trip(rng *rand.Rand) time.Duration {
	return time.Duration(20+100*rng.Float64()) * time.Millisecond
}

// takes is how long the machine takes for some rounds. That honest machines reach 0.5 to 0.7 of their data sheet is an
// assumption.
func (m machine) takes(rounds float64, rng *rand.Rand) time.Duration {
	reach := (0.5 + 0.2*rng.Float64()) * m.speed
	round := float64(m.class.Ideal(order))/reach + float64(class.Launch)/2
	return time.Duration(rounds*round) + trip(rng) + m.relay
}

func mustClass(name string) class.Class {
	c, ok := class.ByName(name)
	if !ok {
		panic("simulate: no class " + name) // the names are constants of this package
	}
	return c
}

// timed is a series challenge for a claimed class. A machine that hurries makes up as many roots as it must to be on
// time; one that does not answers late.
func timed(m machine, claimed class.Class, hurries bool) func(context.Context, *rand.Rand) (string, error) {
	rounds := claimed.Rounds(order, network, networkShare)
	bound := claimed.Bound(order, rounds, network)
	return func(ctx context.Context, rng *rand.Rand) (string, error) {
		took := m.takes(float64(rounds), rng)
		made := 0.0
		if took > bound {
			if !hurries {
				return "time", nil
			}
			made = 1 - float64(bound-120*time.Millisecond-m.relay)/float64(took-m.relay)
		}
		err := playSeries(ctx, rng, made)
		switch {
		case errors.Is(err, series.ErrRound):
			return "opened rounds", nil
		case err != nil:
			return "", err
		}
		return "", nil
	}
}

// playSeries answers and verifies a small series of which a fraction is made up.
func playSeries(ctx context.Context, rng *rand.Rand, made float64) error {
	c := series.Claim{Seed: work.Seed(draw(rng)), N: smallOrder, Rounds: smallRounds}
	count := int(math.Round(min(1, max(0, made)) * smallRounds))
	fake := map[int]bool{}
	for _, r := range rng.Perm(smallRounds)[:count] {
		fake[r] = true
	}
	seed := c.Seed
	roots := make([]work.Hash, smallRounds)
	proofs := make([]*work.Proof, smallRounds)
	for r := range roots {
		if fake[r] {
			roots[r] = draw(rng)
		} else {
			p, err := work.CPU{Workers: 1}.Prove(ctx, seed, smallOrder)
			if err != nil {
				return err
			}
			proofs[r], roots[r] = p, p.Root
		}
		seed = series.Next(seed, roots[r])
	}
	c.Roots = series.Digest(roots)
	seeds := series.Seeds(c.Seed, roots)
	return series.Verify(ctx, c, roots, series.Select(c, draw(rng), openedRounds), func(r int) (io.Reader, error) {
		p := proofs[r]
		if p == nil { // asked for, it computes the round after all; the root was another
			var err error
			if p, err = (work.CPU{Workers: 1}).Prove(ctx, seeds[r], smallOrder); err != nil {
				return nil, err
			}
		}
		var b bytes.Buffer
		_, err := p.WriteTo(&b)
		return &b, err
	})
}

func draw(rng *rand.Rand) (b [32]byte) {
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// detectionChance is the calculated chance that opened rounds include a made-up one: the mean over what the machine
// reaches and the network takes, without the small series.
func detectionChance(m machine, claimed class.Class) string {
	rounds := claimed.Rounds(order, network, networkShare)
	bound := claimed.Bound(order, rounds, network)
	const steps = 50
	sum := 0.0
	for i := range steps {
		for k := range steps {
			reach := (0.5 + 0.2*(float64(i)+0.5)/steps) * m.speed
			wire := time.Duration((0.02 + 0.1*(float64(k)+0.5)/steps) * 1e9)
			took := time.Duration(float64(rounds)*(float64(m.class.Ideal(order))/reach+float64(class.Launch)/2)) + wire
			if took > bound {
				made := 1 - float64(bound-120*time.Millisecond)/float64(took)
				sum += 1 - math.Pow(1-made, openedRounds)
			}
		}
	}
	return fmt.Sprintf("%.1f %%", 100*sum/steps/steps)
}

// swept is a memory challenge for a claimed class: held is the part of the claimed memory that the machine has, host
// the part that it fetches from host memory at so many bytes a second.
func swept(m machine, claimed class.Class, held, host, hostRate float64) func(context.Context, *rand.Rand) (string, error) {
	bytes := uint64(claimed.VRAMMiB) << 20 / 10 * 9
	shape, bound := claimed.Sweep(bytes, 100*time.Millisecond)
	return func(ctx context.Context, rng *rand.Rand) (string, error) {
		read := held * float64(bytes) / (m.class.Bandwidth * 1e9 * (0.5 + 0.3*rng.Float64()))
		if host > 0 {
			read += host * float64(bytes) / hostRate
		}
		spent := time.Duration(read*1e9) + trip(rng)*4/5 // 16 to 96 ms: the bound allows 100
		if spent > bound {
			return "time of the sweep", nil
		}
		g := vram.Refill(vram.RefillRate(m.class.Int32*1e12, shape.Passes), bound, shape)
		cheat := vram.Partial{Keep: min(1, held+host), Recompute: int(g * smallBlocks)}
		c := vram.Claim{Seed: draw(rng), Nonce: draw(rng), Shape: vram.Shape{Blocks: smallBlocks, Passes: 1}}
		memory, err := cheat.Fill(ctx, c.Seed, c.Shape)
		if err != nil {
			return "", err
		}
		sweep, err := memory.Sweep(ctx, c.Nonce)
		if err != nil {
			return "", err
		}
		c.Root = sweep.Root
		selected := vram.Select(c, draw(rng), openedBlocks)
		opened, err := sweep.Open(selected)
		if err != nil {
			return "", err
		}
		err = vram.Verify(ctx, c, selected, opened)
		switch {
		case errors.Is(err, vram.ErrMissing):
			return "missing memory", memory.Close()
		case err != nil:
			return "", err
		}
		return "", memory.Close()
	}
}
