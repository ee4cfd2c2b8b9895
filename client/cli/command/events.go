package command

import (
	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/internal/screen"
	"github.com/gantry-market/gantry/sdk/browserwallet"
)

// Event prints a step of a purchase.
func (s *Session) Event(e buy.Event) {
	switch e := e.(type) {
	case buy.ReceiptSigned:
		s.Log.Debug().Stringer("lease", e.Lease).Uint64("seconds", e.Seconds).Msg("client signed a receipt")
	case buy.Simulated:
		s.simulated = &e
	default:
		if s.steps != nil {
			s.steps.Event(e)
			return
		}
		terminal.Lines{Say: s.Say, Pace: s.pace}.Event(e)
	}
}

// WaitingFor prints what a purchase waits for and how to interrupt it.
func (s *Session) WaitingFor(w buy.Wait) (stop func()) {
	if s.steps != nil {
		return s.steps.Waiting(w)
	}
	return s.waitingLines(w)
}

func (s *Session) waitingLines(w buy.Wait) (stop func()) {
	what, out := terminal.WaitText(w)
	return s.Waiting(what, out)
}

// ShowSteps shows the steps of a purchase in place until they are over, where a person looks at a terminal. Else, and where a browser or a
// log writes beside them, steps are plain lines.
func (s *Session) ShowSteps() {
	at := s.Streams.OnErr
	if !at.Live || !s.Terminal || s.Format.Document() || s.DryRun || s.CLI.Bool(FlagVerbose) || s.CLI.String(browserwallet.FlagName) != "" {
		return
	}
	s.steps = terminal.NewSteps(s.Context, at, terminal.Lines{Say: s.Say, Pace: s.pace}, s.waitingLines)
	s.Err = printable.Writer(s.steps)
	s.OnClose(func() { s.EndSteps(nil) })
}

// EndSteps leaves the steps of a purchase as they stand: it has ended, or its job writes from now on.
func (s *Session) EndSteps(err error) {
	if s.steps != nil {
		s.steps.End(err)
	}
}

// Plan says what a purchase will run, before its steps begin.
func (s *Session) Plan(r *buy.Request) {
	if s.steps != nil {
		s.steps.Plan(r)
	}
}

// Aside takes what is drawn in place off the terminal until more is drawn: for questions.
func (s *Session) Aside() {
	if s.steps != nil {
		s.steps.Aside()
	}
}

// Screen is where a person reads results: tables with bars are for it. ok is false for pipes, files and documents.
func (s *Session) Screen() (t screen.Terminal, ok bool) {
	return s.Streams.OnOut, s.Streams.OnOut.Live && !s.Format.Document()
}
