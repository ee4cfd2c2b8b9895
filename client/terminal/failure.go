package terminal

import "github.com/gantry-market/gantry/client/service"

// WriteFailure writes "error: …" and the advice below it. An interruption is what somebody wanted, not an error.
func WriteFailure(w *Page, f *service.Failure) {
	prefix := "error: "
	if f.Code == service.CodeInterrupted {
		prefix = ""
	}
	w.HangAll(prefix, f.Reason)
	if f.Advice != "" {
		w.HangAll("       ", f.Advice)
	}
}
