package command

import (
	"errors"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/browserwallet"
	"github.com/gantry-market/gantry/sdk/txm"
)

// openBrowser serves the page on which a wallet signs, and waits until one is connected.
func (s *Session) openBrowser() (txm.Signer, error) {
	w, err := browserwallet.FromFlag(s.Context, s.CLI.String(browserwallet.FlagName), s.Client, s.CLI.Command.HelpName, s.Err, s.Log)
	switch {
	case errors.Is(err, browserwallet.ErrFlag):
		return nil, service.Usage(err.Error(), "such as --sign-with browser")
	case s.Context.Err() != nil:
		return nil, service.Interrupted("interrupted before a wallet was connected", "nothing has changed")
	case err != nil:
		return nil, err
	}
	s.browser = w
	s.OnClose(w.Close)
	return w, nil
}
