package clock

import "time"

// near reports whether a time that the chain said is that of a clock, which was read up to late afterwards.
func near(said, clock time.Time, late time.Duration) bool {
	off := said.Sub(clock)
	return off >= -behind-late && off <= ahead
}

// several reports whether two endpoints at least say the median, within a few seconds.
func several(times []time.Time) bool {
	median, n := times[(len(times)-1)/2], 0
	for _, t := range times {
		if t.Sub(median).Abs() <= alike {
			n++
		}
	}
	return n > 1
}

// take takes a reading: what the endpoints say, earliest first, at a reading of the steady clock, after late. The
// caller holds mu.
func (c *Clock) take(times []time.Time, at, late time.Duration) {
	machine := moment{c.date(), at}
	c.many = several(times)
	said := moment{times[(len(times)-1)/2], at}
	if !c.many {
		said.at = c.pick(times, machine.at, late)
	}
	before, hadRead := c.last, c.known
	c.last, c.first = said, moment{times[0], at}
	runs := hadRead && said.at.Sub(before.at) >= (said.steady-before.steady)/2 && said.at.After(before.at)
	switch off := said.at.Sub(c.now(at)); {
	case near(said.at, machine.at, late) && (runs || !hadRead): // two witnesses
		c.set(machine)
		c.own, c.agree, c.sure = machine, true, true
	case !c.known, c.o.Local():
		c.set(said)
	case off >= -behind-late && off <= behind: // as the clock has it; what is read is never later than the chain's time
		c.doubt, c.sure = nil, c.sure || runs
		if off > 0 && c.within(said) {
			c.mark = said
		}
	case !runs: // it stands still, or it is the first reading that contradicts
		c.contradicted(said, before)
	case !c.sure:
		c.set(said)
	case c.repeated(said) && (c.many || c.within(said) || said.steady-c.doubt.steady >= Patience):
		c.set(said)
	default:
		c.contradicted(said, before)
	}
}

// pick is what is believed most of endpoints that contradict each other: what the machine's date or the clock says too,
// else the median, the earlier one of two.
func (c *Clock) pick(times []time.Time, machine time.Time, late time.Duration) time.Time {
	for _, t := range times {
		if near(t, machine, late) {
			return t
		}
	}
	if c.known {
		for _, t := range times {
			if t.Sub(c.now(c.o.Steady())).Abs() <= behind+late {
				return t
			}
		}
	}
	return times[(len(times)-1)/2]
}

// within reports whether a moment is within a step of the clock. Where the machine's date has agreed with the chain, that
// clock counts from there: else one endpoint could lead it anywhere, a step at a time.
func (c *Clock) within(m moment) bool {
	from := c.mark
	if c.agree {
		from = c.own
	}
	return m.at.Sub(from.on(m.steady)).Abs() <= step
}

// set has the clock count on from a moment.
func (c *Clock) set(m moment) { c.mark, c.known, c.doubt = m, true, nil }

// repeated reports whether a reading goes on from the first of those that contradict the clock, as a clock does.
func (c *Clock) repeated(said moment) bool {
	if c.doubt == nil {
		return false
	}
	past := said.steady - c.doubt.steady
	off := said.at.Sub(c.doubt.at)
	return past > 0 && off >= past/2 && off <= 2*past+alike
}

// contradicted notes a reading that is not believed.
func (c *Clock) contradicted(said, before moment) {
	if c.doubt != nil && c.repeated(said) {
		return
	}
	c.doubt = &said
}

// tell logs once that the machine's date is off, and that the endpoints are not believed. The caller holds mu.
func (c *Clock) tell(endpoints int) {
	off := c.ahead()
	wrong := off.Abs() > Tolerated
	switch {
	case wrong && !c.told:
		c.o.Log.Warn().Stringer("ahead", off.Round(time.Second)).Msg(c.says(off))
	case !wrong && c.told:
		c.o.Log.Info().Msg("this machine's clock agrees with the chain's again")
	}
	c.told = wrong
	doubted := c.doubt != nil && c.sure
	if doubted && !c.asked {
		c.o.Log.Error().Int("endpoints", endpoints).Time("said", c.last.at).Time("now", c.now(c.last.steady)).
			Msg("the RPC endpoints name a chain time that does not follow from what they said before, and nothing confirms it: it is not used; check them, or add another one with --url")
	}
	c.asked = doubted
}

// Wrong says for people that the machine's date is off, what that means and what to do; empty while it is not.
func (c *Clock) Wrong() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if off := c.ahead(); off.Abs() > Tolerated {
		return c.says(off)
	}
	return ""
}

func (c *Clock) says(ahead time.Duration) string {
	side := "ahead of"
	if ahead < 0 {
		side = "behind"
	}
	by := ahead.Abs().Round(time.Second)
	if by > time.Minute {
		by = by.Round(time.Minute)
	}
	do := "; set the clock: enable NTP"
	if ahead > 0 && !c.many { // an endpoint that is behind looks the same
		do += ". If the clock is right, the RPC endpoint is behind the cluster: add another one with --url"
	}
	return "this machine's clock is " + by.String() + " " + side + " the chain's, as the RPC endpoint shows it; " + c.o.Means + do
}
