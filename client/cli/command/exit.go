package command

import (
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/market"
)

// printFailure shows an error to a person.
func (s Streams) printFailure(f *service.Failure) {
	people := func(w *terminal.Page) { terminal.WriteFailure(w, f) }
	if s.Failures != nil {
		s.Failures(people)
	}
	p := terminal.NewPage(s.Err)
	if s.OnErr.Live {
		p = terminal.NewScreen(s.OnErr)
	}
	people(p)
	_ = p.Close() // nobody can be told
}

// failureJSON is the document that -o json and -o yaml print instead of a result.
type failureJSON struct {
	Error struct {
		Reason  string `json:"reason"`
		Advice  string `json:"advice,omitempty"`
		Exit    int    `json:"exit"`
		Program string `json:"program,omitempty"` // name of the program's error
		Code    uint32 `json:"code,omitempty"`    // number of the program's error
	} `json:"error"`
}

func describeFailure(f *service.Failure) failureJSON {
	var out failureJSON
	out.Error.Reason, out.Error.Advice, out.Error.Exit = f.Reason, f.Advice, f.Code
	if f.Cause != nil {
		if code, ok := market.CodeOf(f.Cause); ok {
			out.Error.Program, out.Error.Code = code.Name(), uint32(code)
		}
	}
	return out
}
