package nat

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gantry-market/gantry/internal/wait"
)

// Run builds each pair of routers and checks what must hold there. It prints a line for each result.
// Error: ErrUnavailable, or what did not hold.
func Run(ctx context.Context, o Options) ([]Result, error) {
	if why := missing(); why != "" {
		return nil, fmt.Errorf("%w: %s", ErrUnavailable, why)
	}
	var out []Result
	for _, s := range scenarios {
		if o.Only != "" && o.Only != s.name {
			continue
		}
		fmt.Fprintf(o.Out, "\n%s (the node's router: %s, the customer's: %s)\n", s.name, s.node, s.customer)
		r, err := s.run(ctx, o)
		if err != nil {
			return out, fmt.Errorf("%s: %w", s.name, err)
		}
		out = append(out, r)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no scenario %q", o.Only)
	}
	return out, nil
}

type scenario struct {
	name           string
	node, customer Router
	want           string // the path in the end
}

var scenarios = []scenario{
	{"holes", Cone, Cone, "direct"},
	{"holes without UDP", NoUDP, NoUDP, "direct"},
	{"symmetric node", Symmetric, Cone, "relayed"},
	{"symmetric both", Symmetric, Symmetric, "relayed"},
}

const (
	logsBytes = 4 << 20
	// upgradeLimit is how long an upgrade may take; stayFor how long no upgrade is waited for where none can be.
	upgradeLimit = 40 * time.Second
	stayFor      = 8 * time.Second
)

func (s scenario) run(ctx context.Context, o Options) (_ Result, err error) {
	r := Result{Name: s.name, NodeRouter: s.node, CustomerRouter: s.customer}
	say := func(format string, args ...any) { fmt.Fprintf(o.Out, "  "+format+"\n", args...) }
	w, err := build(ctx, o, s.node, s.customer)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, w.close()) }()

	a, took, err := w.node.until(ctx, 30*time.Second, ask{Do: "state"}, func(a answer) bool { return a.Reservations > 0 })
	if err != nil {
		return r, err
	}
	r.Reserved = took
	say("the node has no inbound port; it holds a reservation at %d keeper(s) after %s", a.Reservations, ms(took))

	// The relay alone: this customer punches no holes.
	relayed, err := w.customer(ctx, "customer (relay only)", true)
	if err != nil {
		return r, err
	}
	if _, r.Found, err = relayed.until(ctx, 20*time.Second, ask{Do: "find", Peer: w.node.key}, func(a answer) bool { return a.Path != "not connected" }); err != nil {
		return r, err
	}
	if r.Relayed, err = w.measure(relayed, "relayed"); err != nil {
		return r, err
	}
	say("a customer behind the other router finds it through a keeper's lookup and reaches it after %s, relayed", ms(r.Found))
	say("relayed: %s", r.Relayed)
	if err := relayed.end(false); err != nil {
		return r, err
	}

	// The same with hole punching, as customers run.
	c, err := w.customer(ctx, "customer", false)
	if err != nil {
		return r, err
	}
	if _, _, err = c.until(ctx, 20*time.Second, ask{Do: "find", Peer: w.node.key}, func(a answer) bool { return a.Path != "not connected" }); err != nil {
		return r, err
	}
	if s.want == "direct" {
		if a, r.Upgraded, err = c.until(ctx, upgradeLimit, ask{Do: "state", Peer: w.node.key}, func(a answer) bool { return a.Path == "direct" }); err != nil {
			return r, err
		}
		say("hole punched %s later: %v", ms(r.Upgraded), a.Via)
	} else {
		say("no hole can be punched between these routers; %s are given to it", stayFor)
		if err := w.stays(ctx, c, s.want); err != nil {
			return r, err
		}
	}
	if r.Final, err = w.measure(c, s.want); err != nil {
		return r, err
	}
	say("%s: %s", s.want, r.Final)
	if s.want == "direct" {
		if share := float64(r.Final.Keepers) / logsBytes; share > 0.05 {
			return r, fmt.Errorf("keepers still carry %.0f %% of what is sent directly", 100*share)
		}
		if 2*r.Final.RoundTrip > r.Relayed.RoundTrip {
			return r, fmt.Errorf("direct takes %s, relayed %s: the direct path must take at most half as long", r.Final.RoundTrip, r.Relayed.RoundTrip)
		}
		return r, nil
	}
	return r, w.survive(ctx, c, &r, say)
}

// measure sends pings, then output of a job, and counts what keepers carry of it.
func (w *testbed) measure(c *child, want string) (m Measure, err error) {
	a, err := c.send(ask{Do: "ping", Peer: w.node.key, Count: pings})
	if err != nil {
		return m, err
	}
	m.RoundTrip = a.Median
	before := w.carried()
	if a, err = c.send(ask{Do: "logs", Peer: w.node.key, Bytes: logsBytes}); err != nil {
		return m, err
	}
	m.Logs, m.Bytes, m.Keepers = a.Took, a.Bytes, w.carried()-before
	if a.Path != want {
		return m, fmt.Errorf("the path is %s, not %s: %v", a.Path, want, a.Via)
	}
	return m, nil
}

// stays checks that the path does not change.
func (w *testbed) stays(ctx context.Context, c *child, want string) error {
	for end := time.Now().Add(stayFor); time.Now().Before(end); {
		a, err := c.send(ask{Do: "state", Peer: w.node.key})
		if err != nil {
			return err
		}
		if a.Path != want {
			return fmt.Errorf("the path is %s, not %s: %v", a.Path, want, a.Via)
		}
		if err := wait.For(ctx, 250*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// survive kills the keeper that carries the customer's circuit, and sees that the node is reached through another.
func (w *testbed) survive(ctx context.Context, c *child, r *Result, say func(string, ...any)) error {
	for i, k := range w.running {
		a, err := k.send(ask{Do: "state"})
		if err != nil {
			return err
		}
		if a.Carried == 0 {
			continue
		}
		if err := k.end(true); err != nil {
			return err
		}
		began := time.Now()
		_, _, err = c.until(ctx, 60*time.Second, ask{Do: "find", Peer: w.node.key}, func(a answer) bool { return a.Path == "relayed" })
		if err != nil {
			return err
		}
		for {
			if _, err = c.send(ask{Do: "logs", Peer: w.node.key, Bytes: 1 << 20}); err == nil {
				break
			}
			if time.Since(began) > time.Minute {
				return fmt.Errorf("not reached through another keeper: %w", err)
			}
			if _, _, err = c.until(ctx, 60*time.Second, ask{Do: "find", Peer: w.node.key}, func(a answer) bool { return a.Path == "relayed" }); err != nil {
				return err
			}
		}
		r.Recovered = time.Since(began)
		say("keeper %d, which carried the circuit, was killed; 1 MiB of output came through another after %s", i+1, ms(r.Recovered))
		return nil
	}
	return errors.New("no keeper carries a circuit")
}
