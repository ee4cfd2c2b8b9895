package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gantry-market/gantry/agent/faults"
	"github.com/gantry-market/gantry/agent/offer"
	"github.com/gantry-market/gantry/internal/alert"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/todo"
)

const (
	// noticesEvery is the time between two looks at what needs a person.
	noticesEvery = 5 * time.Second
	// chainFaultsEvery is the time between two reads of the faults that the chain has of the node.
	chainFaultsEvery = time.Minute
	// notOfferingFor is how long a machine must take no new leases before a person is told.
	notOfferingFor = 10 * time.Minute
	// lastNotice bounds the delivery of why the agent stops.
	lastNotice = 15 * time.Second
)

// groupNode is the group of the notices about this node.
const groupNode = "node"

// NoticeSource names this agent in notices.
func NoticeSource() string { return alert.Source("gantry-agent") }

// openNotices makes the sender of notices for people, where a target is configured.
func (a *Agent) openNotices() (err error) {
	if len(a.targets) == 0 {
		return nil
	}
	a.notices, err = alert.New(alert.Options{
		Targets: a.targets, Memory: a.store.Notices(), Source: NoticeSource(), Log: a.log.With().Str("part", "notices").Logger(),
	})
	return err
}

// noteStop tells a person why the agent stops, once a day at most: a service manager may start it again and again.
func (a *Agent) noteStop(ctx context.Context, err error) {
	if a.notices == nil || err == nil || ctx.Err() != nil || errors.Is(err, ErrClosed) {
		return
	}
	a.notices.Event(alert.Notice{
		Key: "stopped/" + time.Now().UTC().Format(time.DateOnly), Subject: "The agent has stopped", Severity: alert.Critical,
		Text: err.Error() + "\n\nTo do: gantry-agent doctor",
	})
	ctx, cancel := context.WithTimeout(ctx, lastNotice)
	defer cancel()
	a.notices.Flush(ctx)
}

// followNotices tells people what needs them, until ctx ends.
func (a *Agent) followNotices(ctx context.Context) error {
	tick := time.NewTicker(noticesEvery)
	defer tick.Stop()
	var slashes []market.Fault
	var read time.Time
	for {
		node, ok := a.view.Node(a.node)
		if ok {
			switch {
			case node.PendingFaults == 0:
				slashes = nil
			case time.Since(read) >= chainFaultsEvery:
				read = time.Now()
				found, err := query.Select[market.Fault](ctx, a.client, query.FaultsAt(a.node), chain.Confirmed)
				if err == nil { // an error is tried again
					slashes = found
				}
			}
			a.notices.Standing(groupNode, notices(a.noticeFacts(node, slashes)))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// noticeFacts are what the notices of an agent rest on.
type noticeFacts struct {
	broken         []faults.Fault
	silent, fabric string // which GPU does not answer, and what is wrong with the NVSwitches; empty for nothing
	todo           []todo.ToDo
	offer          offer.State
	idle           string // what is wrong with the owner's job; empty for nothing
	notReady       []string
	disputes       []market.Dispute
	balance        *chain.Lamports // of the machine's key; nil while it is unknown
	nodeKey        string
}

func (a *Agent) noticeFacts(node market.Node, slashes []market.Fault) noticeFacts {
	f := noticeFacts{
		broken: a.faults.All(faults.Broken), silent: a.silentGPU(), offer: a.offer.State(), notReady: a.ready(),
		balance: a.balance.Load(), nodeKey: a.key.PublicKey().String(),
	}
	if why := a.fabric.Load(); why != nil {
		f.fabric = *why
	}
	if s := a.idleState(); s != nil {
		f.idle = s.Broken()
	}
	provider, ok := a.view.Provider(node.Provider)
	if ok {
		f.todo = todo.Of(&node, &provider, slashes, a.view.LeasesOfNode(a.node), a.clock.Now().Unix())
	}
	for _, d := range a.view.Disputes() {
		if d.Node == a.node {
			f.disputes = append(f.disputes, d)
		}
	}
	return f
}

// subjects are those of what the chain knows. What the owner has done is not among them.
var subjects = map[string]alert.Notice{
	todo.Fault:     {Subject: "Stake is slashed", Severity: alert.Critical},
	todo.Suspended: {Subject: "The node is suspended", Severity: alert.Critical},
	todo.Stake:     {Subject: "The stake is too low", Severity: alert.Critical},
	todo.Unhealthy: {Subject: "Keepers report the machine as unhealthy", Severity: alert.Critical},
	todo.Slow:      {Subject: "The GPUs are too slow for their class", Severity: alert.Warning},
	todo.Repriced:  {Subject: "The price of a lease has fallen", Severity: alert.Info},
}

// notices says what needs a person. It is pure.
func notices(f noticeFacts) []alert.Notice {
	var out []alert.Notice
	add := func(s alert.Severity, key, subject, text string) {
		out = append(out, alert.Notice{Key: key, Subject: subject, Text: text, Severity: s})
	}
	for _, b := range f.broken {
		add(alert.Critical, fmt.Sprintf("gpu/%d/%d", b.GPU, b.Code), fmt.Sprintf("GPU %d has a fault", b.GPU), b.String()+"\n\nTo do: "+b.Next())
	}
	if f.silent != "" {
		add(alert.Critical, "gpu-silent", "A GPU does not answer", f.silent)
	}
	if f.fabric != "" {
		add(alert.Critical, "nvswitch", "The NVSwitches have a fault", f.fabric)
	}
	for _, d := range f.todo {
		if n, ok := subjects[d.Kind]; ok {
			add(n.Severity, d.Key, n.Subject, d.What+"\n\nTo do: "+d.Do)
		}
	}
	wanted := f.offer.Reason == offer.Hours || f.offer.Reason == offer.Used // by the owner
	if len(out) == 0 && !wanted && (!f.offer.Offering || len(f.notReady) > 0) {
		why := f.notReady
		if !f.offer.Offering {
			why = append(why[:len(why):len(why)], f.offer.Text)
		}
		add(alert.Warning, "not-offering", "The machine takes no new leases", strings.Join(why, "\n")+"\n\nTo do: gantry-agent status")
		out[len(out)-1].After = notOfferingFor
	}
	for _, d := range f.disputes {
		add(alert.Warning, fmt.Sprintf("dispute/%s/%d", d.Lease, d.OpenedAt), "A customer disputes a lease", fmt.Sprintf(
			"Lease %s: %s. Keepers vote until %s UTC.\n\nTo do: gantry dispute read %s, then gantry dispute answer %s",
			d.Lease, market.DisputeKind(d.Kind), time.Unix(d.ClosesAt, 0).UTC().Format("2006-01-02 15:04"), d.Lease, d.Lease))
	}
	if f.idle != "" {
		add(alert.Warning, "idle", "The idle job does not run", f.idle+"\n\nTo do: gantry-agent idle logs")
	}
	if f.balance != nil && *f.balance < balanceLow {
		add(alert.Warning, "balance", "The machine's key runs out of SOL", fmt.Sprintf("It has %s for fees.\n\nTo do: send some SOL to %s", f.balance, f.nodeKey))
	}
	return out
}
