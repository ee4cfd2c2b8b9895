package catalogue

import (
	"fmt"
	"strings"

	"github.com/gantry-market/gantry/client/template"
)

// Command is a command line of gantry, ready to copy.
type Command struct {
	What string `json:"what" doc:"What it does"`
	Line string `json:"command"`
}

// CommandLines are those that run a variant of a model, by the template that Template has made of it.
func (m *OpenModel) CommandLines(v *Variant, t *template.Template) []Command {
	name := m.Name
	if v != &m.Variants[0] {
		name += ":" + v.Quantisation
	}
	token := ""
	if v.Gated {
		token = ` --set ` + hubToken + `="$HF_TOKEN"`
	}
	out := []Command{{"run it on a lease", "gantry deploy --model " + name + token + " --hours 1"}}
	if t.OpenAI != nil {
		deployment := strings.ToLower(strings.ReplaceAll(name, ":", "-"))
		out = append(out, Command{"serve it with gantry serve", "gantry deployments create " + deployment + " --model " + name + token})
	}
	for _, f := range v.Files {
		out = append(out, Command{"then fetch", fmt.Sprintf("gantry exec LEASE -- wget -P %s %s", f.Folder, f.URL)})
	}
	if len(v.Files) > 0 && len(t.Ports) > 0 {
		out = append(out, Command{"then open", fmt.Sprintf("gantry port LEASE %d", t.Ports[0].Port)})
	}
	return out
}
