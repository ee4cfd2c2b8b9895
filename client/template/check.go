package template

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/gantry-market/gantry/sdk/jobspec"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

var (
	nameForm      = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)
	parameterForm = regexp.MustCompile(`^[a-z][A-Za-z0-9]{0,31}$`)
)

// check reports what makes a file no template.
func (t *Template) check() error {
	switch {
	case !nameForm.MatchString(t.Name):
		return fmt.Errorf("name %q has other characters than a-z, 0-9 and -, or more than 32", t.Name)
	case t.Title == "" || t.Description == "":
		return errors.New("title and description say what it is; one is missing")
	case t.Image == "":
		return errors.New("image is missing")
	case t.Network != messages.NetworkInternet && t.Network != "none":
		return fmt.Errorf("network is %q; write internet or none", t.Network)
	case t.GPU.Count < 1 || t.GPU.Count > market.MaxGPUs:
		return fmt.Errorf("gpu.count is %d; a machine has 1 to 8 GPUs", t.GPU.Count)
	case t.Try.GPU == "" || t.Try.Minutes == 0:
		return errors.New("try names no gpu, or no minutes")
	}
	if price, err := market.ParsePrice(t.Try.MaxPrice); err != nil || price == 0 {
		return fmt.Errorf("try.maxPrice %q is not a price in USDC per GPU-hour", t.Try.MaxPrice)
	}
	for _, key := range slices.Sorted(maps.Keys(t.Parameters)) {
		if err := t.Parameters[key].check(key); err != nil {
			return err
		}
	}
	if err := t.checkServer(); err != nil {
		return err
	}
	return t.checkTexts()
}

// checkServer checks ports, health and the API of a model server.
func (t *Template) checkServer() error {
	known := map[uint16]bool{}
	for _, p := range t.Ports {
		if p.Port == 0 || known[p.Port] || !nameForm.MatchString(p.Name) {
			return fmt.Errorf("port %d with the name %q: a port is there once, and its name has a-z, 0-9 and -", p.Port, p.Name)
		}
		known[p.Port] = true
	}
	if h := t.Health; h != nil && (!known[h.Port] || !strings.HasPrefix(h.Path, "/") || h.Deadline <= 0) {
		return errors.New("health needs one of the ports, a path that begins with / and a deadline")
	}
	o := t.OpenAI
	switch {
	case o == nil:
		return nil
	case t.Health == nil:
		return errors.New("a model server needs health: requests go to replicas that serve")
	case !known[o.Port] || (o.Path != "" && !strings.HasPrefix(o.Path, "/")) || strings.HasSuffix(o.Path, "/"):
		return errors.New("openai needs one of the ports, and a path that begins with / and does not end with it")
	case o.Concurrency < 1 || o.Concurrency > maxConcurrency:
		return fmt.Errorf("openai.concurrency is %d; write 1 to %d", o.Concurrency, maxConcurrency)
	}
	return nil
}

// maxConcurrency is how many requests one replica may answer at once: what the streams to one container carry.
const maxConcurrency = 1024

// checkTexts renders with the defaults, so that what is wrong is found before someone orders.
func (t *Template) checkTexts() error {
	for key := range t.Env { // also those that are left out without a value
		if err := jobspec.CheckContent(messages.JobSpec{Image: t.Image, Env: map[string]string{key: ""}}); err != nil {
			return fmt.Errorf("env: %w", err)
		}
	}
	for _, a := range t.Command {
		if a.When != "" && t.Parameters[a.When] == nil {
			return fmt.Errorf("command: when names the parameter %q, which there is not", a.When)
		}
		if len(a.Args) == 0 {
			return errors.New("command: an argument is empty; write '' for an empty text")
		}
	}
	values := map[string]string{}
	for key, p := range t.Parameters {
		values[key] = p.Default
		if p.Required {
			values[key] = "required"
		}
	}
	j, err := t.render(values)
	if err != nil {
		return err
	}
	if _, err := name.ParseReference(j.Image); err != nil {
		return fmt.Errorf("image %q is not the name of an image", j.Image)
	}
	if t.Volume != "" {
		if _, err := messages.ParseVolume(j.Volume); err != nil {
			return fmt.Errorf("volume: %w", err)
		}
	}
	return jobspec.CheckContent(messages.JobSpec{Image: j.Image, Command: j.Command, Env: j.Env})
}

// check reports what is wrong with a parameter, its default included.
func (p *Parameter) check(key string) error {
	if p == nil {
		return fmt.Errorf("parameter %s is empty", key)
	}
	if p.Type == "" {
		p.Type = String
	}
	switch {
	case !parameterForm.MatchString(key):
		return fmt.Errorf("parameter %q: a name begins with a small letter and has letters and digits, 32 at most", key)
	case p.Description == "":
		return fmt.Errorf("parameter %s has no description", key)
	case !slices.Contains([]Type{String, Integer, Number, Boolean, Choice}, p.Type):
		return fmt.Errorf("parameter %s: type %q is not string, integer, number, boolean or choice", key, p.Type)
	case (p.Type == Choice) != (len(p.Choices) > 0):
		return fmt.Errorf("parameter %s: choices are those of the type choice", key)
	case p.Pattern != "" && p.Type != String:
		return fmt.Errorf("parameter %s: a pattern is for strings", key)
	case (p.Min != nil || p.Max != nil) && p.Type != Integer && p.Type != Number:
		return fmt.Errorf("parameter %s: min and max are for numbers", key)
	case p.Required && p.Default != "":
		return fmt.Errorf("parameter %s is required and has a default", key)
	}
	if p.Pattern != "" {
		var err error
		if p.pattern, err = regexp.Compile(`^(?:` + p.Pattern + `)$`); err != nil {
			return fmt.Errorf("parameter %s: pattern: %w", key, err)
		}
	}
	if p.Required {
		return nil
	}
	if err := p.admits(key, p.Default); err != nil {
		return fmt.Errorf("default of %w", err)
	}
	return nil
}
