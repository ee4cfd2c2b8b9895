package class

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// The table has all that a market is likely to have, and none of it pretends to be measured.
func TestTheTableOfGPUs(t *testing.T) {
	table := GPUs()
	for _, name := range []string{
		"RTX-3090", "RTX-4090", "RTX-5090", "L4", "L40S", "A10", "A100-PCIe-40GB", "A100-SXM4-40GB", "A100-PCIe-80GB", "A100-SXM4-80GB",
		"H100-PCIe-80GB", "H100-SXM5-80GB", "H200-SXM5-141GB", "B200-SXM6-180GB",
	} {
		if g := table.Named(name); g == nil || g.Name != name {
			t.Errorf("%s is missing", name)
		}
	}
	for _, g := range table.Classes {
		// docs/reports/gpus.md has the runs that did it.
		if measured := g.Name == "H100-SXM5-80GB" || g.Name == "H200-SXM5-141GB"; measured != (g.Measured != nil) {
			t.Errorf("%s is said to be measured, or not to be: name it here, and its run in the report", g.Name)
		}
		for _, name := range g.Drivers {
			if got := table.Device("", "SIMULATED "+name); got == nil || got.Name != g.Name {
				t.Errorf("%s is no %s", name, g.Name)
			}
		}
		for _, id := range g.PCIIDs {
			if got := table.Device(strings.ToUpper(id), "a name that says nothing"); got == nil || got.Name != g.Name {
				t.Errorf("PCI id %s is no %s", id, g.Name)
			}
		}
	}
	encoded, err := table.Encode()
	if err != nil || string(encoded) != string(gpusJSON) {
		t.Errorf("gpus.json is not as it is written: %v", err)
	}
}

// An unknown device is of no class, and a PCI id says more than a name.
func TestDevices(t *testing.T) {
	table := GPUs()
	if g := table.Device("", "NVIDIA GeForce RTX 4090 Laptop GPU"); g != nil {
		t.Errorf("a laptop's GPU is %s", g.Name)
	}
	if g := table.Device("10de:ffff", "NVIDIA GeForce RTX 4090 D"); g != nil {
		t.Errorf("an unknown board is %s", g.Name)
	}
	if g := table.Device("10de:2331", "NVIDIA H100 80GB HBM3"); g == nil || g.Name != "H100-PCIe-80GB" {
		t.Errorf("PCI id 10de:2331 is %v", g)
	}
	if g := table.Named("rtx 4090"); g == nil || g.Name != "RTX-4090" {
		t.Errorf("rtx 4090 is %v", g)
	}
}

func TestUnsupportedGPUs(t *testing.T) {
	table := GPUs()
	for _, text := range []string{"MI300X", "AMD Instinct MI300X", "mi-300x", "1002:74A1", "MI250X-128GB"} {
		if u := table.Refused(text); u == nil || u.Why == "" {
			t.Errorf("%s is not refused", text)
		}
	}
	for _, text := range []string{"", "H100", "10de:2330", "NVIDIA B200"} {
		if u := table.Refused(text); u != nil {
			t.Errorf("%q is refused as %s", text, u.Name)
		}
	}
}

func TestWrongTables(t *testing.T) {
	good := string(gpusJSON)
	for what, change := range map[string]func(string) string{
		"an unknown field": func(s string) string { return strings.Replace(s, `"chip"`, `"chips"`, 1) },
		"a PCI id twice":   func(s string) string { return strings.Replace(s, "10de:2330", "10de:2331", 1) },
		"a board twice":    func(s string) string { return strings.Replace(s, "G520_0200_885", "1010_0200_882", 1) },
		"a bad profile":    func(s string) string { return strings.Replace(s, `"order": 8192`, `"order": 8191`, 1) },
		"little memory":    func(s string) string { return strings.Replace(s, `"resident": 54`, `"resident": 5`, 1) },
		"no source":        func(s string) string { return strings.Replace(s, `"NVIDIA T4 data sheet"`, `""`, 1) },
		"half a measurement": func(s string) string {
			return strings.Replace(s, `"measured": null`, `"measured": {"operations": 1, "bandwidth": 0, "repeats": 1, "driver": "1"}`, 1)
		},
	} {
		bad := change(good)
		if bad == good {
			t.Fatalf("%s: nothing was changed", what)
		}
		if _, err := ParseTable([]byte(bad)); !errors.Is(err, ErrTable) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A machine is of its class from 72 % of the median on, as the program takes 0.7 of a threshold. A class that nobody has calibrated
// asks for floors, and its machines have no typical figure by them.
func TestThresholds(t *testing.T) {
	table := GPUs()
	for _, g := range table.Classes {
		operations, bandwidth := g.Thresholds()
		median, calibrated := table.Typical(g.Name, operations)
		if calibrated != (g.Measured != nil) {
			t.Errorf("%s: typical is %d", g.Name, median)
		}
		wantOperations, wantBandwidth := 0.15*1000*float64(g.Sheet.Int8TOPS), 0.05*1000*float64(g.Sheet.GigabytesPerSecond)
		if m := g.Measured; m != nil {
			wantOperations, wantBandwidth = 0.72/0.7*float64(m.Operations), 0.72/0.7*float64(m.Bandwidth)
			if math.Abs(float64(median)-float64(m.Operations)) > 2 {
				t.Errorf("%s: the median is %d, not %d", g.Name, median, m.Operations)
			}
		}
		if math.Abs(float64(operations)-wantOperations) > 1 || math.Abs(float64(bandwidth)-wantBandwidth) > 1 {
			t.Errorf("%s asks for %d and %d, not %.0f and %.0f", g.Name, operations, bandwidth, wantOperations, wantBandwidth)
		}
	}
	if _, ok := table.Typical("a model of somebody's own", 0); ok {
		t.Error("a threshold of 0 has a typical figure")
	}
	if median, ok := table.Typical("a model of somebody's own", 720); !ok || median != 700 {
		t.Errorf("typical is %d", median)
	}
}

// A run on hardware writes its medians into the table; the thresholds follow from them.
func TestACalibrationIsRecorded(t *testing.T) {
	table, err := ParseTable(gpusJSON)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := table.Record("NVIDIA H100 NVL", Calibration{Operations: 1_400_000, Bandwidth: 1_900_001, Repeats: 10, Driver: "12.8"})
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseTable(raw)
	if err != nil {
		t.Fatal(err)
	}
	if operations, bandwidth := again.Named("H100-NVL-94GB").Thresholds(); operations != 1_440_000 || bandwidth != 1_954_286 {
		t.Errorf("thresholds %d and %d", operations, bandwidth)
	}
	if _, err := table.Record("NVIDIA GeForce GTX 1080", Calibration{}); !errors.Is(err, ErrTable) {
		t.Errorf("an unknown GPU is recorded: %v", err)
	}
	if GPUs().Named("H100-NVL-94GB").Measured != nil {
		t.Error("the committed table has changed")
	}
}
