package service

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gantry-market/gantry/attest/measure/class"
	"github.com/gantry-market/gantry/sdk/market"
)

// Terms are what `gantry search` and the requirement of `gantry deploy` ask for.
type Terms struct {
	GPU          string              // model, or part of its name; empty for any
	Model        uint16              // the model's id, in place of GPU; 0 for none
	Count        uint8               // free GPUs on one node, at least
	Region       string              // prefix
	MaxPrice     market.PricePerHour // 0 for any
	Below        bool                // the price must be below MaxPrice, not only at most
	UptimeBPS    uint16
	Reputation   uint16 // basis points
	VRAMMiB      uint32 // per GPU
	Operations   uint32 // measured, 10⁹ a second
	Bandwidth    uint32 // measured, 10⁶ bytes a second
	DownMbps     uint32 // measured
	UpMbps       uint32
	CPUs         uint32 // threads, MiB and GiB that come with Count GPUs
	RAMMiB       uint32
	DiskGiB      uint32
	CUDA         market.CUDA
	Compute      class.Compute // of its model
	Tier         uint8
	Interconnect market.Interconnect
	Isolation    market.Isolation
	Simulated    *bool // nil shows both
	Spot         bool  // nodes that take interruptible work, at their spot prices
}

// TermList lists the terms of a search, for messages.
const TermList = "gpu=NAME count>=N region=PREFIX price<USD uptime>=PERCENT rep>=PERCENT vram>=GIB tops>=N bandwidth>=GBPS down>=MBIT up>=MBIT cpus>=N ram>=GIB disk>=GIB cuda>=VERSION compute>=VERSION tier>=N nvlink nvswitch sandbox volumes spot simulated|real"

// ParseTerms reads a search such as "gpu=H100 count>=8 region=us price<2.6 uptime>=99". Terms are separated by spaces;
// every one must hold.
func ParseTerms(text string) (Terms, error) {
	q := Terms{Count: 1}
	for _, term := range strings.Fields(text) {
		if err := q.term(term); err != nil {
			return Terms{}, err
		}
	}
	return q, nil
}

func (q *Terms) term(term string) error {
	name, op, value := splitTerm(term)
	if op == "" {
		switch strings.ToLower(name) {
		case "nvlink":
			q.Interconnect = market.NVLink
		case "nvswitch":
			q.Interconnect = market.NVSwitch
		case "sandbox":
			q.Isolation = max(q.Isolation, market.Sandbox)
		case "spot":
			q.Spot = true
		case "volumes":
			q.Isolation = market.Volumes
		case "simulated", "real":
			want := strings.EqualFold(name, "simulated")
			q.Simulated = &want
		default:
			if _, known := operators[strings.ToLower(name)]; known {
				return Usage(fmt.Sprintf("search term %q has no value", term), "a shell takes > for itself: quote the terms, such as 'gpu=A100 cpus>=8'")
			}
			return Usage(fmt.Sprintf("search term %q is not known", term), "terms: "+TermList)
		}
		return nil
	}
	if value == "" {
		return Usage(fmt.Sprintf("search term %q has no value", term), "write it without spaces, such as count>=8")
	}
	allowed, known := operators[strings.ToLower(name)]
	if !known {
		return Usage(fmt.Sprintf("search term %q is not known", name), "terms: "+TermList)
	}
	if !strings.Contains(allowed, " "+op+" ") {
		return Usage(fmt.Sprintf("search term %q cannot use %q", name, op), "use one of:"+strings.TrimRight(allowed, " "))
	}
	if err := q.set(strings.ToLower(name), op, value); err != nil {
		return Usage(fmt.Sprintf("search term %q: %v", term, err), "terms: "+TermList)
	}
	return nil
}

// operators says which comparisons each term takes; upper bounds only for prices, lower bounds for the rest.
var operators = map[string]string{
	"gpu": " = ", "region": " = ", "count": " >= = > ", "price": " < <= ", "uptime": " >= > ", "rep": " >= > ",
	"reputation": " >= > ", "vram": " >= > ", "tops": " >= ", "bandwidth": " >= ", "down": " >= ", "up": " >= ",
	"cpus": " >= > ", "ram": " >= > ", "memory": " >= > ", "disk": " >= > ", "cuda": " >= ", "compute": " >= ", "tier": " >= > = ", "link": " = >= ",
}

func splitTerm(term string) (name, op, value string) {
	i := strings.IndexAny(term, "<>=!")
	if i < 0 {
		return term, "", ""
	}
	end := i + 1
	if end < len(term) && term[end] == '=' {
		end++
	}
	op = term[i:end]
	if op == "==" {
		op = "="
	}
	return term[:i], op, term[end:]
}

