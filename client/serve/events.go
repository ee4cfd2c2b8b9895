package serve

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

const (
	kindLease   = "lease"
	kindOrder   = "order"
	kindCredits = "credits"

	changeChanged = "changed"
	changeGone    = "gone"

	eventsPath = "/v1/events"
	// eventsAtOnce is how many events are read from the file at once.
	eventsAtOnce = 256
	// nodeWithin is how long a lease that is new waits for its node, whose model its document names.
	nodeWithin = 2 * time.Second
	// againAfter is how long a write that failed waits before it is tried again.
	againAfter = time.Second
)

// feed writes the changes of a customer's accounts to its events.
type feed struct {
	s   *Server
	v   *view.View
	now func() time.Time
}

// keepEvents keeps the customer's accounts in memory and writes their changes down until ctx ends or end is called, which
// waits.
func (s *Server) keepEvents(ctx context.Context) (end func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	v, unfollow, err := s.o.Service.Follow(ctx, s.o.Customer, s.o.Events.known)
	if err != nil {
		cancel()
		return nil, err
	}
	sub := v.Subscribe(false)
	f := &feed{s: s, v: v, now: func() time.Time { return s.o.Service.Clock.Latest(ctx) }}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer sub.Close()
		f.run(ctx, sub)
	}()
	return func() {
		cancel()
		<-done
		unfollow()
	}, nil
}

// run notes what has changed while no server ran, and then every change.
func (f *feed) run(ctx context.Context, sub *view.Subscription) {
	if f.v.Ready(ctx) != nil {
		return
	}
	f.s.o.Metrics.follow(f)
	f.try(ctx, func() error { return f.all(ctx) })
	for {
		c, err := sub.Next(ctx)
		if err != nil {
			return
		}
		value := c.After
		if value == nil {
			value = c.Before
		}
		if _, mine := f.account(value); !mine {
			continue
		}
		if l, ok := c.After.(*market.Lease); ok {
			f.awaitNode(ctx, l)
		}
		f.try(ctx, func() error {
			s, err := f.sight(c.Address, value, c.After == nil)
			if err != nil {
				return err
			}
			return f.s.o.Events.note(s)
		})
	}
}

// try writes until it succeeds: an event that is left out would be missed.
func (f *feed) try(ctx context.Context, write func() error) {
	for {
		err := write()
		if err == nil {
			return
		}
		f.s.o.Log.Error().Err(err).Msg("what has changed cannot be written down; the server tries again")
		if wait.For(ctx, againAfter) != nil {
			return
		}
	}
}

// all notes all accounts as they are now, and those that are gone. Those that were there before and are not shown now
// are asked themselves: the lists of an endpoint may be incomplete.
func (f *feed) all(ctx context.Context) error {
	values := map[solana.PublicKey]any{}
	f.v.Read(func(a *view.Accounts) {
		for key, l := range a.Leases {
			values[key] = l
		}
		for key, o := range a.Orders {
			values[key] = o
		}
		for _, c := range a.Credits {
			values[c.Address] = c
		}
	})
	var there []sight
	for key, value := range values {
		if _, mine := f.account(value); !mine {
			continue
		}
		s, err := f.sight(key, value, false)
		if err != nil {
			return err
		}
		there = append(there, s)
	}
	missing, err := f.s.o.Events.missing(there, f.now().Unix())
	if err != nil || len(missing) == 0 {
		return errors.Join(err, f.s.o.Events.note(there...))
	}
	keys := make([]solana.PublicKey, len(missing))
	for i := range missing {
		keys[i] = missing[i].address
	}
	gone, err := f.s.o.Service.Gone(ctx, keys)
	if err != nil {
		return fmt.Errorf("accounts that were there before: %w", err)
	}
	for i := range missing {
		if slices.Contains(gone, missing[i].address) {
			there = append(there, missing[i])
		}
	}
	return f.s.o.Events.note(there...)
}

// account is what an account says, without where and when it was read; mine reports whether it is the customer's.
func (f *feed) account(value any) (says any, mine bool) {
	switch a := value.(type) {
	case *market.Lease:
		return &a.Lease, a.Customer == f.s.o.Customer
	case *market.Order:
		return &a.Order, a.Customer == f.s.o.Customer
	case *market.Credits:
		return &a.Credits, a.Credits.Customer == f.s.o.Customer
	}
	return nil, false
}

