package host

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/server"
)

// publicJSON is what serve --public prints when it answers.
type publicJSON struct {
	URL string `json:"url"`
}

func (j publicJSON) print(w io.Writer) {
	fmt.Fprintf(w, "serving   %s to everyone: the market, without accounts and without a key\n", j.URL)
}

// servePublic shows the market to everyone.
func (s *session) servePublic() (err error) {
	root, err := s.StateRoot()
	if err != nil {
		return err
	}
	o, closed, err := server.Public(s.Context, s.Client, s.Service, root, s.Log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closed()) }()
	o.Hosts = s.CLI.StringSlice("host")
	ctx, cancel := context.WithCancel(s.Context)
	wait := s.Service.Keep(ctx)
	defer func() {
		cancel()
		wait()
	}()
	// What it tells is public, and it is told nothing: plain HTTP is allowed on any address.
	l, err := s.listen(true, "")
	if err != nil {
		return err
	}
	out := publicJSON{URL: s.listening().URL(l)}
	if err := s.Done(out, out.print); err != nil {
		return errors.Join(err, l.Close())
	}
	return serve.New(o).Serve(s.Context, l)
}
