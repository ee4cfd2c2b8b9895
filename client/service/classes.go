package service

import (
	"fmt"
	"strings"

	"github.com/gantry-market/gantry/attest/measure/class"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
)

// NotCalibrated is said of classes whose figures nobody has measured: they ask for a part of the data sheet.
const NotCalibrated = "a floor: not calibrated on hardware"

// Class is a class of GPUs that a market can have as a model, as people and programs read it.
type Class struct {
	Name      string   `json:"name"`
	Drivers   []string `json:"driverNames"`
	PCIIDs    []string `json:"pciIds"`
	Boards    []string `json:"boards,omitempty"`
	MemoryMiB uint32   `json:"memoryMib"`
	// Int8TOPS, GigabytesPerSecond and FP16TFLOPS are of Source.
	Int8TOPS           uint32 `json:"dataSheetInt8Tops"`
	GigabytesPerSecond uint32 `json:"dataSheetGigabytesPerSecond"`
	FP16TFLOPS         uint32 `json:"dataSheetFp16Tflops"`
	Compute            string `json:"computeCapability"`
	Source             string `json:"source"`
	Profile            string `json:"profile"`
	// Calibration says what the class asks for, and by which measurements on hardware, or that there are none.
	Calibration string `json:"calibration"`
	// Price is assumed, USDC per GPU-hour; Stake is the least stake of a GPU at it, by the parameters that are given.
	Price string `json:"assumedPricePerGpuHour"`
	Stake string `json:"leastStake,omitempty"`
	// PassFor are the classes that cost no more and reach what this one asks for: figures do not keep them from being
	// sold as it.
	PassFor []string `json:"classesThatPassForIt,omitempty"`
}

// Classes describes the committed table of classes, with stakes by a market's parameters.
func Classes(p *market.Params) ([]Class, error) {
	all := class.GPUs().Classes
	prices := make([]market.PricePerHour, len(all))
	for i := range all {
		var err error
		if prices[i], err = market.ParsePrice(all[i].Price); err != nil {
			return nil, fmt.Errorf("price of %s: %w", all[i].Name, err)
		}
	}
	out := make([]Class, len(all))
	for i := range all {
		g, price := &all[i], prices[i]
		out[i] = Class{
			Name: g.Name, Drivers: g.Drivers, PCIIDs: g.PCIIDs, Boards: g.Boards, MemoryMiB: g.MemoryMiB, Int8TOPS: g.Sheet.Int8TOPS,
			GigabytesPerSecond: g.Sheet.GigabytesPerSecond, FP16TFLOPS: g.Sheet.FP16TFLOPS, Compute: g.Compute.String(), Source: g.Sheet.Source,
			Profile: market.ProfileText(ClassProfile(g)), Price: price.String(),
		}
		operations, bandwidth := g.Thresholds()
		why := NotCalibrated
		if m := g.Measured; m != nil {
			why = fmt.Sprintf("by %d measurements with driver %s", m.Repeats, m.Driver)
		}
		out[i].Calibration = fmt.Sprintf("%s TOPS and %s GB/s, %s", market.TOPS(operations), market.GBs(bandwidth), why)
		if stake, ok := market.LeastStake(p, price); ok {
			out[i].Stake = stake.String()
		}
		for j := range all {
			if i != j && prices[j] <= price && passesFor(&all[j], g) {
				out[i].PassFor = append(out[i].PassFor, all[j].Name)
			}
		}
	}
	return out, nil
}

// passesFor reports whether a GPU reaches what another class asks for, by the data sheets: 0.7 of both figures, and the
// memory that its rounds are kept in.
func passesFor(x, as *class.GPU) bool {
	return x.Sheet.Int8TOPS*10 >= as.Sheet.Int8TOPS*7 && x.Sheet.GigabytesPerSecond*10 >= as.Sheet.GigabytesPerSecond*7 && x.MemoryMiB*10 >= as.MemoryMiB*9
}

// ClassProfile is what GPUs of a class are measured by, as the program has it.
func ClassProfile(g *class.GPU) bindings.MeasureProfile {
	return market.ProfileArgs(g.Profile.Format())
}

// ClassNamed finds a class of the table by its name or a part of it. Errors: Failure, for one that is not supported,
// not there, or not unique.
func ClassNamed(text string) (*class.GPU, error) {
	table := class.GPUs()
	if err := Unsupported(text); err != nil {
		return nil, err
	}
	if g := table.Named(text); g != nil {
		return g, nil
	}
	var found *class.GPU
	names := make([]string, len(table.Classes))
	count := 0
	for i := range table.Classes {
		names[i] = table.Classes[i].Name
		if text != "" && strings.Contains(strings.ToLower(names[i]), strings.ToLower(text)) {
			found, count = &table.Classes[i], count+1
		}
	}
	switch {
	case count == 1:
		return found, nil
	case count > 1:
		return nil, Usage(fmt.Sprintf("class %q is not unique", text), "classes: "+strings.Join(names, ", "))
	}
	return nil, Usage(fmt.Sprintf("class %q is not in the table", text), "classes: "+strings.Join(names, ", "))
}

// Unsupported refuses a GPU that no market can have. Error: Failure.
func Unsupported(text string) error {
	if u := class.GPUs().Refused(text); u != nil {
		return Usage(u.Text(), "classes that are supported: gantry market classes")
	}
	return nil
}
