package server

import (
	"context"

	"github.com/rs/zerolog"

	systemd "github.com/gantry-market/gantry/internal/service"
)

// tellSystemd says that the server serves, and that it ends when ctx does. The caller has read the chain. The watchdog is told nothing:
// a server has no loop that is its main one.
func tellSystemd(ctx context.Context, log zerolog.Logger) (done func(), err error) {
	manager, err := systemd.FromEnv()
	if err != nil {
		return nil, err
	}
	s := systemd.New(manager, nil, log)
	s.Ready()
	stop := context.AfterFunc(ctx, s.Stopping)
	return func() { stop() }, nil
}
