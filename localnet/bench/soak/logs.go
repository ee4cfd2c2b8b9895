package soak

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Complaint is a warning or an error that keepers wrote, once for all lines that say the same.
type Complaint struct {
	Level   string `json:"level"`
	Part    string `json:"part,omitempty"`
	Message string `json:"message"`
	Times   int    `json:"times"`
	// Example is the first line.
	Example string `json:"example"`
	// Why explains it; empty for an unexplained line.
	Why string `json:"why,omitempty"`
}

// explained are the messages of complaints that a healthy market makes, by how they begin.
var explained = []struct{ message, why string }{
	{"SIMULATION", "the GPUs of a local network are simulated, and every agent says so"},
	{"the node's status on chain has changed", "an agent logs it for its owner"},
	{
		"this machine's clock differs from the chain's",
		"a test validator on a busy computer makes slots more slowly than it should, so that its clock falls behind",
	},
	{"node is up and evades the question", lateWork},
}

const lateWork = "hundreds of machines share this computer's processors; a late proof is a failed check and no fault by itself"

// variable are the parts of a message that differ from line to line.
var variable = regexp.MustCompile(`[1-9A-HJ-NP-Za-km-z]{32,}|[0-9]+(\.[0-9]+)?`)

// ReadComplaints reads the warnings and errors of log files; lines that are no JSON, such as a crash's, count as errors.
func ReadComplaints(paths []string) ([]Complaint, error) {
	seen := map[string]*Complaint{}
	for _, path := range paths {
		f, err := os.Open(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("log: %w", err)
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			note(seen, lines.Text())
		}
		if err := errors.Join(lines.Err(), f.Close()); err != nil {
			return nil, fmt.Errorf("log %s: %w", path, err)
		}
	}
	out := make([]Complaint, 0, len(seen))
	for _, c := range seen {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b Complaint) int {
		if a.Times != b.Times {
			return b.Times - a.Times
		}
		return strings.Compare(a.Message+a.Example, b.Message+b.Example)
	})
	return out, nil
}

func note(seen map[string]*Complaint, line string) {
	if strings.TrimSpace(line) == "" {
		return
	}
	var l struct{ Level, Part, Message, Error string }
	if err := json.Unmarshal([]byte(line), &l); err != nil {
		l.Level, l.Message = "no log line", line
	}
	if l.Level == "info" || l.Level == "debug" || l.Level == "trace" {
		return
	}
	key := l.Level + l.Part + variable.ReplaceAllString(l.Message+l.Error, "…")
	c := seen[key]
	if c == nil {
		c = &Complaint{Level: l.Level, Part: l.Part, Message: l.Message, Example: line}
		for _, e := range explained {
			if strings.HasPrefix(l.Message, e.message) {
				c.Why = e.why
			}
		}
		seen[key] = c
	}
	c.Times++
}
