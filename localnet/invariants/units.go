package invariants

import (
	"cmp"
	"slices"
)

// UnitsRow is what one instruction cost.
type UnitsRow struct {
	Instruction       string
	Calls             int
	Least, Mean, Most uint64
}

// Units sums up the compute units of every instruction that was used, by name.
func (h History) Units() []UnitsRow {
	rows := map[string]*UnitsRow{}
	sums := map[string]uint64{}
	for _, t := range h.Transactions {
		for _, c := range t.Calls {
			row := rows[c.Name]
			if row == nil {
				row = &UnitsRow{Instruction: c.Name, Least: c.Units}
				rows[c.Name] = row
			}
			row.Calls++
			row.Least, row.Most = min(row.Least, c.Units), max(row.Most, c.Units)
			sums[c.Name] += c.Units
		}
	}
	out := make([]UnitsRow, 0, len(rows))
	for name, row := range rows {
		row.Mean = sums[name] / uint64(row.Calls)
		out = append(out, *row)
	}
	slices.SortFunc(out, func(a, b UnitsRow) int { return cmp.Compare(a.Instruction, b.Instruction) })
	return out
}
