package class

import (
	"flag"
	"math"
	"os"
	"testing"
	"time"

	"github.com/gantry-market/gantry/attest/measure"
)

var update = flag.Bool("update", false, "write the page of liars anew")

const liarsPage = "../../../docs/reports/liars.md"

// What is assumed of cards that nobody has measured, and of kernels that nobody has written.
const (
	assumedOperations = 0.52 // of the sheet: the H100's median
	assumedBandwidth  = 0.37 // the same
	assumedTogether   = 1.16 // what several chains side by side reach of one: mean of H100 and H200
	bestKernels       = 0.80 // of the sheet, for chains and for items that are computed anew
	oneThread         = 0.157e12
	overPCIe          = 64e9
	// wholeMemory is a card's in runs' memories.
	wholeMemory = 10.0 / 9
)

// roundKernels is how long the kernels of a round take, one after the other (docs/reports/gpus.md): a second chain fills the rest.
var roundKernels = map[string]time.Duration{"H100-SXM5-80GB": 30_000 * time.Microsecond, "H200-SXM5-141GB": 28_300 * time.Microsecond}

// card is a GPU of a class, in operations and bytes a second.
type card struct {
	gpu                   *GPU
	p                     measure.Profile
	alone, together, best float64 // one chain, several, and one by the best kernels
	walk                  float64
	askedOps, askedBytes  float64
}

func cardOf(g *GPU) card {
	operations, bandwidth := g.Thresholds()
	c := card{
		gpu: g, p: g.Profile.Format(), best: bestKernels * 1e12 * float64(g.Sheet.Int8TOPS),
		askedOps: Least * 1e9 * float64(operations), askedBytes: Least * 1e6 * float64(bandwidth),
		alone: assumedOperations * 1e12 * float64(g.Sheet.Int8TOPS), walk: assumedBandwidth * 1e9 * float64(g.Sheet.GigabytesPerSecond),
	}
	c.together = assumedTogether * c.alone
	if m := g.Measured; m != nil {
		c.alone, c.walk = 1e9*float64(m.Operations), 1e6*float64(m.Bandwidth)
		c.together = c.round() / roundKernels[g.Name].Seconds()
	}
	return c
}

func (c card) walking() float64 { return float64(c.p.WalkMs) / 1000 }

// round is the operations of a round.
func (c card) round() float64 {
	return 2 * float64(c.p.Rows) * float64(c.p.Order) * float64(c.p.Order)
}

// run is what a member sees of a run.
type run struct {
	rate         float64 // of its chain, operations a second
	begins, ends float64 // of its chain, seconds after the start
	bytes        float64 // that its walks read
	commitment   float64 // seconds after the start
}

// seen are the figures of a run as a member has them, and its overrun.
func (c card) seen(r run) (measure.Figures, time.Duration) {
	start := time.Unix(1_800_000_000, 0)
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	rounds := max(1, int((r.ends-r.begins)*r.rate/c.round()))
	t := measure.Timing{Start: start, Commitment: at(r.commitment)}
	for i := range rounds {
		t.Roots = append(t.Roots, at(r.begins+(r.ends-r.begins)*float64(i+1)/float64(rounds)))
	}
	walks := math.Ceil(r.bytes / (float64(c.p.Lanes) * measure.WalkSteps * measure.ItemBytes))
	e := measure.Entry{Rounds: uint32(rounds), Walks: uint32(walks)}
	return measure.Measured(c.p, e, t), t.Overrun(c.p, e)
}

// passes reports whether keepers take a run as one of its class: by its figures, and in time.
func (c card) passes(r run) bool {
	f, over := c.seen(r)
	return f.Operations >= c.askedOps && f.Bandwidth >= c.askedBytes && over <= measure.MaxOverrun
}

const chain = 15.0 // seconds, of all profiles of GPUs

// honest is a machine that is asked a third of a second after the block.
func (c card) honest() run {
	return run{rate: c.alone, begins: 0.3, ends: 0.3 + chain, bytes: c.walking() * c.walk, commitment: 0.4 + chain + c.walking()}
}

