package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Errors of pages that are not as a picture needs them.
var (
	errNoTable  = errors.New("the page has no such table")
	errNoColumn = errors.New("the table has no such column")
	errNoRow    = errors.New("the table has no such row")
	errNoNumber = errors.New("the cell has no number at its start")
)

// report is a page of docs/reports.
type report struct{ tables []table }

// table is a table of a page, with the heading above it.
type table struct {
	heading string
	head    []string
	rows    [][]string
}

func read(file string) (*report, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read a report: %w", err)
	}
	return parse(string(text)), nil
}

// parse finds the tables of a page. A table's second row separates its head from the rest.
func parse(text string) *report {
	r := &report{}
	heading, last := "", []string(nil)
	var open *table
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		cells, row := cellsOf(line)
		switch {
		case !row:
			open, last = nil, nil
			if h := strings.TrimLeft(line, "#"); h != line {
				heading = strings.TrimSpace(h)
			}
		case open != nil:
			open.rows = append(open.rows, cells)
		case last != nil && separates(cells):
			r.tables = append(r.tables, table{heading: heading, head: last})
			open = &r.tables[len(r.tables)-1]
		default:
			last = cells
		}
	}
	return r
}

// cellsOf are the cells of a row without the marks of bold text; false for a line that is not a row.
func cellsOf(line string) ([]string, bool) {
	inner, begins := strings.CutPrefix(line, "|")
	inner, ends := strings.CutSuffix(inner, "|")
	if !begins || !ends {
		return nil, false
	}
	cells := strings.Split(inner, "|")
	for i, c := range cells {
		cells[i] = strings.TrimSpace(strings.NewReplacer("**", "", "`", "").Replace(c))
	}
	return cells, true
}

func separates(cells []string) bool {
	return !slices.ContainsFunc(cells, func(c string) bool { return strings.Trim(c, "-:") != "" || c == "" })
}

// table is the first one under a heading that has these columns.
func (r *report) table(heading string, columns ...string) (table, error) {
	for _, t := range r.tables {
		if t.heading == heading && !slices.ContainsFunc(columns, func(c string) bool { return !slices.Contains(t.head, c) }) {
			return t, nil
		}
	}
	return table{}, fmt.Errorf("%w: under %q, with %q", errNoTable, heading, columns)
}

// cell is a cell of a row by the name of its column.
func (t table) cell(row []string, column string) (string, error) {
	i := slices.Index(t.head, column)
	if i < 0 || i >= len(row) {
		return "", fmt.Errorf("%w: %q of %q", errNoColumn, column, row)
	}
	return row[i], nil
}

// numbers are those that the cells of a row begin with.
func (t table) numbers(row []string, columns ...string) ([]float64, error) {
	out := make([]float64, len(columns))
	for i, column := range columns {
		c, err := t.cell(row, column)
		if err != nil {
			return nil, err
		}
		if out[i], err = number(c); err != nil {
			return nil, fmt.Errorf("column %q: %w", column, err)
		}
	}
	return out, nil
}

// row is the one whose first cell is a name.
func (t table) row(name string) ([]string, error) {
	for _, r := range t.rows {
		if r[0] == name {
			return r, nil
		}
	}
	return nil, fmt.Errorf("%w: %q", errNoRow, name)
}

var (
	leading  = regexp.MustCompile(`^[+−-]?\d[\d,]*(\.\d+)?(e[+-]?\d+)?`)
	duration = regexp.MustCompile(`^(?:(\d+) m )?(\d+(?:\.\d+)?) s\b`)
)

// number is what a cell begins with: "3,509", "−0.5: the rest", "1.57e+11".
func number(cell string) (float64, error) {
	found := leading.FindString(cell)
	if found == "" {
		return 0, fmt.Errorf("%w: %q", errNoNumber, cell)
	}
	return strconv.ParseFloat(strings.NewReplacer(",", "", "−", "-").Replace(found), 64)
}

// list are the numbers of a cell such as "0.922, 0.987, 1".
func list(cell string) ([]float64, error) {
	var out []float64
	for part := range strings.SplitSeq(cell, ", ") {
		v, err := number(part)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// seconds is a time such as "2 m 9 s" that a cell begins with.
func seconds(cell string) (float64, error) {
	m := duration.FindStringSubmatch(cell)
	if m == nil {
		return 0, fmt.Errorf("%w: a time in %q", errNoNumber, cell)
	}
	s, err := strconv.ParseFloat(m[2], 64)
	if err != nil || m[1] == "" {
		return s, err
	}
	minutes, err := strconv.ParseFloat(m[1], 64)
	return minutes*60 + s, err
}
