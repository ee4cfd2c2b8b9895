package cli

import (
	"errors"

	"github.com/gantry-market/gantry/sdk/browserwallet"
	"github.com/gantry-market/gantry/sdk/txm"
)

// openBrowser serves the page on which a wallet signs, and waits until one is connected.
func (s *session) openBrowser() (txm.Signer, error) {
	w, err := browserwallet.FromFlag(s.ctx, s.cli.String(browserwallet.FlagName), s.client, s.cli.Command.HelpName, s.err, s.log)
	switch {
	case errors.Is(err, browserwallet.ErrFlag):
		return nil, usage(err.Error(), "such as --sign-with browser")
	case s.ctx.Err() != nil:
		return nil, interrupted("interrupted before a wallet was connected", "nothing has changed")
	case err != nil:
		return nil, err
	}
	s.browser = w
	s.closers = append(s.closers, w.Close)
	return w, nil
}
