// Package governance reads what the authority of a market proposes, parameters and models, and says when a proposal may be applied.
package governance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gantry-market/gantry/client/service"
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

// ParamList returns the names of parameters in snake case, sorted, and the values as text.
func ParamList(p market.Params) ([]string, map[string]string) {
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

// DecodeParams reads parameters that are given of a JSON document over those of p.
func DecodeParams(raw []byte, p *market.Params) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(p)
}

// SetParams applies NAME=VALUE pairs. Error: a usage error.
func SetParams(p market.Params, pairs []string) (market.Params, error) {
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
			return p, service.Usage(fmt.Sprintf("--set %q is not NAME=VALUE of a parameter", pair), "names: gantry market show")
		}
		if _, err := strconv.ParseUint(value, 10, 64); err != nil {
			return p, service.Usage(fmt.Sprintf("--set %q: the value is not a whole number", pair), "times are seconds, shares basis points")
		}
		if err := DecodeParams([]byte(fmt.Sprintf("{%q:%s}", field, value)), &p); err != nil {
			return p, service.Usage(fmt.Sprintf("--set %q: the value does not fit", pair), "give a whole number; times are seconds, shares basis points")
		}
	}
	return p, nil
}
