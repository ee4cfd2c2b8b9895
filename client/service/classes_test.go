package service

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/measure/class"
	"github.com/gantry-market/gantry/sdk/market"
)

var updateClasses = flag.Bool("update", false, "write the page of classes anew")

const classesPage = "../../docs/protocol/classes.md"

// The page of classes is the table that programs use.
func TestThePageOfClasses(t *testing.T) {
	p := market.DefaultParams()
	all, err := Classes(&p)
	require.NoError(t, err)
	page := pageOfClasses(t, &p, all)
	if *updateClasses {
		require.NoError(t, os.WriteFile(classesPage, []byte(page), 0o644)) //nolint:gosec // a page of the documentation
	}
	got, err := os.ReadFile(classesPage)
	require.NoError(t, err)
	require.Equal(t, page, string(got), "write it anew with: go test ./client/service -run ThePageOfClasses -update")
	var calibrated []string
	for _, c := range all {
		if !strings.HasSuffix(c.Calibration, NotCalibrated) {
			calibrated = append(calibrated, c.Name)
		}
		require.NotEmpty(t, c.Stake)
	}
	require.Equal(t, []string{"H100-SXM5-80GB", "H200-SXM5-141GB"}, calibrated, "docs/reports/gpus.md has what was measured")
}

func pageOfClasses(t *testing.T, p *market.Params, all []Class) string {
	var b strings.Builder
	b.WriteString(`# Classes of GPUs

Written by ` + "`go test ./client/service -run ThePageOfClasses -update`" + ` from [the table](../../attest/measure/class/gpus.json), which agents, keepers and
commands use. ` + "`gantry market classes`" + ` prints it; ` + "`gantry market model propose --class NAME ID`" + ` proposes one to a market (with ` + "`--as-vault`" + ` it prints the transaction), at
the price and stake below where no others are given.

**Few classes are calibrated on hardware** ([what was measured](../reports/gpus.md)). Figures are those of data sheets, dense. The last column is the threshold of a class.
A machine is of its class from 0.7 of it on. In a calibrated class that is 72 % of the median, which ` + "`make gpu-calibrate`" + ` has measured on a GPU. A class that nobody
has calibrated asks for a floor, 15 % of the data sheet's operations and 5 % of its bandwidth. A GPU of it reaches that, and a machine without a GPU
does not ([what each liar reaches](../reports/liars.md)).

| class | driver's memory, MiB | int8 TOPS | GB/s | FP16 TFLOPS | compute capability | source | threshold |
| --- | ---: | ---: | ---: | ---: | ---: | --- | --- |
`)
	for _, c := range all {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %s | %s | %s |\n", c.Name, c.MemoryMiB, c.Int8TOPS, c.GigabytesPerSecond, c.FP16TFLOPS, c.Compute, c.Source, c.Calibration)
	}
	b.WriteString(`
Memory is what drivers show, with error correction where it is on by default. Orders and searches ask for memory as cards are sold: 24 GiB is
24 × 1024 × 0.93 MiB.

## How a device is told
The agent finds the class of a device by its PCI id, or by the driver's name where no class has that id. It registers the device only under
the model of that class. The machine reports both itself. Keepers compare the driver's name in the inventory, and the **board** in the GPU's
signed report (project, SKU and chip, as NVIDIA's manifests name them). A genuine report of a board that the model does not have is worth no
tier. It costs no stake, since the list may be incomplete. GPUs without boards here sign no report.

| class | PCI ids | names that drivers give | boards |
| --- | --- | --- | --- |
`)
	for _, c := range all {
		boards := strings.Join(c.Boards, ", ")
		if boards == "" {
			boards = "–"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", c.Name, strings.Join(c.PCIIDs, ", "), strings.Join(c.Drivers, ", "), boards)
	}
	b.WriteString("\nNot supported yet:\n")
	for _, u := range class.GPUs().Unsupported {
		fmt.Fprintf(&b, "- AMD's %s (%s): %s\n", u.Name, strings.Join(u.PCIIDs, ", "), u.Why)
	}
	b.WriteString(`
## Classes that figures do not tell apart
A GPU of the right column costs no more than one of the left. It reaches 0.7 of the left one's data sheet and has nine tenths of its memory, so
it can be sold as one. Where that matters, make one model of both, or ask for tier 3, whose reports name the board. All others are told apart by a figure.

| class | passes for it |
| --- | --- |
`)
	for _, c := range all {
		if len(c.PassFor) > 0 {
			fmt.Fprintf(&b, "| %s | %s |\n", c.Name, strings.Join(c.PassFor, ", "))
		}
	}
	fmt.Fprintf(&b, `
## Stake
Selling what is not there pays nothing when

    S ≥ (g − c) ÷ (d · σ · b)

S is the stake of a GPU. g is what the cheat gains an hour. c is what it costs an hour to let another machine compute what is checked. d is how often
the cheat is found, an hour. σ is the part of the stake that a finding takes (%s, `+"`slash_bad_work_bps`"+`). b is the part of it that is burned (half:
the rest may come back to the cheat's own wallets). The relations that `+"`gantry market show`"+`
prints count with g = half of the reference price, c = 0, and one finding a day. A slash must also cover the harm of two periods, which the program checks. The
least stake below is the larger of both, at a stake token worth 1 USD and the protocol's default parameters. Prices are assumptions of this table; governance sets both.

| class | assumed USDC per GPU-hour | least stake, GNT | for one finding in 25 hours, USD | in 720 hours, USD | profile |
| --- | ---: | ---: | ---: | ---: | --- |
`, strings.TrimSuffix(fmt.Sprintf("%.4g", float64(p.SlashBadWorkBps)/100), ".")+" %")
	for _, c := range all {
		price, err := market.ParsePrice(c.Price)
		require.NoError(t, err)
		of := func(hours float64) float64 {
			return market.LeastStakeUSD(p, market.Cheat{Gain: float64(price) / 1e6 / 2, Detections: 1 / hours})
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %.0f | %.0f | %s |\n", c.Name, c.Price, strings.TrimSuffix(c.Stake, ".00"), of(25), of(720), c.Profile)
	}
	b.WriteString(`
A profile is order, fold, rows, milliseconds of the chain, resident rounds, milliseconds of walks, lanes ([the format](measurement.md#profile)); resident rounds take nine tenths of
the memory.
`)
	return b.String()
}

func TestClassesByName(t *testing.T) {
	g, err := ClassNamed("h200-sxm")
	require.NoError(t, err)
	require.Equal(t, "H200-SXM5-141GB", g.Name)
	for text, want := range map[string]string{
		"A100": "is not unique", "": "is not in the table", "GTX 480": "is not in the table", "AMD Instinct MI325X": "not supported yet",
	} {
		_, err := ClassNamed(text)
		require.ErrorContains(t, err, want, text)
		require.Equal(t, CodeUsage, Classify(err).Code)
	}
}

// Which classes figures separate, and which they do not: a 3090 passes for an L4, a 4090 for no H100.
func TestClassesThatPassForOthers(t *testing.T) {
	of := func(a, b string) bool { return passesFor(class.GPUs().Named(a), class.GPUs().Named(b)) }
	for _, c := range [][2]string{
		{"A100-PCIe-40GB", "A100-SXM4-40GB"}, {"A100-PCIe-80GB", "A100-SXM4-80GB"}, {"RTX-3090", "L4"}, {"RTX-3090", "A10"}, {"H100-NVL-94GB", "H100-SXM5-80GB"},
	} {
		require.True(t, of(c[0], c[1]), c)
	}
	for _, c := range [][2]string{
		{"A10", "RTX-3090"},
		{"L40S", "A100-PCIe-40GB"},
		{"H100-PCIe-80GB", "H100-SXM5-80GB"},
		{"RTX-4090", "H100-SXM5-80GB"},
		{"RTX-5090", "A100-PCIe-40GB"},
		{"H200-SXM5-141GB", "B200-SXM6-180GB"},
		{"H100-SXM5-80GB", "H200-SXM5-141GB"},
	} {
		require.False(t, of(c[0], c[1]), c)
	}
}
