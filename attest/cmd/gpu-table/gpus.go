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
	"github.com/gantry-market/gantry/attest/measure/class"
	"github.com/gantry-market/gantry/attest/measure/cuda"
)

// gpuTable measures every GPU of this machine, prints the figures that classes are made of, and writes them into the
// table of classes that is in a file, if one is named.
func gpuTable(ctx context.Context, repeat int, report, classes string) error {
	table, err := readTable(classes)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Figures of GPUs\n\nWritten by `make gpu-calibrate` on %s. Least, median and most of %d measurements one after the other, each verified.\n\n", processorName(), repeat)
	fmt.Fprintf(&b, "| GPU | driver | profile | operations (10⁹/s) | bandwidth (10⁹ bytes/s) |\n| --- | ---: | --- | --- | --- |\n")
	found := 0
	for ; ; found++ {
		m, err := oneGPU(ctx, found, repeat)
		if errors.Is(err, attest.ErrAbsent) {
			if found == 0 {
				return fmt.Errorf("no GPU can be measured here, so that classes stay not calibrated on hardware: %w", err)
			}
			break
		}
		if err != nil {
			return err
		}
		b.WriteString(m.row)
		if err := m.record(table, classes); err != nil {
			return err
		}
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

// readTable reads the table of classes that figures are written into; nil for no file.
func readTable(file string) (*class.Table, error) {
	if file == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the table of classes: %w", err)
	}
	return class.ParseTable(raw)
}

// measuredGPU is one GPU's figures: a row of the report, and what the table of classes takes.
type measuredGPU struct {
	name, row string
	figures   class.Calibration
}

// record writes the figures into the table; a GPU that the table does not have is said to be missing.
func (m measuredGPU) record(table *class.Table, file string) error {
	if table == nil {
		return nil
	}
	if table.Device("", m.name) == nil {
		fmt.Fprintf(os.Stderr, "%s is not in %s: add its class, and measure it again\n", m.name, file)
		return nil
	}
	raw, err := table.Record(m.name, m.figures)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, raw, 0o644); err != nil { //nolint:gosec // a file of the repository
		return fmt.Errorf("write the table of classes: %w", err)
	}
	return nil
}

func oneGPU(ctx context.Context, index, repeat int) (m measuredGPU, err error) {
	d, err := cuda.Open(ctx, cuda.Options{Index: index})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	p := d.Info.Profile()
	var operations, bandwidth []float64
	for range repeat {
		c, err := check.Device(ctx, d, p)
		if err != nil {
			return m, fmt.Errorf("GPU %d (%s): %w", index, d.Info.Name, err)
		}
		operations, bandwidth = append(operations, c.Figures.Operations), append(bandwidth, c.Figures.Bandwidth)
		fmt.Fprintf(os.Stderr, "GPU %d (%s): %.4g operations, %.4g bytes a second\n", index, d.Info.Name, c.Figures.Operations, c.Figures.Bandwidth)
	}
	fields := []uint32{p.Order, uint32(p.Fold), p.Rows, p.ChainMs, p.Resident, p.WalkMs, p.Lanes}
	driver := fmt.Sprintf("%d.%d", d.Info.Driver/1000, d.Info.Driver%1000/10)
	m.name = d.Info.Name
	m.row = fmt.Sprintf("| %s | %s | %s | %s | %s |\n", m.name, driver, strings.Join(slices.Collect(texts(fields)), ","), spread(scaled(operations)), spread(scaled(bandwidth)))
	m.figures = class.Calibration{
		Operations: uint32(class.Median(operations) / 1e9), Bandwidth: uint32(class.Median(bandwidth) / 1e6), Repeats: repeat, Driver: driver,
	}
	return m, nil
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
