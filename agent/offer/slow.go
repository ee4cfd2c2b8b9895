package offer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/gantry-market/gantry/internal/atomicfile"
	"github.com/gantry-market/gantry/sdk/market"
)

// SlowFile is the path of a file that remembers that the agent took the node out because it is measured below its class. It is
// there until the node reaches it again.
type SlowFile string

// slow is what the file holds.
type slow struct {
	// Periods is the row of slow periods at which the node was taken out, or at which its owner set it active again.
	Periods uint8 `json:"periods"`
	// Over: the owner has set the status since. The node stays until its row has grown.
	Over bool `json:"over"`
}

// read returns nothing for a file that is not there. Error: one that cannot be read; it counts as nothing.
func (f SlowFile) read() (s slow, err error) {
	raw, err := os.ReadFile(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return slow{}, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	if err != nil {
		return slow{}, fmt.Errorf("note: %w", err)
	}
	return s, nil
}

// write keeps s, and removes the file for nothing.
func (f SlowFile) write(s slow) error {
	if s == (slow{}) {
		return Mark(f).Clear()
	}
	raw, err := json.Marshal(s)
	if err == nil {
		err = atomicfile.Write(string(f), append(raw, '\n'))
	}
	if err != nil {
		return fmt.Errorf("note: %w", err)
	}
	return nil
}

// leavesAt is the row of slow periods at which a node leaves: half of what costs stake, then half of what is left each time that
// its owner has set it active again. Past the last it stays.
func leavesAt(s slow, limit uint8) uint8 {
	at := (limit + 1) / 2
	if s.Over && s.Periods >= at {
		at = s.Periods + (limit-min(s.Periods, limit)+1)/2
	}
	return at
}

// slowness is what a node's record says of its figures.
type slowness struct {
	// why it has to leave, in words; empty as long as it need not.
	why string
	// note is what the file has to hold.
	note slow
}

// judgeSlow decides whether a node whose row of slow periods costs stake at limit has to leave. marked: it is out of the market because
// the agent took it out, and its owner has not set the status since. It is pure.
func judgeSlow(n market.Node, limit uint8, note slow, marked bool) slowness {
	if !n.Calibrated() || n.SlowPeriods == 0 {
		return slowness{}
	}
	if note.Periods > 0 && !note.Over && !marked {
		note = slow{Periods: n.SlowPeriods, Over: true}
	}
	out := note.Periods > 0 && !note.Over || n.SlowPeriods >= leavesAt(note, limit)
	if !out {
		return slowness{note: note}
	}
	if marked && (note.Over || note.Periods == 0) { // the note is written once the node is marked as taken out: a crash between loses nothing
		note = slow{Periods: n.SlowPeriods}
	}
	return slowness{note: note, why: fmt.Sprintf(
		"%d measured periods in a row were below %d %% of its class, the last at %.1f %%; at %d it costs stake. Look for heat, the power limit and other programs on the GPUs, "+
			"measure them with: gantry-agent init; then continue with: gantry-agent update --status active",
		n.SlowPeriods, market.FiguresBPS/100, float64(lastShare(n))/100, limit)}
}

// lastShare is what the node reached of its class when it was measured last, in basis points; 0 where that is not known.
func lastShare(n market.Node) uint16 {
	if shares := n.ClassShares(); len(shares) > 0 {
		return shares[0]
	}
	return 0
}

// notice judges the node's figures, keeps the note, and says each measurement below the class once. It is false when nothing can
// be said yet. The caller holds mu.
func (f *Offer) notice(node market.Node) bool {
	if f.o.SlowLimit == nil {
		return true
	}
	limit := f.o.SlowLimit()
	if limit == 0 {
		return false
	}
	note, err := f.o.Slow.read()
	f.warn(err, "the note that the node was slow cannot be read")
	s := judgeSlow(node, limit, note, f.o.Mark.Set())
	f.slow = s.why
	if s.note != note {
		f.warn(f.o.Slow.write(s.note), "the note that the node was slow cannot be kept")
	}
	if node.SlowPeriods > 0 && node.MeasuredPeriod > f.warned && node.Calibrated() {
		f.warned = node.MeasuredPeriod
		f.o.Log.Warn().Uint64("period", node.MeasuredPeriod).Uint16("share_bps", lastShare(node)).Uint8("slow_periods", node.SlowPeriods).Uint8("costs_stake_at", limit).
			Msg("keepers measured the node below its class")
	}
	return true
}
