package command

import (
	"cmp"
	"fmt"
	"io"

	"github.com/gantry-market/gantry/client/service"
)

// NodeTable writes nodes with what they offer.
func NodeTable(w io.Writer, nodes []service.Offer) {
	rows, latency := make([][]string, len(nodes)), false
	for i, n := range nodes {
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
		rows[i] = []string{
			n.Address[:6] + "…", gpus, fmt.Sprintf("%d G", n.VRAMMiB/1024), fmt.Sprintf("%d/%d/%d G", n.CPUCores, n.RAMMiB/1024, n.DiskGiB), cmp.Or(n.CUDA, "-"), n.Link, n.Region, tier, withSheet(m.TOPS, n.Claimed.TOPS), withSheet(m.Bandwidth, n.Claimed.Bandwidth), line(n), n.Uptime,
			n.Rating, n.Price, m.PricePerTOPS, m.PricePerGBs, n.Stake, n.Reputation, mark(n.Verified), n.Status,
		}
		if n.Latency != nil {
			latency = true
		}
	}
	heads := "NODE|GPUS|VRAM|CORES/RAM/DISK|CUDA|LINK|REGION|TIER|TOPS (SHEET)|GB/S (SHEET)|DOWN/UP MBIT/S (CLAIMED)|UPTIME|RATING|$/GPU-H|$/TOPS-H|$/GB/S-H|STAKE|REP|VERIFIED|STATUS"
	if latency {
		heads += "|LATENCY"
		for i, n := range nodes {
			rows[i] = append(rows[i], roundTrip(n.Latency))
		}
	}
	Table(w, heads, rows)
}

// withSheet is a figure that keepers have measured and, in brackets, that of the data sheet.
func withSheet(measured, sheet string) string {
	if sheet == "" {
		return measured
	}
	return measured + " (" + sheet + ")"
}

// line is what keepers have measured of a machine's line and, in brackets, what it claims.
func line(n service.Offer) string {
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
