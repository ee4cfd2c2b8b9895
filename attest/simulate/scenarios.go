package simulate

import (
	"fmt"
	"time"

	"github.com/gantry-market/gantry/attest"
)

// Scenarios makes the simulated hardware and returns everything that is played.
func Scenarios(at time.Time) ([]Scenario, error) {
	l, err := newLab(at)
	if err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	return append(append(timedScenarios(), wrongScenarios()...), l.scenarios()...), nil
}

func timedScenarios() []Scenario {
	h100, a100, l4, rtx := mustClass("H100-SXM5-80GB"), mustClass("A100-SXM4-80GB"), mustClass("L4-PCIe-24GB"), mustClass("RTX-4090-24GB")
	const timing, memory = "series of products, timed", "memory sweep"
	var out []Scenario
	for _, c := range []struct {
		name    string
		m       machine
		hurries bool
		honest  bool
		expect  string
	}{
		{"honest H100", machine{class: h100, speed: 1}, false, true, "0 %"},
		{"false class: L4 as H100, late", machine{class: l4, speed: 1}, false, false, "100 %"},
		{"false class: L4 as H100, makes up rounds", machine{class: l4, speed: 1}, true, false, ""},
		{"false class: A100 as H100", machine{class: a100, speed: 1}, true, false, ""},
		{"false class: RTX 4090 as H100", machine{class: rtx, speed: 1}, true, false, ""},
		{"slow GPU: H100 at 30 %, makes up rounds", machine{class: h100, speed: 0.3}, true, false, ""},
		{"slow GPU: H100 at 50 %, makes up rounds", machine{class: h100, speed: 0.5}, true, false, ""},
		{"slow GPU: H100 at 80 %", machine{class: h100, speed: 0.8}, true, false, ""},
		{"relayed work: no GPU, an H100 40 ms away", machine{class: h100, speed: 1, relay: 40 * time.Millisecond}, false, false, "0 %"},
		{"relayed work: no GPU, an L4 40 ms away as H100", machine{class: l4, speed: 1, relay: 40 * time.Millisecond}, false, false, "100 %"},
	} {
		expect := c.expect
		if expect == "" {
			expect = detectionChance(c.m, h100)
		}
		out = append(out, Scenario{Name: c.name, Against: timing, Honest: c.honest, Expect: expect, Play: timed(c.m, h100, c.hurries)})
	}
	const pcie4, ddr = 26e9, 400e9
	return append(
		out,
		Scenario{Name: "honest H100", Against: memory, Honest: true, Expect: "0 %", Play: swept(machine{class: h100}, h100, 1, 0, 0)},
		Scenario{Name: "false class: RTX 4090 as H100", Against: memory, Expect: sampled(0.7, smallBlocks, openedBlocks), Play: swept(machine{class: rtx}, h100, 0.3, 0, 0)},
		Scenario{Name: "10 % of the memory missing", Against: memory, Expect: sampled(5.0/64, smallBlocks, openedBlocks), Play: swept(machine{class: h100}, h100, 0.9, 0, 0)},
		Scenario{Name: "RTX 4090 as H100, the rest over PCI Express", Against: memory, Expect: "100 %", Play: swept(machine{class: rtx}, h100, 0.3, 0.7, pcie4)},
		Scenario{Name: "half of it in host memory read at 400 GB/s", Against: memory, Expect: "0–100 %", Play: swept(machine{class: h100}, h100, 0.5, 0.5, ddr)},
	)
}

func wrongScenarios() []Scenario {
	const chunks = productOrder * productOrder / 32
	return []Scenario{
		{Name: "honest product", Against: "whole product", Honest: true, Expect: "0 %", Play: wholeChecked(0)},
		{Name: "10 % wrong entries", Against: "whole product", Expect: "100 %", Play: wholeChecked(0.1)},
		{Name: "10 % wrong entries", Against: "16 opened chunks", Expect: sampled(0.1, chunks, 16), Play: chunksOpened(0.1, 16)},
		{Name: "10 % wrong entries", Against: "32 opened chunks", Expect: sampled(0.1, chunks, 32), Play: chunksOpened(0.1, 32)},
		{Name: "10 % wrong entries, in whole rows", Against: "16 opened rows", Expect: sampled(0.1, productOrder, 16), Play: rowsOpened(0.1, 16)},
	}
}

func (l *lab) scenarios() []Scenario {
	const one, three = "bundle, tier 1", "bundle, tier 3"
	return []Scenario{
		{Name: "honest node", Against: one, Honest: true, Expect: "0 %", Costly: true, Play: l.honest(nil, 1)},
		{Name: "honest node", Against: three, Honest: true, Expect: "0 %", Costly: true, Play: l.honest(l.own, 3)},
		{Name: "relayed work", Against: one, Expect: "0 %", Costly: true, Play: l.relayed(1)},
		{Name: "relayed work and a borrowed GPU report", Against: three, Expect: "100 %", Costly: true, Play: l.relayed(3)},
		{Name: "a victim's inventory after the guest has answered", Against: three, Expect: "100 %", Costly: true, Play: l.exchanged(attest.KindInventory)},
		{Name: "another genuine GPU report after the guest has answered", Against: three, Expect: "100 %", Costly: true, Play: l.exchanged(attest.KindNVGPU)},
		{Name: "another guest's key after the guest has answered", Against: three, Expect: "100 %", Costly: true, Play: l.exchanged(attest.KindGuest)},
		{Name: "swapped device, the inventory unchanged", Against: one, Expect: "0 %", Costly: true, Play: l.swapped(1)},
		{Name: "swapped device, the inventory unchanged", Against: three, Expect: "100 %", Costly: true, Play: l.swapped(3)},
		{Name: "replayed bundle", Against: three, Expect: "100 %", Costly: true, Play: l.replayed(0)},
		{Name: "replayed work in a new bundle", Against: three, Expect: "100 %", Costly: true, Play: l.replayed(attest.KindWork)},
		{Name: "replayed GPU report in a new bundle", Against: three, Expect: "100 %", Costly: true, Play: l.replayed(attest.KindNVGPU)},
		{Name: "replayed guest's key in a new bundle", Against: three, Expect: "100 %", Costly: true, Play: l.replayed(attest.KindGuest)},
		{Name: "replayed guest report in a new bundle", Against: three, Expect: "100 %", Costly: true, Play: l.replayed(attest.KindSNP)},
	}
}