// shared is the last of n nodes on a card by kernels of a rate. Until the first ends its chain, all chains run side by side. Then
// one after the other walks as long as it must, through items that are kept and, beside that, items that are computed anew. What
// of all nodes' kept items does not fit on the card is made in between, as the last rounds of the next chain.
func (c card) shared(n int, rate float64) run {
	nodes, best := float64(n), run{commitment: math.Inf(1)}
	for kept := 0.0; kept <= 1; kept += 0.01 {
		walk := c.walking() * c.askedBytes * max(kept/c.walk, (1-kept)/c.recomputed(rate))
		made := max(0, nodes*kept-wholeMemory) * float64(c.p.Resident) * c.round() / rate
		last := chain + (nodes-1)*walk + made
		if last+walk < best.commitment { // the chains' ends lie evenly between the first and the last
			best = run{rate: rate * last / (nodes * (chain + last) / 2), ends: last, bytes: c.walking() * c.askedBytes, commitment: last + walk}
		}
	}
	return best
}

// recomputed is the bytes a second of items that are computed anew by kernels of a rate.
func (c card) recomputed(rate float64) float64 { return rate / (2 * float64(c.p.Order)) }

// nodes is how many nodes a card carries by kernels of a rate together.
func (c card) nodes(rate float64) int {
	n := 1
	for n < 64 && c.passes(c.shared(n+1, rate)) {
		n++
	}
	return n
}

// missing is the part of the memory that walks may find computed anew in place of kept: one after the other, and side by side.
func (c card) missing(asked float64) (serial, beside float64) {
	recomputed := c.recomputed(c.best)
	if serial = 1; recomputed < asked {
		serial = (1/asked - 1/c.walk) / (1/recomputed - 1/c.walk)
	}
	return serial, min(1, recomputed/asked)
}

// What each liar reaches, by the code with which keepers judge it. The page has the same figures.
func TestLiars(t *testing.T) {
	table := GPUs()
	for i := range table.Classes {
		c := cardOf(&table.Classes[i])
		name, calibrated := c.gpu.Name, c.gpu.Measured != nil
		if !c.passes(c.honest()) {
			t.Errorf("%s: an honest machine is not of its class", name)
		}
		for what, r := range map[string]run{
			"a processor of 64 threads": {rate: 64 * oneThread, ends: chain, bytes: c.walking() * overPCIe, commitment: chain + c.walking()},
			"two seconds of a card":     {rate: c.alone, ends: 2, bytes: c.walking() * c.walk, commitment: 2 + c.walking()},
		} {
			if c.passes(r) {
				t.Errorf("%s: %s is of the class", name, what)
			}
		}
		if !calibrated {
			continue
		}
		if c.nodes(c.together) != 1 || c.nodes(c.best) != 1 {
			t.Errorf("%s: %d nodes sell one card, %d by better kernels", name, c.nodes(c.together), c.nodes(c.best))
		}
		if f, _ := c.seen(c.shared(2, c.together)); f.Operations >= c.askedOps {
			t.Errorf("%s: of two nodes on a card each has the rate of the class", name)
		}
	}
	// As soon as it is calibrated no class's card is sold twice, by any kernels: the second memory comes too late.
	for i := range table.Classes {
		g := table.Classes[i]
		c := cardOf(&g)
		g.Measured = &Calibration{Operations: uint32(c.alone / 1e9), Bandwidth: uint32(c.walk / 1e6), Repeats: 1, Driver: "assumed"}
		operations, bandwidth := g.Thresholds()
		c.askedOps, c.askedBytes = Least*1e9*float64(operations), Least*1e6*float64(bandwidth)
		if _, over := c.seen(c.shared(2, c.best)); over <= measure.MaxOverrun {
			t.Errorf("%s: once it is calibrated, the second node of a card is in time: %s", g.Name, over)
		}
	}
	page := pageOfLiars(table)
	if *update {
		if err := os.WriteFile(liarsPage, []byte(page), 0o644); err != nil { //nolint:gosec // a page of the documentation
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(liarsPage); err != nil || string(got) != page {
		t.Errorf("%s is not current (%v): go test ./attest/measure/class -run TestLiars -update", liarsPage, err)
	}
}
