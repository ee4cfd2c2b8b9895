package terminal

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gantry-market/gantry/client/catalogue"
	"github.com/gantry-market/gantry/client/template"
)

// WriteModels writes models of the catalogue.
func WriteModels(w *Page, all []catalogue.Listed) {
	heads, fits := "MODEL|DOES|>PARAMETERS~3|>CONTEXT~4|MEMORY OF GPUS, GiB|LICENCE~2", false
	rows := make([][]string, len(all))
	for i := range all {
		m := &all[i]
		var needs []string
		for _, v := range m.Variants {
			needs = append(needs, v.Quantisation+" "+memoryOf(&v))
		}
		rows[i] = []string{m.Name, doesOf(m.OpenModel), parametersOf(m.Parameters), contextOf(m.Context), strings.Join(needs, ", "), m.Licence}
		if len(m.Fits) > 0 {
			fits = true
			rows[i] = append(rows[i], fmt.Sprint(m.Fits[0].Free), cmp.Or(m.Fits[0].From, "-"))
		}
	}
	if fits {
		heads += "|>FREE|>$/GPU-H FROM~1"
	}
	w.Table(heads, rows)
	w.Hint("run one: gantry deploy --model MODEL   more of one: gantry models show MODEL")
}

// WriteModel writes one model, with the commands that run a variant of it.
func WriteModel(w *Page, m *catalogue.Shown) {
	fmt.Fprintf(w, "%s   %s\n", m.Name, doesOf(m.OpenModel))
	fmt.Fprintf(w, "card        https://huggingface.co/%s\nlicence     %s\nparameters  %s\n", m.ID, m.Licence, parametersOf(m.Parameters))
	if m.Context > 0 {
		fmt.Fprintf(w, "context     %d tokens; an order asks memory for %d of them\n", m.Context, min(m.Context, catalogue.ServedTokens))
	}
	rows := make([][]string, len(m.Variants))
	heads := "QUANTISATION|TEMPLATE|>WEIGHTS|>GPUS|>MEMORY OF EACH|GATED"
	for i := range m.Variants {
		x := &m.Variants[i]
		gated := "no"
		if x.Gated {
			gated = "yes"
		}
		rows[i] = []string{x.Quantisation, x.Template, fmt.Sprintf("%.3g GB", x.Gigabytes), fmt.Sprint(x.GPUs), fmt.Sprintf("%d GiB", x.MemoryGiB), gated}
		if len(m.Fits) > i {
			rows[i] = append(rows[i], fmt.Sprint(m.Fits[i].Free), cmp.Or(m.Fits[i].From, "-"))
		}
	}
	if len(m.Fits) > 0 {
		heads += "|>FREE|>$/GPU-H FROM"
	}
	fmt.Fprintln(w)
	w.Table(heads, rows)
	fmt.Fprintln(w)
	if m.Gated {
		w.Hang("", "Gated: accept the licence at the card's address, and put a token of the Hugging Face hub into HF_TOKEN.")
	}
	for _, c := range m.Commands {
		w.Hang("", c.What+": "+c.Line)
	}
}

func doesOf(m *catalogue.OpenModel) string {
	words := make([]string, len(m.Does))
	for i, u := range m.Does {
		words[i] = string(u)
	}
	return strings.Join(words, ", ")
}

// memoryOf is the memory of each GPU, with how many there are if more than one.
func memoryOf(v *catalogue.Variant) string {
	if v.GPUs > 1 {
		return fmt.Sprintf("%d×%d", v.GPUs, v.MemoryGiB)
	}
	return fmt.Sprint(v.MemoryGiB)
}

func parametersOf(billions float64) string {
	if billions < 1 {
		return fmt.Sprintf("%.3gM", billions*1000)
	}
	return fmt.Sprintf("%.3gB", billions)
}

func contextOf(tokens uint32) string {
	if tokens == 0 {
		return "-"
	}
	return fmt.Sprint(tokens)
}

// WriteTemplates writes templates.
func WriteTemplates(w *Page, all template.Set) {
	rows := make([][]string, len(all))
	for i, t := range all {
		rows[i] = []string{t.Name, t.Title, fmt.Sprintf("%d, %d GiB", t.GPU.Count, t.GPU.MemoryGiB), t.TryCost()}
	}
	w.Table("NAME|WHAT|GPUS|>TRY IT FOR AT MOST", rows)
}

// WriteTemplate writes what a template runs, and its parameters.
func WriteTemplate(w *Page, t *template.Template) {
	fmt.Fprintf(w, "%s   %s\n%s\n\n", t.Name, t.Title, t.Description)
	w.Hang("image     ", t.Image+" (its digest is resolved before an order)")
	var words []string
	for _, a := range t.Command {
		text := strings.Join(a.Args, " ")
		if a.When != "" {
			text = "[" + text + "]"
		}
		words = append(words, text)
	}
	if len(words) > 0 {
		w.Hang("arguments ", strings.Join(words, " "))
	}
	for _, p := range t.Ports {
		fmt.Fprintf(w, "port      %d (%s): gantry port LEASE %d\n", p.Port, p.Name, p.Port)
	}
	if h := t.Health; h != nil {
		fmt.Fprintf(w, "serves    when %s at port %d answers, within %s\n", h.Path, h.Port, time.Duration(h.Deadline))
	}
	if t.Volume != "" {
		fmt.Fprintf(w, "volume    %s\n", t.Volume)
	}
	fmt.Fprintf(w, "needs     %d GPU with %d GiB or more\ntry it    %s at most\n", t.GPU.Count, t.GPU.MemoryGiB, t.TryCost())
	for _, source := range t.Sources {
		fmt.Fprintf(w, "source    %s\n", source)
	}
	if len(t.Parameters) > 0 {
		fmt.Fprintln(w)
		rows := [][]string{}
		for _, key := range slices.Sorted(maps.Keys(t.Parameters)) {
			p := t.Parameters[key]
			rows = append(rows, []string{key, string(p.Type), p.Shown(), p.Description})
		}
		w.Table("PARAMETER|TYPE|DEFAULT|WHAT", rows)
	}
}