func (q *Terms) set(name, op, value string) (err error) {
	more := uint64(0)
	if op == ">" {
		more = 1
	}
	switch name {
	case "gpu":
		q.GPU = value
	case "region":
		if len(value) > 16 {
			return fmt.Errorf("a region has at most 16 characters")
		}
		q.Region = value
	case "count":
		var n uint64
		if n, err = whole(value, market.MaxGPUs); err == nil {
			q.Count = uint8(min(n+more, market.MaxGPUs+1))
			if q.Count == 0 {
				q.Count = 1
			}
		}
	case "price":
		q.MaxPrice, err = market.ParsePrice(value)
		q.Below = op == "<"
		if err == nil && q.MaxPrice == 0 {
			return fmt.Errorf("the price must be greater than zero")
		}
	case "uptime":
		q.UptimeBPS, err = ParsePercent(value, uint16(more))
	case "rep", "reputation":
		q.Reputation, err = ParsePercent(value, uint16(more))
	case "vram":
		var n uint64
		if n, err = whole(strings.TrimRight(strings.ToUpper(value), "GIB"), 1<<20); err == nil {
			q.VRAMMiB = MemoryMiB(n + more)
		}
	case "tops":
		q.Operations, err = ParseThousandths(value)
	case "bandwidth":
		q.Bandwidth, err = ParseThousandths(value)
	case "down":
		q.DownMbps, err = ParseMbps(value)
	case "up":
		q.UpMbps, err = ParseMbps(value)
	case "cpus", "ram", "memory", "disk":
		err = q.share(name, value, uint32(more))
	case "cuda":
		q.CUDA, err = market.ParseCUDA(value)
	case "compute":
		q.Compute, err = class.ParseCompute(value)
	case "tier":
		var n uint64
		if n, err = whole(value, 3); err == nil {
			q.Tier = uint8(n + more)
		}
	case "link":
		q.Interconnect, err = market.ParseInterconnect(value)
	}
	return err
}

// share reads what is to come with the GPUs.
func (q *Terms) share(name, value string, more uint32) error {
	if name != "cpus" {
		value = strings.TrimRight(strings.ToUpper(value), "GIB")
	}
	n, err := whole(value, 1<<20)
	if err != nil {
		return err
	}
	switch name {
	case "cpus":
		q.CPUs = uint32(n) + more
	case "ram", "memory":
		q.RAMMiB = (uint32(n) + more) << 10
	case "disk":
		q.DiskGiB = uint32(n) + more
	}
	return nil
}

// ParseThousandths reads a number with at most three decimals as a thousand times its value: TOPS as 10⁹ operations a second,
// GB/s as 10⁶ bytes a second.
func ParseThousandths(s string) (uint32, error) {
	whole, decimals, _ := strings.Cut(s, ".")
	if len(decimals) <= 3 {
		if n, err := strconv.ParseUint(whole+decimals+"000"[len(decimals):], 10, 32); err == nil && whole != "" {
			return uint32(n), nil
		}
	}
	return 0, fmt.Errorf("%q is not a number with at most three decimals, up to 4294967", s)
}

// shownPercent is what drivers show at least of the memory that a GPU is sold with: error correction and the driver
// take the rest. A GPU of 24 GB shows 23,028 MiB.
const shownPercent = 93

// MemoryMiB is what the driver of a GPU shows that is sold with so many GiB, at least.
func MemoryMiB(gib uint64) uint32 {
	return uint32(min(gib*1024*shownPercent/100, 1<<32-1))
}

// ParseMbps reads Mbit/s.
func ParseMbps(s string) (uint32, error) {
	n, err := whole(s, 1<<30)
	return uint32(n), err
}

func whole(s string, most uint64) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil || n > most {
		return 0, fmt.Errorf("%q is not a whole number up to %d", s, most)
	}
	return n, nil
}

// ParsePercent reads percent with at most two decimals as basis points: "99.9" is 9990.
func ParsePercent(s string, more uint16) (uint16, error) {
	n, err := market.ParsePercent(s)
	if err != nil {
		return 0, err
	}
	return n + more, nil
}

// otherModel is why a node does not match whose model is another.
const otherModel = "other model"

// ofModel reports whether a model is asked for.
func (q *Terms) ofModel(m *market.Model) bool {
	if q.Compute != 0 && computeOf(m) < q.Compute {
		return false
	}
	if q.Model != 0 {
		return m.Id == q.Model
	}
	return q.GPU == "" || meant(m.ModelName(), q.GPU) != otherName
}

// matches says why a node does not match; empty when it does.
func (q *Terms) matches(n *market.Node, m *market.Model, now int64) string {
	price := market.PricePerHour(n.Price)
	switch {
	case !q.ofModel(m):
		return otherModel
	case n.State() != market.NodeActive:
		return n.State().String()
	case !n.HealthyFor(now, now):
		return "unhealthy"
	case n.FreeGPUs() < q.Count:
		return "too few free GPUs"
	case n.ClaimsMissing > 0:
		return "GPUs that others claim"
	case n.Spec.VramMib < q.VRAMMiB || n.TierAt(now) < max(q.Tier, m.MinTier) || market.Interconnect(n.Spec.Interconnect) < q.Interconnect:
		return "other hardware"
	case !market.ShareSuits(&market.Requirement{MinCpuCores: q.CPUs, MinRamMib: q.RAMMiB, MinDiskGib: q.DiskGiB, MinCuda: uint16(q.CUDA)}, n, q.Count):
		return smallShare
	case n.Operations < q.Operations || n.Bandwidth < q.Bandwidth || n.DownMbps < q.DownMbps || n.UpMbps < q.UpMbps:
		return "slower, or not measured"
	case m.Calibrated() && n.ClassSince == 0:
		return "not measured to be of its class"
	case market.Isolation(n.Spec.Isolation) < q.Isolation:
		return "runs no images"
	case q.Simulated != nil && *q.Simulated != (n.Spec.Simulated == 1):
		return "simulated or not"
	case !strings.HasPrefix(n.Region(), q.Region):
		return "other region"
	case q.MaxPrice != 0 && (price > q.MaxPrice || (q.Below && price == q.MaxPrice)):
		return "too dear"
	case n.ShownUptime() < q.UptimeBPS || (q.Reputation != 0 && n.Reputation(now) < q.Reputation):
		return "uptime or reputation"
	}
	return ""
}
