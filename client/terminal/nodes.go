package terminal

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-market/gantry/client/service"
)

// nodeHeads are the columns of nodes.
const nodeHeads = "@NODE|GPUS|+VRAM~11|CORES/RAM/DISK~12|+CUDA~13|+LINK~10|REGION|TIER~15|TOPS (SHEET)|+GB/S (SHEET)~2|+DOWN/UP MBIT/S (CLAIMED)~3|UPTIME~4|+RATING~5|" +
	">$/GPU-H|+>$/TOPS-H~6|+>$/GB/S-H~7|+STAKE~14|+REP~9|+VERIFIED~16|STATUS~8"

// WriteNodes writes nodes with what they offer. With figures, the columns of what was measured are among those that show.
func WriteNodes(p *Page, nodes []service.Offer, figures bool) {
	heads := strings.Split(nodeHeads, "|")
	rows := make([][]string, len(nodes))
	for i := range nodes {
		rows[i] = nodeCells(&nodes[i])
	}
	for _, asked := range []struct {
		head string
		cell func(*service.Offer) string
		has  func(service.Offer) bool
	}{
		{"LATENCY", func(n *service.Offer) string { return n.Latency.String() }, func(n service.Offer) bool { return n.Latency != nil }},
		{"IMAGE", func(n *service.Offer) string { return n.Image.String() }, func(n service.Offer) bool { return n.Image != nil }},
	} {
		if !slices.ContainsFunc(nodes, asked.has) {
			continue
		}
		heads = append(heads, asked.head)
		for i := range nodes {
			rows[i] = append(rows[i], asked.cell(&nodes[i]))
		}
	}
	text := strings.Join(heads, "|")
	if figures {
		text = strings.ReplaceAll(text, "+", "")
	}
	p.Table(text, rows)
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
		n.Address, gpus, fmt.Sprintf("%d G", n.VRAMMiB/1024), fmt.Sprintf("%d/%d/%d G", n.CPUCores, n.RAMMiB/1024, n.DiskGiB), cmp.Or(n.CUDA, "-"), n.Link, n.Region, tier,
		withSheet(m.TOPS, n.Claimed.TOPS), withSheet(m.Bandwidth, n.Claimed.Bandwidth), n.Line(), n.Uptime, n.Rating, n.Price,
		m.PricePerTOPS, m.PricePerGBs, n.Stake, n.Reputation, mark(n.Verified), n.Status,
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
