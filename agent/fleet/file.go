package fleet

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ErrFile: the file of the machines cannot be used.
var ErrFile = errors.New("the file of machines cannot be used")

// File lists the machines of one owner.
type File struct {
	// Defaults are for what a machine does not say itself.
	Defaults Settings  `yaml:"defaults"`
	Machines []Machine `yaml:"machines"`
}

// Settings are flags of `gantry-agent setup`; empty is what the machine has in its own settings, or its default.
type Settings struct {
	URL       string   `yaml:"url"`
	WS        string   `yaml:"ws"`
	Region    string   `yaml:"region"`
	Site      string   `yaml:"site"`
	Price     string   `yaml:"price"`
	Hours     string   `yaml:"hours"`
	TimeZone  string   `yaml:"time_zone"`
	Inventory string   `yaml:"inventory"`
	Accept    []string `yaml:"accept"` // checks of doctor whose errors are accepted
}

// Machine is one of them.
type Machine struct {
	Name string `yaml:"name"`
	// SSH is where OpenSSH reaches it, such as root@10.1.0.11 or a host of ~/.ssh/config.
	SSH string `yaml:"ssh"`
	// Through is the command that runs another on the machine, in place of SSH, such as [docker, exec, -i, agent-1].
	Through  []string `yaml:"through"`
	Settings `yaml:",inline"`
}

// names are what machines may be called: they are printed, and given to other programs.
var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Load reads the file. Unknown fields, machines of the same name and machines that cannot be reached are refused.
// Error: ErrFile.
func Load(path string) (File, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return File{}, fmt.Errorf("%w: %w", ErrFile, err)
	}
	var f File
	d := yaml.NewDecoder(strings.NewReader(string(raw)))
	d.KnownFields(true)
	if err := d.Decode(&f); err != nil {
		return File{}, fmt.Errorf("%w: %s: %s", ErrFile, path, strings.ReplaceAll(err.Error(), "\n", " "))
	}
	if len(f.Machines) == 0 {
		return File{}, fmt.Errorf("%w: %s lists no machines", ErrFile, path)
	}
	seen := map[string]bool{}
	for i := range f.Machines {
		m := &f.Machines[i]
		switch {
		case !names.MatchString(m.Name):
			return File{}, fmt.Errorf("%w: machine %d: name %q: give letters, digits, dots, dashes", ErrFile, i+1, m.Name)
		case seen[m.Name]:
			return File{}, fmt.Errorf("%w: two machines are called %s", ErrFile, m.Name)
		case (m.SSH == "") == (len(m.Through) == 0):
			return File{}, fmt.Errorf("%w: %s: say how it is reached, by ssh or through", ErrFile, m.Name)
		case strings.HasPrefix(m.SSH, "-"):
			return File{}, fmt.Errorf("%w: %s: ssh: %q is an option, not a host", ErrFile, m.Name, m.SSH)
		}
		seen[m.Name] = true
		m.Settings = m.or(f.Defaults)
	}
	return f, nil
}

// Only keeps the named machines; all of them for no names. Error: ErrFile for a name that is not there.
func (f File) Only(wanted []string) ([]Machine, error) {
	if len(wanted) == 0 {
		return f.Machines, nil
	}
	byName := map[string]Machine{}
	for _, m := range f.Machines {
		byName[m.Name] = m
	}
	var out []Machine
	for _, name := range wanted {
		m, ok := byName[name]
		if !ok {
			return nil, fmt.Errorf("%w: no machine is called %s", ErrFile, name)
		}
		out = append(out, m)
	}
	return out, nil
}

// or takes the defaults for what is empty.
func (s Settings) or(d Settings) Settings {
	for _, p := range []struct{ own, other *string }{
		{&s.URL, &d.URL},
		{&s.WS, &d.WS},
		{&s.Region, &d.Region},
		{&s.Site, &d.Site},
		{&s.Price, &d.Price},
		{&s.Hours, &d.Hours},
		{&s.TimeZone, &d.TimeZone},
		{&s.Inventory, &d.Inventory},
	} {
		if *p.own == "" {
			*p.own = *p.other
		}
	}
	if len(s.Accept) == 0 {
		s.Accept = d.Accept
	}
	return s
}

// Flags are the settings as `gantry-agent enrol` takes them.
func (s Settings) Flags() []string {
	var out []string
	for _, f := range [][2]string{
		{"--url", s.URL},
		{"--ws", s.WS},
		{"--region", s.Region},
		{"--site", s.Site},
		{"--price", s.Price},
		{"--hours", s.Hours},
		{"--time-zone", s.TimeZone},
		{"--inventory", s.Inventory},
	} {
		if f[1] != "" {
			out = append(out, f[0], f[1])
		}
	}
	for _, check := range s.Accept {
		out = append(out, "--accept", check)
	}
	return out
}
