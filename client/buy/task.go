package buy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gantry-market/gantry/client/expose"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/template"
)

// maxTask is how large a task's file may be, bytes.
const maxTask = 256 << 10

// Task is a purchase as a file says it, in YAML or JSON: the fields of a Request by their names in the HTTP API, and these.
type Task struct {
	Request

	// Duration is text such as 90m or 24h, in place of seconds.
	Duration string `json:"duration"`
	// Run is a script for /bin/sh, in place of command.
	Run string `json:"run"`
	// Ports are PORT or PORT:NAME, which a gateway makes public.
	Ports []string `json:"ports"`
	// Name and Detach are those of the request.
	Name   string `json:"name"`
	Detach bool   `json:"detach"`
}

// ReadTask reads a task's file; - is standard input. Error: a [service.Failure] with the line or the field that is wrong.
func ReadTask(path string, stdin io.Reader) (Request, error) {
	raw, err := service.ReadInput(path, stdin, maxTask)
	if err != nil {
		return Request{}, service.OfFlag("file", err)
	}
	r, err := parseTask(raw)
	if err != nil {
		return r, usage(fmt.Sprintf("the task %s: %v", path, err), "its fields are those of an order of the HTTP API, and duration, run, ports, name and detach")
	}
	return r, nil
}

// parseTask reads YAML, of which JSON is a part.
func parseTask(raw []byte) (Request, error) {
	var tree any
	d := yaml.NewDecoder(bytes.NewReader(raw))
	if err := d.Decode(&tree); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("the file is empty")
		}
		return Request{}, fmt.Errorf("not YAML: %w", err)
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return Request{}, errors.New("the file has more than one document")
	}
	if _, is := tree.(map[string]any); !is {
		return Request{}, errors.New("the file has no fields, such as gpu: A100")
	}
	text, err := json.Marshal(tree)
	if err != nil {
		return Request{}, fmt.Errorf("not like JSON: %w", err) // keys that are no text
	}
	var t Task
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&t); err != nil {
		return Request{}, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return t.request()
}

// request puts the task's own fields into its request.
func (t *Task) request() (Request, error) {
	r := t.Request
	r.Name, r.Detach = t.Name, t.Detach
	if t.Duration != "" {
		if r.Seconds != 0 {
			return r, errors.New("duration and seconds say the same: leave one out")
		}
		var err error
		if r.Seconds, err = (service.Duration{Text: t.Duration}).Secs(); err != nil {
			return r, err
		}
	}
	if t.Run != "" {
		if len(r.Command) > 0 {
			return r, errors.New("run and command say the same: leave one out")
		}
		r.Command = []string{"/bin/sh", "-c", t.Run}
	}
	for _, text := range t.Ports {
		p, err := expose.ParsePort(text, false)
		if err != nil {
			return r, err
		}
		r.Public = append(r.Public, template.Port{Name: p.Name, Port: p.Port})
	}
	return r, nil
}

// Over is the request with the fields of a base where it says nothing. Variables of both are there; those of the request count.
func (r Request) Over(base Request) Request {
	out := reflect.ValueOf(&base).Elem()
	over(out, reflect.ValueOf(r))
	return base
}

// over sets the fields of a struct that another one says.
func over(into, from reflect.Value) {
	for i := range from.NumField() {
		switch f := from.Field(i); {
		case f.IsZero():
		case f.Kind() == reflect.Struct:
			over(into.Field(i), f)
		case f.Kind() == reflect.Map && !into.Field(i).IsNil():
			for _, k := range f.MapKeys() {
				into.Field(i).SetMapIndex(k, f.MapIndex(k))
			}
		default:
			into.Field(i).Set(f)
		}
	}
}

// ParseEnv reads variables as NAME=VALUE. Error: a [service.Failure].
func ParseEnv(pairs []string) (env map[string]string, err error) {
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, usage(fmt.Sprintf("--env %q is not NAME=VALUE", pair), "")
		}
		if env == nil {
			env = map[string]string{}
		}
		env[name] = value
	}
	return env, nil
}
