package terminal

import (
	"fmt"

	"github.com/gantry-market/gantry/client/service"
)

// WriteWhy writes why an order or a lease is as it is, with the exit code of a lease's job where this computer knows it.
func WriteWhy(w *Page, y *service.Why, exitCode *int) {
	fmt.Fprintf(w, "%s %s: %s\n%s\n", y.Kind, y.Address, y.Reason, y.Says)
	if exitCode != nil {
		fmt.Fprintf(w, "the job's exit code: %d; its output: gantry logs %s\n", *exitCode, y.Address)
	}
	if y.Attestation != nil {
		fmt.Fprint(w, "its machine ")
		y.Attestation.Write(w)
	}
	for _, u := range y.Unserved {
		fmt.Fprintf(w, "  lease %s: %s\n", u.Lease, u.Why)
	}
	if y.Advice != "" {
		fmt.Fprintln(w, y.Advice)
	}
}
