package template

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Job is a template with its parameters' values in place: what is ordered and run.
type Job struct {
	Template  string            `json:"template"`
	Image     string            `json:"image"`
	Command   []string          `json:"command,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	Network   string            `json:"network"`
	Volume    string            `json:"volume,omitempty"`
	Ports     []Port            `json:"ports,omitempty"`
	Health    *Probe            `json:"health,omitempty"`
	OpenAI    *OpenAI           `json:"openai,omitempty"`
	GPUs      uint8             `json:"gpus"`
	MemoryGiB uint              `json:"memoryGiB,omitempty"`
	ToEnd     bool              `json:"runToCompletion,omitempty"`
	Try       Try               `json:"try"`
}

// maxValue is how long a parameter's value may be, bytes.
const maxValue = 4096

// Render puts the values of parameters in place; those that are not given have their default. Error: ErrParameter.
func (t *Template) Render(set map[string]string) (Job, error) {
	values := map[string]string{}
	for key, p := range t.Parameters {
		values[key] = p.Default
		if _, given := set[key]; p.Required && !given {
			return Job{}, fmt.Errorf("%w %s of the template %s is missing: %s; give it with --set %s=VALUE", ErrParameter, key, t.Name, p.Description, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(set)) {
		p, known := t.Parameters[key]
		if !known {
			return Job{}, fmt.Errorf("%w %q is not one of the template %s; it has %s", ErrParameter, key, t.Name, t.parameterNames())
		}
		if err := p.admits(key, set[key]); err != nil {
			return Job{}, fmt.Errorf("%w %w", ErrParameter, err)
		}
		values[key] = set[key]
	}
	return t.render(values)
}

func (t *Template) parameterNames() string {
	if len(t.Parameters) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(t.Parameters)), ", ")
}

func (t *Template) render(values map[string]string) (j Job, err error) {
	put := func(text string) string {
		out, e := expand(text, values)
		if err == nil {
			err = e
		}
		return out
	}
	j = Job{
		Template: t.Name, Image: put(t.Image), Network: t.Network, Volume: put(t.Volume), Ports: t.Ports, Health: t.Health,
		GPUs: t.GPU.Count, MemoryGiB: t.GPU.MemoryGiB, ToEnd: t.ToEnd, Try: t.Try,
	}
	for _, a := range t.Command {
		if a.When != "" && unset(values[a.When]) {
			continue
		}
		for _, arg := range a.Args {
			j.Command = append(j.Command, put(arg))
		}
	}
	for key, text := range t.Env {
		if value := put(text); value != "" {
			if j.Env == nil {
				j.Env = map[string]string{}
			}
			j.Env[key] = value
		}
	}
	if t.OpenAI != nil {
		o := *t.OpenAI
		o.Model = put(o.Model)
		j.OpenAI = &o
	}
	return j, err
}

func unset(value string) bool { return value == "" || value == "0" || value == "false" }

var placeholder = regexp.MustCompile(`\$(\$|\{[^}]*\}?)?`)

// expand puts values in place of ${name}; $$ is one $. A value is put in as it is, and not expanded again.
func expand(text string, values map[string]string) (out string, err error) {
	out = placeholder.ReplaceAllStringFunc(text, func(m string) string {
		if m == "$$" {
			return "$"
		}
		key, ok := strings.CutPrefix(m, "${")
		key, closed := strings.CutSuffix(key, "}")
		value, known := values[key]
		if err == nil && (!ok || !closed) {
			err = fmt.Errorf("%q: write ${parameter}, and $$ for a $", text)
		} else if err == nil && !known {
			err = fmt.Errorf("%q: there is no parameter %q", text, key)
		}
		return value
	})
	return out, err
}

// admits reports whether a parameter may have a value. A secret's value is not in the error.
func (p *Parameter) admits(key, value string) error {
	shown := strconv.Quote(value)
	if p.Secret {
		shown = "the given value"
	}
	switch {
	case len(value) > maxValue || strings.ContainsRune(value, 0):
		return fmt.Errorf("%s: the value is longer than %d bytes, or has a NUL", key, maxValue)
	case p.Type == Choice && !slices.Contains(p.Choices, value):
		return fmt.Errorf("%s: %s is not one of %q", key, shown, p.Choices)
	case p.Type == Boolean && value != "true" && value != "false":
		return fmt.Errorf("%s: %s is not true or false", key, shown)
	case p.pattern != nil && !p.pattern.MatchString(value):
		return fmt.Errorf("%s: %s does not match %s", key, shown, p.Pattern)
	case p.Type == Integer || p.Type == Number:
		return p.admitsNumber(key, value, shown)
	}
	return nil
}

func (p *Parameter) admitsNumber(key, value, shown string) error {
	n, err := strconv.ParseFloat(value, 64)
	if p.Type == Integer {
		var i int64
		i, err = strconv.ParseInt(value, 10, 64)
		n = float64(i)
	}
	switch {
	case err != nil || math.IsNaN(n) || math.IsInf(n, 0):
		return fmt.Errorf("%s: %s is not of type %s", key, shown, p.Type)
	case p.Min != nil && n < *p.Min:
		return fmt.Errorf("%s: %s is less than %v", key, shown, *p.Min)
	case p.Max != nil && n > *p.Max:
		return fmt.Errorf("%s: %s is more than %v", key, shown, *p.Max)
	}
	return nil
}
