package market

import (
	"fmt"
	"math"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/records"
)

// FiguresBPS is what a machine must reach of its class, in basis points: in the mean of its last measured periods to be
// awarded, and now and then not to be slashed.
const FiguresBPS = 7_000

// FigurePeriods is how many measured periods the mean is of.
const FigurePeriods = len(bindings.Node{}.Shares)

// SlowPeriods is in how many measured periods in a row a slow machine reaches too little. It is the twin of
// Params::slow_periods.
func SlowPeriods(p *Params) uint8 {
	if p.AllowSimulated == 0 {
		return 16
	}
	return 6
}

// ShareBPS is the share of its class that a machine reaches, in basis points, rounded down: the lesser one of its two figures,
// each at most the whole, and the whole where the class asks for nothing. It is the twin of share_bps.
func ShareBPS(operations, bandwidth, minOperations, minBandwidth uint32) uint16 {
	share := func(figure, asked uint32) uint64 {
		if asked == 0 {
			return BPS
		}
		return min(uint64(figure)*BPS/uint64(asked), BPS)
	}
	return uint16(min(share(operations, minOperations), share(bandwidth, minBandwidth)))
}

// InClass reports whether a machine with these shares is of its class; one that was never measured is not. It is the twin
// of in_class.
func InClass(shares []uint16) bool {
	sum := 0
	for _, s := range shares {
		sum += int(s)
	}
	return len(shares) > 0 && sum >= FiguresBPS*len(shares)
}

// Calibrated reports whether the model's machines are held to figures.
func (m *Model) Calibrated() bool { return m.MinOperations > 0 || m.MinBandwidth > 0 }

// Calibrated reports whether the node is held to figures, by the terms that it knows.
func (n *Node) Calibrated() bool { return n.MinOperations > 0 || n.MinBandwidth > 0 }

// ClassShares are the shares of its class that the node reached in the last measured periods, the newest first.
func (n *Node) ClassShares() []uint16 { return n.Shares[:min(int(n.SharesLen), FigurePeriods)] }

// MeanShare is the mean of them in basis points, rounded down; 0 without any.
func (n *Node) MeanShare() uint16 {
	shares := n.ClassShares()
	if len(shares) == 0 {
		return 0
	}
	sum := 0
	for _, s := range shares {
		sum += int(s)
	}
	return uint16(sum / len(shares))
}

// ForgetShares lets what was measured before not count any more.
func (n *Node) ForgetShares() {
	n.Shares, n.SharesLen, n.SlowPeriods, n.ClassSince = [FigurePeriods]uint16{}, 0, 0, 0
}

// NoteFigures takes over what a leaf has measured, after its period was marked as applied. It says whether the leaf does not
// show that the machine is less than its class, and whether it makes the machine slow. It is the twin of
// Node::note_figures.
func (n *Node) NoteFigures(leaf *records.Leaf, p *Params, now int64) (reached, slow bool) {
	periodSecs := p.PeriodSecs
	newest := uint64(leaf.Period) == n.LastReportPeriod
	if newest {
		n.takeFigures(leaf, now)
	}
	start := int64(uint64(leaf.Period) * uint64(periodSecs))
	end := start + int64(periodSecs)
	if !n.Calibrated() || start < max(n.TermsAt, n.MendedAt) {
		return true, false
	}
	if leaf.Operations == 0 {
		if free, ok := n.FreeThroughout(start, end); newest && ok && free == n.Spec.Gpus {
			n.ClassSince = 0
		}
		return true, false
	}
	share := ShareBPS(leaf.Operations, leaf.Bandwidth, n.MinOperations, n.MinBandwidth)
	copy(n.Shares[1:], n.Shares[:FigurePeriods-1])
	n.Shares[0], n.SharesLen = share, min(n.SharesLen+1, uint8(FigurePeriods))
	reached = share >= FiguresBPS
	if n.SlowPeriods++; reached {
		n.SlowPeriods = 0
	}
	if n.SlowPeriods >= SlowPeriods(p) {
		n.ForgetShares()
		return reached, true
	}
	if !InClass(n.ClassShares()) {
		n.ClassSince = 0
	} else if newest && n.ClassSince == 0 {
		awake := n.State() == NodeActive || n.State() == NodeDraining
		if awake && uint64(leaf.Period) >= uint64(n.AvailableSince)/uint64(periodSecs) {
			n.ClassSince = now
		}
	}
	return reached, false
}

