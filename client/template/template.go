// Package template reads templates: files that say how a known program is run on a lease, with parameters. The ones that
// gantry comes with are in the folder templates; anyone may write their own. A template says what is ordered and run, and
// decides nothing: what it renders to goes through the same checks as an order's flags.
package template

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/gantry-market/gantry/templates"
)

var (
	// ErrTemplate: the file is no template.
	ErrTemplate = errors.New("not a template")
	// ErrNotFound: there is no template of this name.
	ErrNotFound = errors.New("no such template")
	// ErrParameter: a parameter is not known, is missing, or has a value that it may not have.
	ErrParameter = errors.New("parameter")
)

// maxFile is how large a template may be, bytes.
const maxFile = 64 << 10

// Template is one file.
type Template struct {
	Name        string                `yaml:"name" json:"name"`
	Title       string                `yaml:"title" json:"title"`
	Description string                `yaml:"description" json:"description"`
	Sources     []string              `yaml:"sources" json:"sources,omitempty" doc:"Where the program's own documentation shows this command line"`
	Image       string                `yaml:"image" json:"image" doc:"A tag is resolved to its digest before an order"`
	Parameters  map[string]*Parameter `yaml:"parameters" json:"parameters,omitempty"`
	Command     []Argument            `yaml:"command" json:"command,omitempty" doc:"What follows the image's entrypoint"`
	Env         map[string]string     `yaml:"env" json:"env,omitempty" doc:"Variables whose value is empty are left out"`
	Network     string                `yaml:"network" json:"network" enum:"internet,none"`
	Volume      string                `yaml:"volume" json:"volume,omitempty" doc:"NAME:SIZE:PATH"`
	Ports       []Port                `yaml:"ports" json:"ports,omitempty"`
	Health      *Probe                `yaml:"health" json:"health,omitempty" doc:"When it serves"`
	OpenAI      *OpenAI               `yaml:"openai" json:"openai,omitempty" doc:"Of a model server, which a deployment may have as replicas"`
	GPU         GPU                   `yaml:"gpu" json:"gpu"`
	ToEnd       bool                  `yaml:"runToCompletion" json:"runToCompletion,omitempty" doc:"The lease ends with the command"`
	Try         Try                   `yaml:"try" json:"try" doc:"What an order takes that says nothing else"`
}

// Parameter is what who orders may choose.
type Parameter struct {
	Description string   `yaml:"description" json:"description"`
	Type        Type     `yaml:"type" json:"type" enum:"string,integer,number,boolean,choice"`
	Default     string   `yaml:"default" json:"default"`
	Required    bool     `yaml:"required" json:"required,omitempty"`
	Secret      bool     `yaml:"secret" json:"secret,omitempty" doc:"Never shown"`
	Pattern     string   `yaml:"pattern" json:"pattern,omitempty" doc:"Regular expression that the whole value matches"`
	Choices     []string `yaml:"choices" json:"choices,omitempty"`
	Min         *float64 `yaml:"min" json:"min,omitempty"`
	Max         *float64 `yaml:"max" json:"max,omitempty"`

	pattern *regexp.Regexp
}

// Type of a parameter; empty is a string.
type Type string

// The types.
const (
	String  Type = "string"
	Integer Type = "integer"
	Number  Type = "number"
	Boolean Type = "boolean"
	Choice  Type = "choice"
)

// Argument is one of a command, or several that are there only when a parameter is not empty, 0 or false.
type Argument struct {
	When string   `yaml:"when" json:"when,omitempty"`
	Args []string `yaml:"args" json:"args"`
}

// UnmarshalYAML reads a text as one argument.
func (a *Argument) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		a.Args = []string{n.Value}
		return nil
	}
	type plain Argument
	for i := 0; i+1 < len(n.Content); i += 2 { // a decoder of a node does not know that it is strict
		if key := n.Content[i].Value; key != "when" && key != "args" {
			return fmt.Errorf("line %d: field %s not found in an argument", n.Content[i].Line, key)
		}
	}
	return n.Decode((*plain)(a))
}

// Port is one that the program listens on.
type Port struct {
	Name string `yaml:"name" json:"name"`
	Port uint16 `yaml:"port" json:"port"`
}

