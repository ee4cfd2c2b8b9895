package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/market"
)

func searchCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name: "search", Usage: "find nodes, the best first", ArgsUsage: "['gpu=H100 count>=8 region=us price<2.6 uptime>=99']",
		Description: "Terms: " + terms + "\nEvery term must hold. Without terms all nodes that take work are listed.",
		Action:      action(s, (*session).search),
	}
}

// nodeJSON is a node as printed.
type nodeJSON struct {
	Address    string `json:"address"`
	Provider   string `json:"provider"`
	NodeKey    string `json:"nodeKey"`
	Model      string `json:"model"`
	GPUs       uint8  `json:"gpus"`
	Free       uint8  `json:"freeGpus"`
	VRAMMiB    uint32 `json:"vramMib"`
	Link       string `json:"interconnect"`
	Region     string `json:"region"`
	Site       string `json:"site,omitempty"`
	Simulated  bool   `json:"simulated"`
	Isolation  string `json:"isolation"`
	Status     string `json:"status"`
	Tier       uint8  `json:"tier"`
	Uptime     string `json:"uptimePercent"`
	Reputation string `json:"reputationPercent"`
	Rating     string `json:"rating"`
	Price      string `json:"pricePerGpuHour"`
	Score      uint64 `json:"score"`
	Stake      string `json:"requiredStake"`
	Passed     uint64 `json:"checksPassed"`
	Checks     uint64 `json:"checksTotal"`
	Completed  uint32 `json:"jobsCompleted"`
	Failed     uint32 `json:"jobsFailed"`
	Measured   string `json:"measuredTflops"`
	CPUCores   uint32 `json:"cpuCores"`
	RAMMiB     uint32 `json:"ramMib"`
	DiskGiB    uint32 `json:"diskGib"`
	Faults     uint16 `json:"pendingFaults"`
	Registered int64  `json:"registeredAt"`
	Guarantee  string `json:"guaranteedUptimePercent,omitempty"`
	Until      int64  `json:"guaranteedUntil,omitempty"`
	Kept       string `json:"uptimeSinceGuaranteePercent,omitempty"`
	// Unhealthy is until when a report keeps new orders from the machine; 0 when it is well.
	Unhealthy int64 `json:"unhealthyUntil,omitempty"`
	// Verified is computed from the chain's state; Lacks says what a node without the mark lacks.
	Verified bool     `json:"verified"`
	Lacks    []string `json:"lacksForVerified,omitempty"`
	Fees     string   `json:"feesOfCompletedLeases"`
}

func describeNode(n *market.Node, m *market.Model, now int64) nodeJSON {
	score, err := n.Score(now)
	if err != nil {
		score = 0 // a price that large cannot be registered with a score; it is shown as it is
	}
	j := nodeJSON{
		Address: n.Address.String(), Provider: n.Provider.String(), NodeKey: n.NodeKey.String(), Model: m.ModelName(),
		GPUs: n.Spec.Gpus, Free: n.FreeGPUs(), VRAMMiB: n.Spec.VramMib, Link: market.Interconnect(n.Spec.Interconnect).String(),
		Region: n.Region(), Site: n.Site(), Simulated: n.Spec.Simulated == 1, Isolation: market.Isolation(n.Spec.Isolation).String(), Status: n.State().String(), Tier: n.TierAt(now),
		Uptime: percent(n.UptimeBps), Reputation: percent(n.Reputation(now)), Rating: rating(n), Price: n.Ask().String(), Score: score,
		Stake: market.GNT(n.RequiredStake).String(), Passed: n.ChecksPassed, Checks: n.ChecksTotal, Completed: n.JobsCompleted,
		Failed: n.JobsFailed, Measured: fmt.Sprintf("%d.%d", n.MeasuredTflopsX10/10, n.MeasuredTflopsX10%10),
		CPUCores: n.Spec.CpuCores, RAMMiB: n.Spec.RamMib, DiskGiB: n.Spec.DiskGib, Faults: n.PendingFaults, Registered: n.RegisteredAt,
		Lacks: n.Unverified(now), Fees: market.USDC(n.FeesCompleted).String(),
	}
	j.Verified = len(j.Lacks) == 0
	if n.GuaranteedUntil != 0 {
		j.Guarantee, j.Until = percent(n.GuaranteeBps), n.GuaranteedUntil
		if n.GuaranteeCountedSecs > 0 {
			j.Kept = percent(uint16(min(n.GuaranteeUpSecs, n.GuaranteeCountedSecs) * market.BPS / n.GuaranteeCountedSecs))
		}
	}
	if !n.HealthyFor(now, now) {
		j.Unhealthy = n.Unhealthy.Until
	}
	return j
}

func (s *session) search() error {
	q, err := parseSearch(strings.Join(s.cli.Args().Slice(), " "))
	if err != nil {
		return err
	}
	v, now, err := s.snapshotNow(only(market.KindNode, market.KindModel))
	if err != nil {
		return err
	}
	if q.GPU != "" {
		if _, err := model(v, q.GPU); err != nil && !strings.Contains(err.Error(), "not unique") {
			return err
		}
	}
	var fit []market.Candidate
	why := map[string]int{}
	for _, n := range v.Nodes() {
		m, ok := v.Model(n.Spec.Model)
		if !ok {
			continue
		}
		if reason := q.matches(&n, &m, now); reason != "" {
			why[reason]++
			continue
		}
		c, err := market.NewCandidate(solana.PublicKey{}, n, now)
		if err != nil {
			why["too dear"]++ // no score fits 64 bits
			continue
		}
		fit = append(fit, c)
	}
	slices.SortFunc(fit, market.Candidate.Compare)
	found := []nodeJSON{}
	for _, c := range fit {
		m, _ := v.Model(c.Node.Spec.Model)
		found = append(found, describeNode(&c.Node, &m, now))
	}
	return s.done(found, func(w io.Writer) {
		if len(found) == 0 {
			fmt.Fprintf(w, "no node fits%s\n", unfitReasons(why))
			return
		}
		nodeTable(w, found)
	})
}

func nodeTable(w io.Writer, nodes []nodeJSON) {
	rows := make([][]string, len(nodes))
	for i, n := range nodes {
		gpus := fmt.Sprintf("%d×%s", n.GPUs, n.Model)
		if n.Free != n.GPUs {
			gpus += fmt.Sprintf(" (%d free)", n.Free)
		}
		tier := fmt.Sprint(n.Tier)
		if n.Simulated {
			tier += " simulated"
		}
		rows[i] = []string{
			n.Address[:6] + "…", gpus, fmt.Sprintf("%d G", n.VRAMMiB/1024), n.Link, n.Region, tier, n.Uptime,
			n.Rating, n.Price, n.Stake, n.Reputation, mark(n.Verified), n.Status,
		}
	}
	table(w, "NODE|GPUS|VRAM|LINK|REGION|TIER|UPTIME|RATING|$/GPU-H|STAKE|REP|VERIFIED|STATUS", rows)
}

// mark shows a mark in a table.
func mark(has bool) string {
	if has {
		return "yes"
	}
	return "-"
}

// unfitReasons lists why nodes do not match: " (3 too dear, 1 hibernated)".
func unfitReasons(why map[string]int) string {
	if len(why) == 0 {
		return ": the market has none yet"
	}
	var parts []string
	for reason, n := range why {
		parts = append(parts, fmt.Sprintf("%d %s", n, reason))
	}
	slices.Sort(parts)
	return " (" + strings.Join(parts, ", ") + ")"
}
