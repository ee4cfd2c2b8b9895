package class

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/gantry-market/gantry/attest/measure"
)

// Sources says where the facts of gpus.json come from.
const Sources = "figures: the data sheets named with them, dense; memory: as drivers show it, with ECC where it is on by default; PCI ids: pci.ids; " +
	"boards: as signed reports of such GPUs name them (project_sku_chip); prices are assumptions, which governance replaces"

//go:embed gpus.json
var gpusJSON []byte

// GPU is a class of GPUs that a market can have as a model.
type GPU struct {
	// Name is that of the model on chain, at most 32 bytes.
	Name string `json:"name"`
	// Drivers are the names that drivers give to the device.
	Drivers []string `json:"drivers"`
	Chip    string   `json:"chip"`
	// Compute is the capability of its code.
	Compute Compute `json:"compute"`
	// PCIIDs are vendor:device in hexadecimal digits.
	PCIIDs []string `json:"pci_ids"`
	// Boards are the boards (project_sku_chip) that a signed report of the GPU may name; none where GPUs of the class
	// sign none.
	Boards []string `json:"boards"`
	// MemoryMiB is what the driver shows.
	MemoryMiB uint32 `json:"memory_mib"`
	Sheet     Sheet  `json:"sheet"`
	// Price is what a proposal of the model takes as its reference price where nobody says otherwise, USDC per
	// GPU-hour: an assumption, by which the stake is computed too.
	Price   string `json:"price"`
	Profile Asked  `json:"profile"`
	// Measured is what GPUs of the class were measured to do; nil as long as that is not calibrated on hardware.
	Measured *Calibration `json:"measured"`
}

// Sheet are the figures of a data sheet. None of them was measured.
type Sheet struct {
	Int8TOPS           uint32 `json:"int8_tops"` // dense
	GigabytesPerSecond uint32 `json:"gigabytes_per_second"`
	FP16TFLOPS         uint32 `json:"fp16_tflops"` // dense
	Source             string `json:"source"`
}

// Asked is a measure.Profile as the table has it: what GPUs of the class are asked for.
type Asked struct {
	Order    uint32 `json:"order"`
	Fold     uint8  `json:"fold"`
	Rows     uint32 `json:"rows"`
	ChainMs  uint32 `json:"chain_ms"`
	Resident uint32 `json:"resident"`
	WalkMs   uint32 `json:"walk_ms"`
	Lanes    uint32 `json:"lanes"`
}

// Calibration is what `make gpu-calibrate` has measured on hardware.
type Calibration struct {
	// Operations is 10⁹ int8 operations a second, Bandwidth 10⁶ bytes a second under dependent access: medians.
	Operations uint32 `json:"operations"`
	Bandwidth  uint32 `json:"bandwidth"`
	Repeats    int    `json:"repeats"`
	Driver     string `json:"driver"`
}

const (
	// sellsPercent is the part of the measured median from which on a machine is of its class: cards differ, get hot and are
	// capped. Of two nodes that share a card each reaches 63 % (docs/reports/liars.md).
	sellsPercent = 72
	// takenPercent is the part of a threshold that the program takes as enough.
	takenPercent = 100 * Least
	// floorOperations and floorBandwidth are percents of the data sheet that a class asks for which nobody has calibrated: what
	// every GPU of it reaches, and a machine without a GPU does not.
	floorOperations, floorBandwidth = 15, 5
	// perSheet are the units of thresholds, 10⁹ operations and 10⁶ bytes, in those of a data sheet.
	perSheet = 1000
)

// Thresholds are what the class asks for: 10⁹ int8 operations and 10⁶ bytes of memory a second. They follow from what was
// measured, or are floors by the data sheet where nothing was.
func (g *GPU) Thresholds() (operations, bandwidth uint32) {
	if m := g.Measured; m != nil {
		return part(m.Operations, sellsPercent, takenPercent), part(m.Bandwidth, sellsPercent, takenPercent)
	}
	return g.floors()
}

// floors are what the class asks for until somebody calibrates it, by its data sheet.
func (g *GPU) floors() (operations, bandwidth uint32) {
	return part(g.Sheet.Int8TOPS*perSheet, floorOperations, 100), part(g.Sheet.GigabytesPerSecond*perSheet, floorBandwidth, 100)
}

func part(v, percent, by uint32) uint32 { return uint32(uint64(v) * uint64(percent) / uint64(by)) }

// Typical is the median on which a model of the table was calibrated whose threshold for operations is given, in the same
// units. A floor follows from no median: ok is false. Nodes may have accepted the floor before the class was calibrated.
func (t *Table) Typical(model string, threshold uint32) (median uint32, ok bool) {
	if g := t.Named(model); g != nil {
		if floor, _ := g.floors(); threshold == floor {
			return 0, false
		}
	}
	return uint32(uint64(threshold) * takenPercent / sellsPercent), threshold > 0
}

// Unsupported is a GPU that no market can have as a model.
type Unsupported struct {
	Name   string   `json:"name"`
	PCIIDs []string `json:"pci_ids"`
	Why    string   `json:"why"`
}

// Text says that the GPU is not supported, and why: all entries are of one maker.
func (u *Unsupported) Text() string {
	return fmt.Sprintf("AMD's %s is not supported yet: %s", u.Name, u.Why)
}

