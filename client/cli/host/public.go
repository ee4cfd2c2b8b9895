package host

import (
	"fmt"

	"github.com/gantry-market/gantry/client/server"
	"github.com/gantry-market/gantry/client/terminal"
)

// servePublic shows the market to everyone.
func (s *session) servePublic() error {
	root, err := s.StateRoot()
	if err != nil {
		return err
	}
	base, err := s.PublicURL()
	if err != nil {
		return err
	}
	return server.ServePublic(s.Context, server.PublicOptions{
		Client: s.Client, Service: s.Service, Root: root, Listening: s.listening(), Base: base, Sender: s.Unsigned(), Figures: s.figures(), Log: s.Log,
		Serving: func(url string) error {
			return s.Done(map[string]string{"url": url}, func(w *terminal.Page) {
				fmt.Fprintf(w, "serving   %s to everyone: the market, without accounts and without a key\n", url)
			})
		},
	})
}