func (n *Node) takeFigures(leaf *records.Leaf, now int64) {
	if leaf.Operations != 0 {
		n.Operations, n.Bandwidth, n.MeasuredPeriod, n.FiguresAt = leaf.Operations, leaf.Bandwidth, uint64(leaf.Period), now
	}
	if leaf.DownMbps != 0 || leaf.UpMbps != 0 {
		n.DownMbps, n.UpMbps, n.FiguresAt = leaf.DownMbps, leaf.UpMbps, now
	}
}

// makesSlow reports whether a leaf that is new for the node makes it slow.
func (n Node) makesSlow(leaf *records.Leaf, p *Params) bool {
	_, slow := n.NoteFigures(leaf, p, math.MaxInt64)
	return slow
}

// FiguresSuit reports whether what keepers have measured of a node suits a requirement: it is of its class where that is
// calibrated, and has what is asked for. It is a part of the twin of Requirement::suited_by.
func FiguresSuit(r *Requirement, n *Node, calibrated bool) bool {
	return (n.ClassSince != 0 || !calibrated) && n.Operations >= r.MinOperations && n.Bandwidth >= r.MinBandwidth &&
		n.DownMbps >= r.MinDownMbps && n.UpMbps >= r.MinUpMbps
}

// asksForFigures reports whether an order asks for what keepers have measured.
func asksForFigures(r *Requirement) bool {
	return r.MinOperations|r.MinBandwidth|r.MinDownMbps|r.MinUpMbps != 0
}

// figuresBefore reports whether the node was of its class before a unix second and has been ever since, and with asked has had
// the figures so long. It is the twin of Node::figures_before.
func (n *Node) figuresBefore(since int64, asked bool) bool {
	return (n.ClassSince < since || !n.Calibrated()) && (!asked || n.FiguresAt < since)
}

// TOPS is a figure of int8 operations, in 10⁹ a second, as 10¹² a second.
func TOPS(operations uint32) string { return thousands(operations) }

// GBs is a figure of memory bandwidth, in 10⁶ bytes a second, as 10⁹ bytes a second.
func GBs(bandwidth uint32) string { return thousands(bandwidth) }

// thousands is a figure in thousands, with more decimals where it is small: those of processors are.
func thousands(n uint32) string {
	if n < 10_000 {
		return fmt.Sprintf("%.3f", float64(n)/1_000)
	}
	return fmt.Sprintf("%.1f", float64(n)/1_000)
}

// FiguresText is what keepers have measured of the node's weakest GPU, in words.
func (n *Node) FiguresText() string {
	if n.Operations == 0 {
		return "not yet"
	}
	s := fmt.Sprintf("%s TOPS int8, %s GB/s of memory, by the weakest GPU in period %d", TOPS(n.Operations), GBs(n.Bandwidth), n.MeasuredPeriod)
	if n.Calibrated() {
		s += fmt.Sprintf("; %.1f %% of its class in the mean of %d", float64(n.MeanShare())/100, len(n.ClassShares()))
		if n.ClassSince == 0 {
			s += ", not enough for orders"
		}
	}
	return s
}

// ClassText is what a GPU of the model is to reach, in words.
func (m *Model) ClassText() string {
	if !m.Calibrated() {
		return "nothing: the class is not calibrated on hardware"
	}
	return TOPS(m.MinOperations) + " TOPS int8 and " + GBs(m.MinBandwidth) + " GB/s of memory"
}
