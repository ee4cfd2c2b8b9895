//go:build !windows

package container

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// watchWindow calls changed when the terminal's window has another size, until ctx ends.
func watchWindow(ctx context.Context, changed func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGWINCH)
	defer signal.Stop(signals)
	changed() // it may have changed before
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
			changed()
		}
	}
}