// Table is what gpus.json holds.
type Table struct {
	Classes     []GPU         `json:"classes"`
	Unsupported []Unsupported `json:"unsupported"`
}

// ErrTable means that a table of classes cannot be right.
var ErrTable = errors.New("the table of classes is wrong")

// GPUs is the committed table. It is not to be changed.
var GPUs = sync.OnceValue(func() *Table {
	t, err := ParseTable(gpusJSON)
	if err != nil {
		panic(err) // it is part of the program, and a test reads it
	}
	return t
})

// ParseTable reads a table. Error: ErrTable.
func ParseTable(raw []byte) (*Table, error) {
	var t Table
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&t); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTable, err)
	}
	taken := map[string]string{} // names, drivers' names, PCI ids and boards are of one class each
	for i := range t.Classes {
		if err := t.Classes[i].check(taken); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrTable, t.Classes[i].Name, err)
		}
	}
	for _, u := range t.Unsupported {
		if u.Name == "" || u.Why == "" {
			return nil, fmt.Errorf("%w: %q is unsupported for no reason", ErrTable, u.Name)
		}
	}
	return &t, nil
}

func (g *GPU) check(taken map[string]string) error {
	p := g.Profile.Format()
	if err := p.Validate(); err != nil {
		return err
	}
	memory := uint64(g.MemoryMiB) << 20
	switch resident := uint64(p.Resident) * uint64(p.Rows) * uint64(p.Order); {
	case g.Name == "" || len(g.Name) > 32 || len(g.Drivers) == 0 || len(g.PCIIDs) == 0:
		return errors.New("it has no name of at most 32 bytes, no driver's name or no PCI id")
	case g.Sheet.Int8TOPS == 0 || g.Sheet.GigabytesPerSecond == 0 || g.Sheet.FP16TFLOPS == 0 || g.Sheet.Source == "":
		return errors.New("a figure of its data sheet or the source is missing")
	case g.Compute == 0:
		return errors.New("its compute capability is missing")
	case resident > memory*9/10 || resident < memory*8/10:
		return fmt.Errorf("its profile keeps %d MiB of %d: not nearly nine tenths", resident>>20, g.MemoryMiB)
	case g.Measured != nil && (g.Measured.Operations == 0 || g.Measured.Bandwidth == 0 || g.Measured.Repeats == 0 || g.Measured.Driver == ""):
		return errors.New("what was measured is not whole")
	}
	for _, name := range slices.Concat([]string{plain(g.Name)}, g.PCIIDs, g.Boards, g.Drivers) {
		if other, ok := taken[name]; ok && other != g.Name {
			return fmt.Errorf("%s is of %s too", name, other)
		}
		taken[name] = g.Name
	}
	return nil
}

// Format is the profile as measurements take it.
func (p Asked) Format() measure.Profile {
	return measure.Profile{Order: p.Order, Fold: p.Fold, Rows: p.Rows, ChainMs: p.ChainMs, Resident: p.Resident, WalkMs: p.WalkMs, Lanes: p.Lanes}
}

// Named is the class of a model's name, in any case and however its words are parted; nil for one that the table does
// not have.
func (t *Table) Named(model string) *GPU {
	name := plain(model)
	for i := range t.Classes {
		if plain(t.Classes[i].Name) == name {
			return &t.Classes[i]
		}
	}
	return nil
}

// Device is the class of a device by its PCI id ("10de:2330") or, where no class has that, by the name that its driver
// gives it; nil for one that the table does not have. Names of simulated GPUs are those of real ones behind a word.
func (t *Table) Device(pciID, driver string) *GPU {
	for i := range t.Classes {
		if pciID != "" && slices.Contains(t.Classes[i].PCIIDs, strings.ToLower(pciID)) {
			return &t.Classes[i]
		}
	}
	driver = strings.TrimPrefix(driver, "SIMULATED ")
	for i := range t.Classes {
		if slices.Contains(t.Classes[i].Drivers, driver) {
			return &t.Classes[i]
		}
	}
	return nil
}

// Refused is the entry of a GPU that is not supported, which a text names or whose PCI id it is; nil for none.
func (t *Table) Refused(text string) *Unsupported {
	for i := range t.Unsupported {
		u := &t.Unsupported[i]
		if name := plain(u.Name); strings.Contains(plain(text), name) || slices.Contains(u.PCIIDs, strings.ToLower(text)) {
			return u
		}
	}
	return nil
}

// Record notes what GPUs of the class of a driver's name were measured to do, and returns the table as it is committed.
// Error: ErrTable.
func (t *Table) Record(driver string, c Calibration) ([]byte, error) {
	g := t.Device("", driver)
	if g == nil {
		return nil, fmt.Errorf("%w: it has no class of %q", ErrTable, driver)
	}
	g.Measured = &c
	return t.Encode()
}

// Encode is the table as it is committed. Error: ErrTable.
func (t *Table) Encode() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(t); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTable, err)
	}
	_, err := ParseTable(b.Bytes())
	return b.Bytes(), err
}

var partings = strings.NewReplacer("-", "", " ", "", "_", "")

// plain is a name without what parts its words.
func plain(s string) string { return strings.ToUpper(partings.Replace(s)) }
