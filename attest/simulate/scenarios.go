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
	return append(wrongScenarios(), l.scenarios()...), nil
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
