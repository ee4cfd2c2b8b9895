// Package todo lists what keeps a provider's machine from earning, as the chain knows it, and what its owner does about it.
package todo

import (
	"fmt"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// ToDo is something that keeps a machine from earning, and what its owner does about it.
type ToDo struct {
	// Key is the kind, and the account where there may be several of the kind.
	Key  string `json:"-"`
	Kind string `json:"kind" enum:"fault,suspended,withdrawn,retired,stake,unhealthy,unmeasured,slow,repriced"`
	What string `json:"what"`
	Do   string `json:"do"`
}

// The kinds of what is to be done.
const (
	Fault      = "fault"
	Suspended  = "suspended"
	Withdrawn  = "withdrawn" // it drains or hibernates
	Retired    = "retired"
	Stake      = "stake"
	Unhealthy  = "unhealthy"
	Unmeasured = "unmeasured"
	Slow       = "slow"
	Repriced   = "repriced"
)

// advice says what an owner does about each finding of keepers.
var advice = map[records.Flags]string{
	records.FlagOffline:        "see whether gantry-agent runs and reaches the network: gantry-agent doctor",
	records.FlagSpecMismatch:   "compare the machine with what is registered: gantry-agent doctor; then gantry-agent update --status active",
	records.FlagWorkFailed:     "run gantry-agent doctor: a GPU that computes wrong results is replaced; then gantry-agent update --status active",
	records.FlagEvidenceFailed: "see why the evidence is refused: gantry-agent evidence, and gantry evidence verify",
	records.FlagDeviceChanged:  "other GPUs are in the machine than were registered: put the former ones back, or register a new node",
	records.FlagUnhealthy:      "mend the fault that the driver reports: gantry-agent status names it; then gantry-agent repaired",
	records.FlagBadOutput:      "keepers found the lease's output wrong: gantry audit LEASE shows their votes",
	records.FlagSlow:           "its GPUs reach less than their class asks for: see to cooling, power limits and other programs on the GPUs; then gantry-agent update --status active",
}

// Advice is what to do about flags.
func Advice(f records.Flags) string {
	var all []string
	for bit := range 16 {
		if text := advice[f&(1<<bit)]; text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "; ")
}

// Of lists what keeps a node from earning, as the chain knows it, at an instant, unix seconds; faults and leases are the
// node's that are open.
func Of(n *market.Node, p *market.Provider, faults []market.Fault, leases []market.Lease, now int64) []ToDo {
	out := []ToDo{}
	add := func(kind, do, what string, args ...any) {
		out = append(out, ToDo{Key: kind, Kind: kind, What: fmt.Sprintf(what, args...), Do: do})
	}
	of := func(account solana.PublicKey, more string) { out[len(out)-1].Key += "/" + account.String() + more }
	for i := range faults {
		f := &faults[i]
		flags := records.Flags(f.Flags)
		do := Advice(flags)
		if do == "" {
			do = "the steps and their proofs: gantry audit slash " + f.Address.String()
		}
		if f.Applied() {
			add(Fault, do, "%s GNT of stake are slashed: %s in period %d", market.GNT(f.Amount), flags, f.Period)
			of(f.Address, "/applied")
			continue
		}
		add(Fault, do+"; keepers that saw it otherwise can appeal until then", "%s GNT of stake will be slashed from %s UTC on: %s in period %d", market.GNT(f.Amount),
			time.Unix(f.ApplicableAt, 0).UTC().Format("2006-01-02 15:04"), flags, f.Period)
		of(f.Address, "")
	}
	switch n.State() {
	case market.NodeSuspended:
		add(Suspended, "mend what they found (gantry audit slash "+n.Address.String()+"), then gantry-agent update --status active", "the node is suspended: keepers found that the machine is not what it claims")
	case market.NodeDraining:
		leave := "gantry-agent retire"
		if n.OpenLeases > 0 {
			leave += " once its leases have ended"
		}
		add(Withdrawn, "to leave, "+leave+"; to take leases again, gantry-agent update --status active; hours and your own use of the machine bring it back by themselves",
			"no new leases while the node is %s, %s", n.State(), openLeases(n.OpenLeases))
	case market.NodeHibernated:
		add(Withdrawn, "gantry-agent update --status active; hours and your own use of the machine bring it back by themselves", "no new leases while the node is %s", n.State())
	case market.NodeRetired:
		add(Retired, "gantry-agent close", "the node is retired: its stake comes back when it is closed")
	}
	if missing := n.MissingStake(); missing > 0 && n.State() != market.NodeRetired {
		do := "gantry-agent update --status active tops it up"
		if free := p.FreeStake(); free < missing {
			do = fmt.Sprintf("gantry provider stake %s, then gantry-agent update --status active", missing-free)
		}
		add(Stake, do, "the node's stake is %s GNT too low, and nothing is awarded", missing)
	}
	if !n.HealthyFor(now, now) {
		add(Unhealthy, Advice(records.FlagUnhealthy), "a report calls the machine unhealthy until %s UTC: no new leases", time.Unix(n.Unhealthy.Until, 0).UTC().Format("2006-01-02 15:04"))
	}
	if n.Calibrated() && n.ClassSince == 0 && n.State() == market.NodeActive {
		if len(n.ClassShares()) == 0 {
			add(Unmeasured, "keep all its GPUs free: keepers measure at the instant of each period", "its class is not measured yet, and nothing is awarded")
		} else {
			add(Slow, Advice(records.FlagSlow), "it reached %s %% of its class in the last measured periods, %s %% are needed for leases", market.Percent(n.MeanShare()), market.Percent(market.FiguresBPS))
		}
	}
	for i := range leases {
		if l := &leases[i]; l.Repriced() && l.State() == market.LeaseRunning {
			add(Repriced, "nothing; or gantry-agent end "+l.Address.String(), "the award of lease %s was unjust: what is not paid yet is worth %s instead of %s USDC per GPU-hour",
				l.Address, market.PricePerHour(l.Price), market.PricePerHour(l.AwardPrice))
			of(l.Address, "")
		}
	}
	return out
}

// openLeases says in words how many leases of a node are not closed.
func openLeases(n uint16) string {
	switch n {
	case 0:
		return "and none is open"
	case 1:
		return "and 1 is open"
	}
	return fmt.Sprintf("and %d are open", n)
}
