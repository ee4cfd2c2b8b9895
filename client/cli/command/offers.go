package command

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gantry-market/gantry/client/service"
)

// nodeHeads are the columns of nodes, and wideHeads those of them that only the wide table has.
const (
	nodeHeads = "NODE|GPUS|VRAM|CORES/RAM/DISK|CUDA|LINK|REGION|TIER|TOPS (SHEET)|GB/S (SHEET)|DOWN/UP MBIT/S (CLAIMED)|UPTIME|RATING|$/GPU-H|$/TOPS-H|$/GB/S-H|STAKE|REP|VERIFIED|STATUS|LATENCY"
	wideHeads = "VRAM|CUDA|LINK|GB/S (SHEET)|DOWN/UP MBIT/S (CLAIMED)|RATING|$/TOPS-H|$/GB/S-H|STAKE|REP|VERIFIED"
)

// NodeTable writes nodes with what they offer; wide with all columns.
func NodeTable(w io.Writer, nodes []service.Offer, wide bool) {
	latency := slices.ContainsFunc(nodes, func(n service.Offer) bool { return n.Latency != nil })
	all, hidden := strings.Split(nodeHeads, "|"), strings.Split(wideHeads, "|")
	shown := func(head string) bool {
		return (wide || !slices.Contains(hidden, head)) && (latency || head != "LATENCY")
	}
	rows := make([][]string, len(nodes))
	for i := range nodes {
		for c, cell := range nodeCells(&nodes[i]) {
			if shown(all[c]) {
				rows[i] = append(rows[i], cell)
			}
		}
	}
	heads := slices.DeleteFunc(slices.Clone(all), func(head string) bool { return !shown(head) })
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
		withSheet(m.TOPS, n.Claimed.TOPS), withSheet(m.Bandwidth, n.Claimed.Bandwidth), n.Line(), n.Uptime, n.Rating, n.Price,
		m.PricePerTOPS, m.PricePerGBs, n.Stake, n.Reputation, mark(n.Verified), n.Status, n.Latency.String(),
	}
}

// withSheet is a figure that keepers have measured and, in brackets, that of the data sheet.
func withSheet(measured, sheet string) string {
	if sheet == "" {
		return measured
	}
	return measured + " (" + sheet + ")"
}

// mark shows a mark in a table.
func mark(has bool) string {
	if has {
		return "yes"
	}
	return "-"
}
