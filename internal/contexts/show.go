package contexts

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Listed is a context in a list.
type Listed struct {
	Name    string `json:"name"`
	Current bool   `json:"current"`
	Context
}

// List are the contexts, by name.
func (f *File) List() []Listed {
	out := make([]Listed, 0, len(f.Contexts))
	for _, name := range f.Names() {
		out = append(out, Listed{name, name == f.Current, f.Contexts[name]})
	}
	return out
}

// WriteList writes the contexts for people; the one that counts has a mark.
func WriteList(w io.Writer, all []Listed) {
	if len(all) == 0 {
		fmt.Fprintln(w, "no contexts; make one with: gantry context set NAME --rpc-url URL")
		return
	}
	rows := [][]string{{"", "CONTEXT", "RPC", "KEYPAIR", "SERVER", "GATEWAY"}}
	for _, c := range all {
		mark := ""
		if c.Current {
			mark = "*"
		}
		row := []string{mark, c.Name}
		for _, setting := range []string{SettingRPC, SettingKeypair, SettingServer, SettingGateway} {
			row = append(row, strings.Join(c.of(setting), " "))
		}
		rows = append(rows, row)
	}
	table(w, rows)
}

// Write writes the settings of a run, and where each comes from.
func (s *Settings) Write(w io.Writer) {
	rows := [][]string{{"SETTING", "VALUE", "FROM"}}
	for _, v := range s.All() {
		rows = append(rows, []string{v.Setting, v.Text(), v.From})
	}
	table(w, rows)
}

func table(w io.Writer, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i := 1; i < len(row); i++ {
			row[i] = cmp.Or(row[i], "-")
		}
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	_ = t.Flush()
}
