package service

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gantry-market/gantry/attest/measure/class"

	"github.com/gantry-market/gantry/sdk/market"
)

// Offer is a node: what it offers, what it asks, and what is measured of it.
type Offer struct {
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
	Price      string `json:"pricePerGpuHour" doc:"In a search for spot: the spot price"`
	Spot       string `json:"spotPricePerGpuHour,omitempty" doc:"Of interruptible work; absent where the machine takes none"`
	Score      uint64 `json:"score"`
	Stake      string `json:"requiredStake"`
	Passed     uint64 `json:"checksPassed"`
	Checks     uint64 `json:"checksTotal"`
	Completed  uint32 `json:"jobsCompleted"`
	Failed     uint32 `json:"jobsFailed"`
	// Measured is what keepers have measured of it, Claimed what its provider says of its network; nil before the first time.
	Measured   *Measured `json:"measured,omitempty"`
	Claimed    Claimed   `json:"claimed"`
	Typical    *Typical  `json:"typical,omitempty" doc:"What a machine of this model reaches as a rule; absent where too few were measured"`
	CPUCores   uint32    `json:"cpuCores"`
	RAMMiB     uint32    `json:"ramMib"`
	DiskGiB    uint32    `json:"diskGib"`
	CUDA       string    `json:"cuda,omitempty" doc:"The newest CUDA of its driver"`
	Faults     uint16    `json:"pendingFaults"`
	Registered int64     `json:"registeredAt"`
	Guarantee  string    `json:"guaranteedUptimePercent,omitempty"`
	Until      int64     `json:"guaranteedUntil,omitempty"`
	Kept       string    `json:"uptimeSinceGuaranteePercent,omitempty"`
	// Unhealthy is until when a report keeps new orders from the machine; 0 when it is well.
	Unhealthy int64 `json:"unhealthyUntil,omitempty"`
	// Verified is computed from the chain's state; Lacks says what a node without the mark lacks.
	Verified bool     `json:"verified"`
	Lacks    []string `json:"lacksForVerified,omitempty"`
	Fees     string   `json:"feesOfCompletedLeases"`
	// Latency is measured by this program, where a search asks for it.
	Latency *Latency `json:"latency,omitempty"`
	// Image says how an image has started on it, where a search names one.
	Image *ImageStarts `json:"image,omitempty"`
	// ModelID is the model's number on chain.
	ModelID uint16 `json:"-"`
}

// Claimed is what a node claims to have, where keepers measure the like.
type Claimed struct {
	// TFLOPS are those of its model's data sheet, dense FP16.
	TFLOPS string `json:"tflops"`
	// TOPS and Bandwidth are those of its class's data sheet, dense int8 and 10⁹ bytes a second of memory: what the
	// figures that were measured can be held against. They are missing for a model that the table of classes does not
	// have.
	TOPS      string `json:"tops,omitempty"`
	Bandwidth string `json:"gigabytesPerSecond,omitempty"`
	DownMbps  uint32 `json:"downMbps"`
	UpMbps    uint32 `json:"upMbps"`
}

// Typical is what machines of a model reach as a rule.
type Typical struct {
	TOPS string `json:"tops" doc:"10¹² int8 operations a second of the weakest GPU"`
	Of   string `json:"of" enum:"class,market" doc:"class: the median on which the class was calibrated; market: the median of the machines that were measured"`
}

// typicalOf is what the class of a node was calibrated on; nil where it is not.
func typicalOf(n *market.Node, m *market.Model) *Typical {
	median, ok := class.GPUs().Typical(m.ModelName(), n.MinOperations)
	if !ok {
		return nil
	}
	return &Typical{TOPS: market.TOPS(median), Of: "class"}
}

// Measured is what keepers have measured of a node, last and by its class.
type Measured struct {
	// TOPS is 10¹² int8 operations a second of the weakest GPU, Bandwidth 10⁹ bytes of its memory.
	TOPS      string `json:"tops,omitempty"`
	Bandwidth string `json:"gigabytesPerSecond,omitempty"`
	DownMbps  uint32 `json:"downMbps,omitempty"`
	UpMbps    uint32 `json:"upMbps,omitempty"`
	// Period is the last one in which its GPUs were measured.
	Period uint64 `json:"period,omitempty"`
	// Share is the mean of what it reached of its class in the last measured periods, Shares each of them, the newest first;
	// they are missing where the class is not calibrated.
	Share  string   `json:"sharePercent,omitempty"`
	Shares []string `json:"sharesPercent,omitempty"`
	// PricePerTOPS is its ask for an hour of one TOPS that was measured.
	PricePerTOPS string `json:"pricePerTopsHour,omitempty"`
	// PricePerGBs is its ask for an hour of one GB/s of memory that was measured.
	PricePerGBs string `json:"pricePerGigabytePerSecondHour,omitempty"`
	// InClass: orders may go to it, by its figures.
	InClass bool `json:"inClass"`
}

func claimedOf(n *market.Node, m *market.Model) Claimed {
	out := Claimed{TFLOPS: fmt.Sprintf("%d.%d", m.TflopsX10/10, m.TflopsX10%10), DownMbps: n.Spec.DownMbps, UpMbps: n.Spec.UpMbps}
	if g := class.GPUs().Named(m.ModelName()); g != nil {
		out.TOPS, out.Bandwidth = fmt.Sprint(g.Sheet.Int8TOPS), fmt.Sprint(g.Sheet.GigabytesPerSecond)
	}
	return out
}

