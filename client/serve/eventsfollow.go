package serve

import (
	"context"
	"fmt"

	"github.com/gantry-market/gantry/internal/boltstore"
)

// Notices keeps which notices for people were sent.
func (e *Events) Notices() boltstore.Kept { return e.db.Kept("notices") }

// Each calls take for every event, the oldest first, until ctx ends. The file keeps under the name how far it came. The
// first call with a name begins with the next event.
func (e *Events) Each(ctx context.Context, name string, take func(Event)) error {
	kept := e.db.Kept("at " + name)
	raw, err := kept.Load()
	if err != nil {
		return fmt.Errorf("events: %w", err)
	}
	first, from, _ := e.bounds()
	if n, ours := e.number(string(raw)); ours {
		from = max(min(n, from), first-1)
	}
	for {
		if err := kept.Save([]byte(e.id(from))); err != nil {
			return fmt.Errorf("events: %w", err)
		}
		_, _, changed := e.bounds()
		events, err := e.after(from, eventsAtOnce)
		if err != nil {
			return fmt.Errorf("events: %w", err)
		}
		for i := range events {
			take(events[i])
			from, _ = e.number(events[i].ID)
		}
		if len(events) > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}
