package contexts

import (
	"cmp"
	"strings"
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

// Rows are the contexts for people: mark of the one that counts, name, RPC, keypair, server, gateway.
func Rows(all []Listed) (rows [][]string) {
	for _, c := range all {
		mark := ""
		if c.Current {
			mark = "*"
		}
		row := []string{mark, c.Name}
		for _, setting := range []string{SettingRPC, SettingKeypair, SettingServer, SettingGateway} {
			row = append(row, cmp.Or(strings.Join(c.of(setting), " "), "-"))
		}
		rows = append(rows, row)
	}
	return rows
}

// Rows are the settings of a run for people: setting, value, where it comes from.
func (s *Settings) Rows() (rows [][]string) {
	for _, v := range s.All() {
		rows = append(rows, []string{v.Setting, cmp.Or(v.Text(), "-"), cmp.Or(v.From, "-")})
	}
	return rows
}
