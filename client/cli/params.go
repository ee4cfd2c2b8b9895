package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/gantry-market/gantry/sdk/market"
)

// paramFields turns parameters into JSON fields and back, so that every parameter is known by its name everywhere.
func paramFields(p market.Params) (map[string]json.RawMessage, error) {
	raw, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	var m map[string]json.RawMessage
	err = json.Unmarshal(raw, &m)
	delete(m, "pad")
	return m, err
}

// paramList returns the names in snake case, sorted, and the values as text.
func paramList(p market.Params) ([]string, map[string]string) {
	fields, err := paramFields(p)
	if err != nil {
		return nil, nil
	}
	values := map[string]string{}
	var names []string
	for name, v := range fields {
		names = append(names, snake(name))
		values[snake(name)] = string(v)
	}
	slices.Sort(names)
	return names, values
}

func snake(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// params applies --params and --set to parameters.
func (s *session) params(p market.Params) (market.Params, error) {
	if path := s.cli.String("params"); path != "" {
		raw, err := os.ReadFile(path)
		if err != nil {
			return p, usage(fmt.Sprintf("--params: %s cannot be read", path), "check the path")
		}
		if err := decodeParams(raw, &p); err != nil {
			return p, usage(fmt.Sprintf("--params: %s: %v", path, err), "names and values are those of: gantry market show --json")
		}
	}
	return setParams(p, s.cli.StringSlice("set"))
}

func decodeParams(raw []byte, p *market.Params) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(p)
}

// setParams applies NAME=VALUE pairs. Error: a usage error.
func setParams(p market.Params, pairs []string) (market.Params, error) {
	fields, err := paramFields(p)
	if err != nil {
		return p, err
	}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		field := ""
		for known := range fields {
			if snake(known) == name || known == name {
				field = known
			}
		}
		if !ok || field == "" {
			return p, usage(fmt.Sprintf("--set %q is not NAME=VALUE of a parameter", pair), "names: gantry market show")
		}
		if _, err := strconv.ParseUint(value, 10, 64); err != nil {
			return p, usage(fmt.Sprintf("--set %q: the value is not a whole number", pair), "times are seconds, shares basis points")
		}
		if err := decodeParams([]byte(fmt.Sprintf("{%q:%s}", field, value)), &p); err != nil {
			return p, usage(fmt.Sprintf("--set %q: the value does not fit", pair), "give a whole number; times are seconds, shares basis points")
		}
	}
	return p, nil
}
