package container

import (
	"context"
	"time"
)

// lookEvery is how often a window is looked at: Windows sends no signal when its size changes.
const lookEvery = 250 * time.Millisecond

// watchWindow calls changed when the terminal's window may have another size, until ctx ends.
func watchWindow(ctx context.Context, changed func()) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			changed()
		}
	}
}