func measuredOf(n *market.Node) *Measured {
	if n.Operations == 0 && n.DownMbps == 0 && n.UpMbps == 0 {
		return nil
	}
	out := &Measured{DownMbps: n.DownMbps, UpMbps: n.UpMbps, Period: n.MeasuredPeriod, InClass: n.ClassSince != 0 || !n.Calibrated()}
	if n.Operations > 0 {
		out.TOPS, out.Bandwidth = market.TOPS(n.Operations), market.GBs(n.Bandwidth)
		out.PricePerTOPS, out.PricePerGBs = pricePer(n, n.Operations), pricePer(n, n.Bandwidth)
	}
	if shares := n.ClassShares(); len(shares) > 0 {
		out.Share = market.Percent(n.MeanShare())
		for _, s := range shares {
			out.Shares = append(out.Shares, market.Percent(s))
		}
	}
	return out
}

// pricePer is a node's ask, USDC for an hour of one of what was measured, of which the figure is in thousandths; empty
// of nothing.
func pricePer(n *market.Node, figure uint32) string {
	if figure == 0 {
		return ""
	}
	return fmt.Sprintf("%.6f", float64(n.Ask())/1e6/(float64(figure)/1_000))
}

// DescribeNode describes a node at an instant, unix seconds.
func DescribeNode(n *market.Node, m *market.Model, now int64) Offer {
	score, err := n.Score(now, now)
	if err != nil {
		score = 0 // a price that large cannot be registered with a score; it is shown as it is
	}
	j := Offer{
		Address: n.Address.String(), Provider: n.Provider.String(), NodeKey: n.NodeKey.String(), Model: m.ModelName(), ModelID: n.Spec.Model,
		GPUs: n.Spec.Gpus, Free: n.FreeGPUs(), VRAMMiB: n.Spec.VramMib, Link: market.Interconnect(n.Spec.Interconnect).String(),
		Region: n.Region(), Site: n.Site(), Simulated: n.Spec.Simulated == 1, Isolation: market.Isolation(n.Spec.Isolation).String(), Status: n.State().String(), Tier: n.TierAt(now),
		Uptime: market.Percent(n.ShownUptime()), Reputation: market.Percent(n.Reputation(now)), Rating: Rating(n), Price: n.Ask().String(), Score: score,
		Stake: market.GNT(n.RequiredStake).String(), Passed: n.ChecksPassed, Checks: n.ChecksTotal, Completed: n.JobsCompleted,
		Failed: n.JobsFailed, Measured: measuredOf(n), Claimed: claimedOf(n, m), Typical: typicalOf(n, m),
		CPUCores: n.Spec.CpuCores, RAMMiB: n.Spec.RamMib, DiskGiB: n.Spec.DiskGib, CUDA: market.CUDA(n.Spec.Cuda).String(), Faults: n.PendingFaults, Registered: n.RegisteredAt,
		Lacks: n.Unverified(now), Fees: market.USDC(n.FeesCompleted).String(),
	}
	j.Verified = len(j.Lacks) == 0
	if spot := n.SpotAsk(); spot > 0 {
		j.Spot = spot.String()
	}
	if n.GuaranteedUntil != 0 {
		j.Guarantee, j.Until = market.Percent(n.GuaranteeBps), n.GuaranteedUntil
		if n.GuaranteeCountedSecs > 0 {
			j.Kept = market.Percent(uint16(min(n.GuaranteeUpSecs, n.GuaranteeCountedSecs) * market.BPS / n.GuaranteeCountedSecs))
		}
	}
	if !n.HealthyFor(now, now) {
		j.Unhealthy = n.Unhealthy.Until
	}
	return j
}

// Found are the nodes that a search has found, the best first, and why the others do not fit.
type Found struct {
	Offers []Offer
	// Fit counts the nodes that fit, also those that are not among the offers.
	Fit int
	// Unfit counts the nodes that do not fit, by the reason.
	Unfit map[string]int
	// At is the cluster's time at which the nodes were read, unix seconds.
	At int64
}

// Offers searches nodes; terms are those of TermList. Errors: Failure, for terms that are not known or a cluster that does
// not answer.
func (s *Service) Offers(ctx context.Context, terms string, by SortBy) (Found, error) {
	return s.BestOffers(ctx, terms, by, math.MaxInt)
}

// BestOffers is Offers with so many at most.
func (s *Service) BestOffers(ctx context.Context, terms string, by SortBy, most int) (Found, error) {
	q, err := ParseTerms(terms)
	if err != nil {
		return Found{}, err
	}
	r, err := s.ranked(ctx)
	if err != nil {
		return Found{}, err
	}
	if q.GPU != "" {
		if _, err := ModelsNamed(r.view, q.GPU); err != nil {
			return Found{}, err
		}
	}
	return r.answer(terms, &q, by, most), nil
}

// Unfit lists why nodes do not match: " (3 too dear, 1 hibernated)".
func Unfit(why map[string]int) string {
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

// Line is what keepers have measured of a machine's line and, in brackets, what it claims: down and up, Mbit/s.
func (o *Offer) Line() string {
	measured := "-"
	if m := o.Measured; m != nil && m.DownMbps > 0 {
		measured = fmt.Sprintf("%d/%d", m.DownMbps, m.UpMbps)
	}
	return fmt.Sprintf("%s (%d/%d)", measured, o.Claimed.DownMbps, o.Claimed.UpMbps)
}
