package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/attest/measure/cuda"
)

// profileOf is what a GPU is calibrated with: the profile of its size in docs/protocol/measurement.md, with 90 % of its memory.
func profileOf(i cuda.Info) measure.Profile {
	p := measure.Profile{Order: 8192, Fold: 4, Rows: 1 << 15, ChainMs: 15000, WalkMs: 1500, Lanes: 1 << 15}
	switch {
	case i.Capability >= 100:
		p.Order, p.Fold, p.Rows, p.Lanes = 16384, 2, 1<<18, 1<<17
	case i.Capability >= 90:
		p.Rows, p.Lanes = 1<<18, 1<<17
	case i.Memory >= 40<<30 || i.Capability == 89:
		p.Rows, p.Lanes = 1<<17, 1<<17
	}
	p.Resident = uint32(min(max(i.Memory*9/10/p.SlotBytes(), 1), measure.MaxRounds))
	return p
}

// gpuTable measures every GPU of this machine and prints the figures that classes are made of.
func gpuTable(ctx context.Context, repeat int, report string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Figures of GPUs\n\nWritten by `make gpu-calibrate` on %s. Least, median and most of %d measurements one after the other, each verified.\n\n", processorName(), repeat)
	fmt.Fprintf(&b, "| GPU | driver | profile | operations (10⁹/s) | bandwidth (10⁹ bytes/s) |\n| --- | ---: | --- | --- | --- |\n")
	found := 0
	for ; ; found++ {
		row, err := oneGPU(ctx, found, repeat)
		if errors.Is(err, attest.ErrAbsent) {
			if found == 0 {
				return fmt.Errorf("no GPU can be measured here, so that classes stay not calibrated on hardware: %w", err)
			}
			break
		}
		if err != nil {
			return err
		}
		b.WriteString(row)
	}
	fmt.Print(b.String())
	if report == "" {
		return nil
	}
	if err := os.WriteFile(report, []byte(b.String()), 0o644); err != nil { //nolint:gosec // a page of the documentation
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

func oneGPU(ctx context.Context, index, repeat int) (row string, err error) {
	d, err := cuda.Open(ctx, cuda.Options{Index: index})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	p := profileOf(d.Info)
	var operations, bandwidth []float64
	for range repeat {
		c, err := check(ctx, d, p)
		if err != nil {
			return "", fmt.Errorf("GPU %d (%s): %w", index, d.Info.Name, err)
		}
		operations, bandwidth = append(operations, c.figures.Operations), append(bandwidth, c.figures.Bandwidth)
		fmt.Fprintf(os.Stderr, "GPU %d (%s): %.4g operations, %.4g bytes a second\n", index, d.Info.Name, c.figures.Operations, c.figures.Bandwidth)
	}
	fields := []uint32{p.Order, uint32(p.Fold), p.Rows, p.ChainMs, p.Resident, p.WalkMs, p.Lanes}
	return fmt.Sprintf("| %s | %d.%d | %s | %s | %s |\n", d.Info.Name, d.Info.Driver/1000, d.Info.Driver%1000/10,
		strings.Join(slices.Collect(texts(fields)), ","), spread(scaled(operations)), spread(scaled(bandwidth))), nil
}

func texts(fields []uint32) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, f := range fields {
			if !yield(fmt.Sprint(f)) {
				return
			}
		}
	}
}
