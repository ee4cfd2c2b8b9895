package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/measure/check"
	"github.com/gantry-market/gantry/attest/measure/cuda"
)

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
	p := d.Info.Profile()
	var operations, bandwidth []float64
	for range repeat {
		c, err := check.Device(ctx, d, p)
		if err != nil {
			return "", fmt.Errorf("GPU %d (%s): %w", index, d.Info.Name, err)
		}
		operations, bandwidth = append(operations, c.Figures.Operations), append(bandwidth, c.Figures.Bandwidth)
		fmt.Fprintf(os.Stderr, "GPU %d (%s): %.4g operations, %.4g bytes a second\n", index, d.Info.Name, c.Figures.Operations, c.Figures.Bandwidth)
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