// sight is the event of an account as it is, or was before it was gone.
func (f *feed) sight(key solana.PublicKey, value any, gone bool) (sight, error) {
	now := f.now().Unix()
	s := sight{address: key, event: Event{Change: changeChanged, Address: key.String(), At: now}}
	if gone {
		s.event.Change = changeGone
	} else {
		says, _ := f.account(value)
		raw, err := json.Marshal(says)
		if err != nil {
			return s, fmt.Errorf("account %s: %w", key, err)
		}
		s.hash = sha256.Sum256(raw)
	}
	switch a := value.(type) {
	case *market.Lease:
		l := service.DescribeLease(f.v, a, now)
		s.event.Kind, s.event.Lease = kindLease, &l
	case *market.Order:
		o := service.DescribeOrder(f.v, a)
		s.event.Kind, s.event.Order = kindOrder, &o
	case *market.Credits:
		c := service.DescribeCredits(a)
		s.event.Kind, s.event.Credits = kindCredits, &c
	}
	return s, nil
}

// awaitNode waits until the view has a lease's node.
func (f *feed) awaitNode(ctx context.Context, l *market.Lease) {
	ctx, cancel := context.WithTimeout(ctx, nodeWithin)
	defer cancel()
	_ = f.v.WaitFor(ctx, func(v *view.View) bool { // without it the document has no model
		n, ok := v.Node(l.Node)
		if ok {
			_, ok = v.Model(n.Spec.Model)
		}
		return ok
	})
}

type eventsInput struct {
	After string `query:"after" maxLength:"40" pattern:"^(0|[0-9a-f]{16}-[0-9]{1,20})$" doc:"Go on behind the event with this id; 0 begins with the oldest that is kept. Only new ones without it"`
	Last  string `header:"Last-Event-ID" maxLength:"40" pattern:"^[0-9a-f]{16}-[0-9]{1,20}$" doc:"As after, which it counts before"`
}

// Gap says that events are missing from a stream.
type Gap struct {
	Detail   string `json:"detail"`
	NextStep string `json:"nextStep"`
}

// registerEvents adds the operation.
func (s *Server) registerEvents(api huma.API) {
	op := read("list-events", eventsPath, "Changes of the customer's leases, orders and credits, as they come")
	op.Description = "Server-sent events: ready at first, then lease, order and credits with an Event. A stream that is opened again with Last-Event-ID continues " +
		"without a gap and without a repetition, also after a restart of the server, behind which changes of an account are one event. The last 10,000 events are kept: " +
		"gap says that events are missing; read the leases and orders then, and continue behind it."
	op.Errors = append(op.Errors, http.StatusServiceUnavailable)
	api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Event](), true, "")
	op.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
		"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}},
	}}}
	huma.Register(api, op, s.listEvents)
}

func (s *Server) listEvents(ctx context.Context, in *eventsInput) (*huma.StreamResponse, error) {
	e := s.o.Events
	if e == nil {
		return nil, problem(http.StatusServiceUnavailable, "this server keeps no events", "ask gantry serve")
	}
	first, last, _ := e.bounds()
	from := last
	gap := false
	switch id := firstOf(in.Last, in.After); id {
	case "":
	case "0":
		from = first - 1
	default:
		n, ours := e.number(id)
		if gap = !ours || n > last || n+1 < first; !gap {
			from = n
		}
	}
	ctx, done, err := s.streams.open(ctx)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(h huma.Context) {
		defer done()
		_, w := humago.Unwrap(h)
		out := newStream(w, done)
		defer out.beats(ctx)()
		if gap {
			_ = out.send("gap", e.id(from), Gap{"events behind the one that was named are not kept", "read /v1/leases and /v1/status, and continue behind this event"})
		} else {
			_ = out.send("ready", e.id(from), struct{}{})
		}
		s.sendEvents(ctx, out, from)
	}}, nil
}

// sendEvents streams events behind a number until ctx ends or the client is gone.
func (s *Server) sendEvents(ctx context.Context, out *stream, from uint64) {
	for out.err() == nil {
		first, last, changed := s.o.Events.bounds()
		if from+1 < first { // the client was slower than the events were
			from = last
			_ = out.send("gap", s.o.Events.id(from), Gap{"the client reads more slowly than events come", "read /v1/leases and /v1/status, and continue behind this event"})
			continue
		}
		events, err := s.o.Events.after(from, eventsAtOnce)
		if err != nil {
			_ = out.send("problem", "", failed(err))
			return
		}
		for i := range events {
			n, _ := s.o.Events.number(events[i].ID)
			if n != from+1 {
				break // those between are gone since
			}
			if out.send(events[i].Kind, events[i].ID, events[i]) != nil {
				return
			}
			from = n
		}
		if len(events) > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
