// Command outdated checks every version that this repository pins directly. It fails for a pin if a newer version has
// existed for more than 90 days, unless a line of the file of reasons explains why.
//
// usage: outdated [-strict] [-root DIR] [-reasons FILE]
//
// It exits with 1 for a pin that is late, and for a reason that is not needed any more. If a registry cannot be
// reached, the output names it, and the pins that come from it are not judged. With -strict that is a failure too.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// together is how many pins are looked up at the same time.
const together = 8

func main() {
	strict := flag.Bool("strict", false, "fail when a registry cannot be asked")
	root := flag.String("root", ".", "the repository")
	file := flag.String("reasons", "scripts/outdated.txt", "why pins stay behind, from the root of the repository")
	flag.Parse()
	r, err := run(context.Background(), *root, *file, public(), time.Now())
	if err != nil {
		fmt.Fprintln(os.Stderr, "outdated:", err)
		os.Exit(2)
	}
	r.print(os.Stdout, *file, time.Now())
	if !r.ok() || *strict && len(r.unasked) > 0 {
		os.Exit(1)
	}
}

func run(ctx context.Context, root, file string, from registries, now time.Time) (report, error) {
	text, err := os.Open(filepath.Join(root, file))
	if err != nil {
		return report{}, fmt.Errorf("the reasons: %w", err)
	}
	defer func() { _ = text.Close() }()
	why, err := readReasons(text)
	if err != nil {
		return report{}, fmt.Errorf("%s: %w", file, err)
	}
	pins, err := readPins(ctx, root)
	if err != nil {
		return report{}, err
	}
	return decide(from.findAll(ctx, pins, now), why, now), nil
}

// findAll looks all pins up.
func (r registries) findAll(ctx context.Context, pins []pin, now time.Time) []finding {
	found := make([]finding, len(pins))
	next := make(chan int)
	var wg sync.WaitGroup
	for range together {
		wg.Go(func() {
			for i := range next {
				found[i] = r.find(ctx, pins[i], now)
			}
		})
	}
	for i := range pins {
		next <- i
	}
	close(next)
	wg.Wait()
	return found
}
