package simulate

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"sort"
	"strings"
	"time"
)

// Options of a run.
type Options struct {
	Seed uint64
	// Machines of each kind of cheat; each begins anew with its own draws.
	Machines int
	// Challenges that a machine is held for at most.
	Challenges int
	// Every is the time between two challenges of a machine.
	Every time.Duration
}

// Defaults are what the published table was made with.
func Defaults() Options {
	return Options{Seed: 1, Machines: 40, Challenges: 8, Every: time.Hour}
}

// Scenario is one kind of machine and what it is held against.
type Scenario struct {
	// Name says what the machine does, Against what looks at it.
	Name, Against string
	// Honest machines must not be found out.
	Honest bool
	// Expect is what theory says of the rate in one challenge, "" where it says nothing.
	Expect string
	// Play is one challenge of one machine: the reason why it was found out, or "".
	Play func(ctx context.Context, rng *rand.Rand) (string, error)
}

// Row is the outcome of a scenario.
type Row struct {
	Scenario
	Machines int
	// First were found out in their first challenge, Found within all.
	First, Found int
	// Median number of challenges until found out, among those that were; 0 if none was.
	Median float64
	// Reasons by how often.
	Reasons map[string]int
}

// Run plays all scenarios.
func Run(ctx context.Context, o Options, scenarios []Scenario) ([]Row, error) {
	rows := make([]Row, 0, len(scenarios))
	for i, s := range scenarios {
		row := Row{Scenario: s, Machines: o.Machines, Reasons: map[string]int{}}
		var took []int
		for m := range o.Machines {
			rng := rand.New(rand.NewPCG(o.Seed, uint64(i)<<32|uint64(m)))
			for c := 1; c <= o.Challenges; c++ {
				why, err := s.Play(ctx, rng)
				if err != nil {
					return nil, fmt.Errorf("simulate: %s: %w", s.Name, err)
				}
				if why == "" {
					continue
				}
				row.Reasons[why]++
				took = append(took, c)
				if c == 1 {
					row.First++
				}
				break
			}
		}
		row.Found = len(took)
		row.Median = median(took)
		rows = append(rows, row)
	}
	return rows, nil
}

func median(v []int) float64 {
	if len(v) == 0 {
		return 0
	}
	sort.Ints(v)
	return float64(v[(len(v)-1)/2]+v[len(v)/2]) / 2
}

// Table writes the rows as a Markdown table.
func Table(w io.Writer, o Options, rows []Row) error {
	var b strings.Builder
	fmt.Fprintf(&b, "| Machine | Held against | Found in one challenge | By theory | Within %d | Median time to detection | Found by |\n", o.Challenges)
	b.WriteString("| --- | --- | ---: | ---: | ---: | ---: | --- |\n")
	for _, r := range rows {
		after := "—"
		if r.Found > 0 {
			after = fmt.Sprintf("%g challenges (%v)", r.Median, time.Duration(r.Median*float64(o.Every)))
			if r.Median == 1 {
				after = "first challenge"
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", r.Name, r.Against,
			percent(r.First, r.Machines), orDash(r.Expect), percent(r.Found, r.Machines), after, reasons(r.Reasons))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func percent(part, all int) string {
	return fmt.Sprintf("%.0f %% (%d/%d)", 100*float64(part)/float64(all), part, all)
}

func orDash(s string) string {
	if s == "" {
		return "—"
	}
	return s
}

func reasons(m map[string]int) string {
	if len(m) == 0 {
		return "nothing"
	}
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		return m[names[i]] > m[names[j]] || m[names[i]] == m[names[j]] && names[i] < names[j]
	})
	return strings.Join(names, ", ")
}
