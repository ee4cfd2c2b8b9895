// Command work-table measures, on this machine, how long work proofs and their checks take, and how often opened
// samples miss a cheat, against theory.
//
// Times are of one goroutine. Next to the elapsed time stands the processor time, which is what counts on a machine
// that does other things too. With a GPU it measures that as well and compares it with the data sheet.
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gantry-market/gantry/attest/work"
	"github.com/gantry-market/gantry/attest/work/class"
	"github.com/gantry-market/gantry/attest/work/gpu"
	"github.com/gantry-market/gantry/attest/work/series"
	"github.com/gantry-market/gantry/attest/work/vram"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "work-table:", err)
		os.Exit(1)
	}
}

func run() error {
	orders := flag.String("n", "1024,2048,4096", "orders to measure")
	trials := flag.Int("trials", 20_000, "trials of each sample")
	rounds := flag.Int("rounds", 200, "rounds of a series on a GPU")
	seed := flag.Uint64("seed", 1, "what all draws follow from")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var sizes []int
	for _, s := range strings.Split(*orders, ",") {
		n, err := strconv.Atoi(s)
		if err != nil {
			return err
		}
		if err := work.CheckOrder(n); err != nil {
			return err
		}
		sizes = append(sizes, n)
	}
	if err := times(ctx, sizes); err != nil {
		return err
	}
	if err := memory(); err != nil {
		return err
	}
	misses(*trials, *seed)
	return device(ctx, sizes, *rounds)
}

// clock measures elapsed and processor time.
type clock struct {
	wall time.Time
	cpu  time.Duration
}

func start() clock { return clock{time.Now(), cpuTime()} }

func (c clock) stop() (wall, cpu time.Duration) { return time.Since(c.wall), cpuTime() - c.cpu }

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func times(ctx context.Context, sizes []int) error {
	fmt.Printf("| n | Prove | processor time | 10⁹ operations/s | Verify | processor time | Verify/prove |\n| ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, n := range sizes {
		c := start()
		p, err := work.CPU{Workers: 1}.Prove(ctx, work.Seed{byte(n >> 5)}, n)
		if err != nil {
			return err
		}
		wall, cpu := c.stop()
		var b bytes.Buffer
		if _, err := p.WriteTo(&b); err != nil {
			return err
		}
		const repeat = 3
		c = start()
		for range repeat {
			if _, err := (work.Verifier{}).Verify(ctx, p.Seed, n, bytes.NewReader(b.Bytes())); err != nil {
				return err
			}
		}
		vwall, vcpu := c.stop()
		vwall, vcpu = vwall/repeat, vcpu/repeat
		fmt.Printf("| %d | %v | %v | %.2f | %v | %v | %.2f %% |\n", n, short(wall), short(cpu), work.GOPS(n, cpu), short(vwall), short(vcpu),
			100*float64(vcpu)/float64(cpu))
	}
	return nil
}

func short(d time.Duration) time.Duration {
	if d > time.Second {
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(10 * time.Microsecond)
}

func memory() error {
	c := start()
	b, err := vram.Block([32]byte{1}, 0, vram.DefaultPasses)
	if err != nil {
		return err
	}
	if _, err := vram.Digest(b, [32]byte{2}, 0); err != nil {
		return err
	}
	wall, cpu := c.stop()
	fmt.Printf("\nOne block of a sweep, %d passes: %v, %v of processor time; 44 blocks, which miss 10 %% missing memory once in a hundred times: %v.\n",
		vram.DefaultPasses, short(wall), short(cpu), short(44*cpu))
	return nil
}

// misses draws samples as verifiers do and counts those that see nothing.
func misses(trials int, seed uint64) {
	const count = 1024 * 1024 / work.ChunkEntries // chunks of a product of order 1024
	opened := []int{16, 32, 64, 128}
	fmt.Printf("\n| Wrong chunks of %d |", count)
	for _, k := range opened {
		fmt.Printf(" %d opened: missed | (1−f)^k |", k)
	}
	fmt.Printf("\n| ---: |%s\n", strings.Repeat(" ---: | ---: |", len(opened)))
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, f := range []float64{0.01, 0.05, 0.1, 0.25, 0.5} {
		fmt.Printf("| %g %% |", 100*f)
		bad := make([]bool, count)
		for _, at := range rng.Perm(count)[:int(f*count)] {
			bad[at] = true
		}
		for _, k := range opened {
			missed := 0
			for range trials {
				if !seen(bad, k, rng) {
					missed++
				}
			}
			fmt.Printf(" %.4f | %.4f |", float64(missed)/float64(trials), work.MissProbability(f, k))
		}
		fmt.Println()
	}
}

func seen(bad []bool, k int, rng *rand.Rand) bool {
	var root, secret [32]byte
	binary.LittleEndian.PutUint64(root[:], rng.Uint64())
	binary.LittleEndian.PutUint64(secret[:], rng.Uint64())
	for _, at := range work.Sample(root, secret, len(bad), k) {
		if bad[at] {
			return true
		}
	}
	return false
}

// device measures a GPU, if there is one.
func device(ctx context.Context, sizes []int, rounds int) (err error) {
	p, err := gpu.Open(ctx, gpu.Options{})
	if err != nil {
		return err
	}
	defer func() {
		if cerr := p.Close(); err == nil {
			err = cerr
		}
	}()
	info, ok := p.Info()
	if !ok {
		fmt.Printf("\nNo GPU was measured: %s\n", p.Reason())
		return nil
	}
	sheet, known := class.ByDevice(info.Name, uint32(info.Memory>>20))
	fmt.Printf("\n%s, driver %d, %d MiB\n\n| n | a round | 10¹² operations/s | ideal round |\n| ---: | ---: | ---: | ---: |\n", p.Name(), info.Driver, info.Memory>>20)
	for _, n := range sizes {
		if _, err := series.Prove(ctx, p, work.Seed{1}, n, 3); err != nil {
			return err
		}
		c := start()
		if _, err := series.Prove(ctx, p, work.Seed{2}, n, rounds); err != nil {
			return err
		}
		wall, _ := c.stop()
		round := wall / time.Duration(rounds)
		ideal := "not known"
		if known {
			ideal = sheet.Ideal(n).String()
		}
		fmt.Printf("| %d | %v | %.1f | %s |\n", n, round, work.GOPS(n, round)/1000, ideal)
	}
	return nil
}
