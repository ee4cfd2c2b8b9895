package service

import (
	"context"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/audit"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/todo"
)

// MachineRecord is a node with what its last transactions say.
type MachineRecord struct {
	Machine
	Periods []PeriodChecks `json:"checks" doc:"By period, the newest first"`
	Days    []Day          `json:"days" doc:"What was settled, by UTC day, the newest first; days without are left out"`
	History History        `json:"history"`
}

// History says how far back a record goes.
type History struct {
	Since      int64 `json:"since,omitempty" doc:"Time of the oldest transaction that was read, unix seconds"`
	Whole      bool  `json:"whole" doc:"There is no older transaction, as far as the cluster's node remembers"`
	Awards     int   `json:"awards" doc:"Leases that it was awarded in that time"`
	Unreadable int   `json:"unreadable,omitempty" doc:"Transactions that could not be read"`
}

// PeriodChecks is what the final report of a period says of a node. Keepers count checks that passed and that failed; one
// that they could not decide is counted by none of them.
type PeriodChecks struct {
	Period    uint64   `json:"period"`
	Report    string   `json:"report" doc:"Address of the report"`
	At        int64    `json:"appliedAt,omitempty"`
	Passed    uint16   `json:"passed"`
	Failed    uint16   `json:"failed"`
	UpSeconds uint32   `json:"upSeconds"`
	Flags     []string `json:"flags" doc:"What keepers agreed is wrong"`
	Advice    string   `json:"advice,omitempty" doc:"What to do about the flags"`
	Measured  bool     `json:"measured" doc:"Keepers measured its GPUs in the period; false where they were leased, or it was not decided"`
	TOPS      string   `json:"tops,omitempty" doc:"10¹² int8 operations a second of the weakest GPU"`
	Bandwidth string   `json:"gigabytesPerSecond,omitempty"`
	Undecided bool     `json:"undecided" doc:"No report about the node was applied for the period: keepers decided nothing, or it waits"`
	Tx        string   `json:"transaction,omitempty" doc:"That brought the report's leaf and its proof"`
}

// Day is what a UTC day has brought.
type Day struct {
	Day     string `json:"day" doc:"YYYY-MM-DD"`
	Settled string `json:"settled" doc:"USDC, the market's fee taken off"`
	Leases  int    `json:"leases" doc:"Of which something was settled"`
}

// Record describes a node, anybody's, with what at most so many of its last transactions say. Errors: those of Machine.
func (s *Service) Record(ctx context.Context, node solana.PublicKey, most int) (MachineRecord, error) {
	m, err := s.Machine(ctx, node)
	if err != nil {
		return MachineRecord{}, err
	}
	o, _, err := s.AuditOptions(ctx)
	if err != nil {
		return MachineRecord{}, err
	}
	n, err := audit.ReadNode(ctx, o, node, most)
	if err != nil {
		return MachineRecord{}, err
	}
	return MachineRecord{
		Machine: m, Periods: checksOf(n.Periods), Days: daysOf(n.Payments),
		History: History{Since: unixOf(n.Since), Whole: !n.More, Awards: n.Awards, Unreadable: n.Unreadable},
	}, nil
}

// undecidedShown is how many periods in a row without a report are listed.
const undecidedShown = 6

// checksOf describes periods, and those between them without a report.
func checksOf(periods []audit.NodePeriod) []PeriodChecks {
	out := []PeriodChecks{}
	for i := range periods {
		l := &periods[i].Leaf
		if i > 0 {
			for p, shown := uint64(periods[i-1].Leaf.Period)-1, 0; p > uint64(l.Period) && shown < undecidedShown; p, shown = p-1, shown+1 {
				out = append(out, PeriodChecks{Period: p, Report: market.ReportAddress(p).String(), Flags: []string{}, Undecided: true})
			}
		}
		c := PeriodChecks{
			Period: uint64(l.Period), Report: market.ReportAddress(uint64(l.Period)).String(), At: unixOf(periods[i].Time), Passed: l.ChecksPassed, Failed: l.ChecksTotal - l.ChecksPassed,
			UpSeconds: l.UpSeconds, Flags: append([]string{}, l.Flags.Names()...), Advice: todo.Advice(l.Flags), Measured: l.Operations > 0, Tx: periods[i].Signature.String(),
		}
		if c.Measured {
			c.TOPS, c.Bandwidth = market.TOPS(l.Operations), market.GBs(l.Bandwidth)
		}
		out = append(out, c)
	}
	return out
}

// daysOf adds up payments, the newest first, by day.
func daysOf(payments []audit.Payment) []Day {
	out := []Day{}
	var sum market.USDC
	var leases map[solana.PublicKey]bool
	for _, p := range payments {
		day := "unknown"
		if !p.Time.IsZero() {
			day = p.Time.UTC().Format(time.DateOnly)
		}
		if len(out) == 0 || out[len(out)-1].Day != day {
			out, sum, leases = append(out, Day{Day: day}), 0, map[solana.PublicKey]bool{}
		}
		sum += p.Amount
		leases[p.Lease] = true
		out[len(out)-1].Settled, out[len(out)-1].Leases = sum.Exact(), len(leases)
	}
	return out
}