// Probe says how to see that the program serves.
type Probe struct {
	Port     uint16   `yaml:"port" json:"port"`
	Path     string   `yaml:"path" json:"path" doc:"Answered with a status below 400 when it serves"`
	Deadline Duration `yaml:"deadline" json:"deadline" doc:"From the start of the lease"`
}

// OpenAI says where a model server has OpenAI's API.
type OpenAI struct {
	Port        uint16 `yaml:"port" json:"port"`
	Path        string `yaml:"path" json:"path" doc:"What comes before /chat/completions"`
	Model       string `yaml:"model" json:"model" doc:"By which the server knows its model"`
	Concurrency int    `yaml:"concurrency" json:"concurrency" doc:"Requests that it answers at once"`
}

// GPU is what is needed of one machine.
type GPU struct {
	Count     uint8 `yaml:"count" json:"count"`
	MemoryGiB uint  `yaml:"memoryGiB" json:"memoryGiB" doc:"Of each GPU, at least; 0 for any"`
}

// Try is an order that tries the template: it reserves at most count × maxPrice × minutes.
type Try struct {
	GPU      string `yaml:"gpu" json:"gpu"`
	Minutes  uint32 `yaml:"minutes" json:"minutes"`
	MaxPrice string `yaml:"maxPrice" json:"maxPricePerGpuHour"`
}

// Duration is written as 90s or 15m.
type Duration time.Duration

// UnmarshalYAML reads it.
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	v, err := time.ParseDuration(n.Value)
	if err != nil {
		return fmt.Errorf("line %d: %q is not a time such as 90s or 15m", n.Line, n.Value)
	}
	*d = Duration(v)
	return nil
}

// MarshalText writes it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads it.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}

// Parse reads a template and checks it. Error: ErrTemplate.
func Parse(raw []byte) (*Template, error) {
	fail := func(err error) (*Template, error) {
		return nil, fmt.Errorf("%w: %s", ErrTemplate, strings.ReplaceAll(err.Error(), "\n", " "))
	}
	if len(raw) > maxFile {
		return fail(fmt.Errorf("it has %d bytes, at most %d are read", len(raw), maxFile))
	}
	d := yaml.NewDecoder(bytes.NewReader(raw))
	d.KnownFields(true)
	var t Template
	if err := d.Decode(&t); err != nil {
		return fail(err)
	}
	if err := d.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return fail(errors.New("there is more than one document in the file"))
	}
	if err := t.check(); err != nil {
		return fail(err)
	}
	return &t, nil
}

// Load reads a template from a file.
func Load(path string) (*Template, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	t, err := Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// Set is templates by name.
type Set []*Template

// Builtin are the templates that gantry comes with, by name.
func Builtin() (Set, error) {
	names, err := fs.Glob(templates.Files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("templates: %w", err)
	}
	var all Set
	for _, name := range names {
		raw, err := templates.Files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("template: %w", err)
		}
		t, err := Parse(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, t)
	}
	return all, nil
}

// With is the set with further templates, which take the place of those of the same name.
func (s Set) With(more ...*Template) Set {
	out := slices.Clone(s)
	for _, t := range more {
		out = slices.DeleteFunc(out, func(o *Template) bool { return o.Name == t.Name })
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b *Template) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// WithFiles are the templates that gantry comes with, and those of the files.
func WithFiles(paths []string) (Set, error) {
	all, err := Builtin()
	for _, path := range paths {
		t, bad := Load(path)
		if err = errors.Join(err, bad); err == nil {
			all = all.With(t)
		}
	}
	return all, err
}

// Named is the template of a name. Error: ErrNotFound, which names those that there are.
func (s Set) Named(name string) (*Template, error) {
	var names []string
	for _, t := range s {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return nil, fmt.Errorf("%w: %q; there are %s", ErrNotFound, name, strings.Join(names, ", "))
}

// IsFile reports whether a text names a file rather than a template that gantry comes with.
func IsFile(text string) bool {
	ext := filepath.Ext(text)
	return strings.ContainsRune(text, filepath.Separator) || ext == ".yaml" || ext == ".yml"
}
