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
	return l.scenarios(), nil
}

func (l *lab) scenarios() []Scenario {
	const one, three = "bundle, tier 1", "bundle, tier 3"
	return []Scenario{
		{Name: "honest node", Against: one, Honest: true, Expect: "0 %", Play: l.honest(nil, 1)},
		{Name: "honest node", Against: three, Honest: true, Expect: "0 %", Play: l.honest(l.own, 3)},
		{Name: "no GPU, an invented inventory", Against: one, Expect: "0 %", Play: l.invented},
		{Name: "a borrowed GPU report", Against: three, Expect: "100 %", Play: l.borrowed},
		{Name: "the bundle of another account of the same key", Against: three, Expect: "100 %", Play: l.otherAccount},
		{Name: "a victim's inventory after the guest has answered", Against: three, Expect: "100 %", Play: l.exchanged(attest.KindInventory)},
		{Name: "another genuine GPU report after the guest has answered", Against: three, Expect: "100 %", Play: l.exchanged(attest.KindNVGPU)},
		{Name: "another guest's key after the guest has answered", Against: three, Expect: "100 %", Play: l.exchanged(attest.KindGuest)},
		{Name: "swapped device, the inventory unchanged", Against: one, Expect: "0 %", Play: l.swapped(1)},
		{Name: "swapped device, the inventory unchanged", Against: three, Expect: "100 %", Play: l.swapped(3)},
		{Name: "replayed bundle", Against: three, Expect: "100 %", Play: l.replayed(0)},
		{Name: "replayed GPU report in a new bundle", Against: three, Expect: "100 %", Play: l.replayed(attest.KindNVGPU)},
		{Name: "replayed guest's key in a new bundle", Against: three, Expect: "100 %", Play: l.replayed(attest.KindGuest)},
		{Name: "replayed guest report in a new bundle", Against: three, Expect: "100 %", Play: l.replayed(attest.KindSNP)},
	}
}
