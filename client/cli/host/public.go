package host

import (
	"fmt"
	"io"

	"github.com/gantry-market/gantry/client/server"
)

// servePublic shows the market to everyone.
func (s *session) servePublic() error {
	root, err := s.StateRoot()
	if err != nil {
		return err
	}
	return server.ServePublic(s.Context, server.PublicOptions{
		Client: s.Client, Service: s.Service, Root: root, Listening: s.listening(), Log: s.Log,
		Serving: func(url string) error {
			return s.Done(map[string]string{"url": url}, func(w io.Writer) {
				fmt.Fprintf(w, "serving   %s to everyone: the market, without accounts and without a key\n", url)
			})
		},
	})
}
