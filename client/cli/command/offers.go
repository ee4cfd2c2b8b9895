package command

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gantry-market/gantry/client/service"
)

// nodeHeads are the columns of nodes. The wide table has them all, the other one those that are marked.
var nodeHeads = []struct {
	head   string
	narrow bool
}{
	{"NODE", true}, {"GPUS", true}, {"VRAM", true}, {"CORES/RAM/DISK", true}, {"CUDA", true}, {"LINK", false}, {"REGION", true}, {"TIER", true},
	{"TOPS (SHEET)", true}, {"GB/S (SHEET)", false}, {"DOWN/UP MBIT/S (CLAIMED)", false}, {"UPTIME", true}, {"RATING", false}, {"$/GPU-H", true},
	{"$/TOPS-H", false}, {"$/GB/S-H", false}, {"STAKE", false}, {"REP", false}, {"VERIFIED", false}, {"STATUS", true}, {"LATENCY", true},
}

// NodeTable writes nodes with what they offer; wide with all columns.
func NodeTable(w io.Writer, nodes []service.Offer, wide bool) {
	latency := slices.ContainsFunc(nodes, func(n service.Offer) bool { return n.Latency != nil })
	var heads []string
	rows := make([][]string, len(nodes))
	for c, h := range nodeHeads {
		if !wide && !h.narrow || h.head == "LATENCY" && !latency {
			continue
		}
		heads = append(heads, h.head)
		for i := range nodes {
			rows[i] = append(rows[i], nodeCells(&nodes[i])[c])
		}
	}
	Table(w, strings.Join(heads, "|"), rows)
}

// nodeCells are the cells of a node, in the order of nodeHeads.
func nodeCells(n *service.Offer) []string {
	gpus := fmt.Sprintf("%d×%s", n.GPUs, n.Model)
	if n.Free != n.GPUs {
		gpus += fmt.Sprintf(" (%d free)", n.Free)
	}
	tier := fmt.Sprint(n.Tier)
	if n.Simulated {
		tier += " simulated"
	}
	m := service.Measured{TOPS: "-", Bandwidth: "-", PricePerTOPS: "-", PricePerGBs: "-"}
	if n.Measured != nil && n.Measured.TOPS != "" {
		m = *n.Measured
	}
	return []string{
		n.Address[:6] + "…", gpus, fmt.Sprintf("%d G", n.VRAMMiB/1024), fmt.Sprintf("%d/%d/%d G", n.CPUCores, n.RAMMiB/1024, n.DiskGiB), cmp.Or(n.CUDA, "-"), n.Link, n.Region, tier,
		withSheet(m.TOPS, n.Claimed.TOPS), withSheet(m.Bandwidth, n.Claimed.Bandwidth), line(n), n.Uptime, n.Rating, n.Price,
		m.PricePerTOPS, m.PricePerGBs, n.Stake, n.Reputation, mark(n.Verified), n.Status, roundTrip(n.Latency),
	}
}

// withSheet is a figure that keepers have measured and, in brackets, that of the data sheet.
func withSheet(measured, sheet string) string {
	if sheet == "" {
		return measured
	}
	return measured + " (" + sheet + ")"
}

// line is what keepers have measured of a machine's line and, in brackets, what it claims.
func line(n *service.Offer) string {
	measured := "-"
	if m := n.Measured; m != nil && m.DownMbps > 0 {
		measured = fmt.Sprintf("%d/%d", m.DownMbps, m.UpMbps)
	}
	return fmt.Sprintf("%s (%d/%d)", measured, n.Claimed.DownMbps, n.Claimed.UpMbps)
}

// roundTrip is a latency in a table.
func roundTrip(l *service.Latency) string {
	switch {
	case l == nil:
		return "-"
	case !l.Reached:
		return "no answer"
	case l.Relayed:
		return fmt.Sprintf("%.1f ms relayed", l.Millis)
	}
	return fmt.Sprintf("%.1f ms", l.Millis)
}

// mark shows a mark in a table.
func mark(has bool) string {
	if has {
		return "yes"
	}
	return "-"
}
