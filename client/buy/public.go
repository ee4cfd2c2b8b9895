package buy

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/gantry-market/gantry/client/expose"
	"github.com/gantry-market/gantry/client/template"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// publicTime is how long a gateway may take to give a lease its addresses, from the lease's start on.
const publicTime = 45 * time.Second

// Public is what a gateway has given to ports of a lease, or why it has not.
type Public struct {
	Lease   string        `json:"lease"`
	Gateway string        `json:"gateway" doc:"As the order names it; its key where it was chosen"`
	Ports   []PublicPort  `json:"ports,omitempty"`
	Stays   bool          `json:"stays,omitempty" doc:"The addresses lead to the next machine if the lease moves"`
	Terms   *expose.Terms `json:"terms,omitempty" doc:"Of a gateway that asks a price for what it relays"`
	Failed  string        `json:"failed,omitempty" doc:"Why the gateway has given no addresses; the lease still runs"`
}

// PublicPort is a port that anybody reaches.
type PublicPort struct {
	template.Port

	URL string `json:"url" doc:"Its address, https"`
}

// Events of a gateway.
type (
	// Exposed: ports of a lease have public addresses.
	Exposed struct {
		Lease market.Lease
		expose.Opened
	}
	// NotExposed: the gateway has given none. The lease still runs.
	NotExposed struct {
		Lease   market.Lease
		Gateway string
		Err     error
	}
)

func (Exposed) event()    {}
func (NotExposed) event() {}

// checkPublic checks what a gateway is to make public.
func (r *Request) checkPublic() error {
	switch {
	case len(r.Public) == 0 && r.Gateway == "":
		return nil
	case len(r.Public) == 0:
		return usage("--via gives public addresses to ports, and no port is named", "name one, such as --port 8888")
	case r.Image == "" && r.Restore == "":
		return usage("public addresses are for containers", "name an --image, or leave --port out")
	case r.Redundancy != 0 || r.Rerun != "":
		return usage("outputs that are compared are made without visitors", "leave --port out")
	}
	if r.Gateway != "" {
		if err := expose.CheckVia(r.Gateway); err != nil {
			return err
		}
	}
	return (&expose.Request{Ports: granted(r.Public)}).Check()
}

// granted are ports as a gateway is granted them. A port without a name is named by its number.
func granted(ports []template.Port) []records.GrantedPort {
	out := make([]records.GrantedPort, len(ports))
	for i, p := range ports {
		out[i] = records.GrantedPort{Port: p.Port, Name: cmp.Or(p.Name, strconv.Itoa(int(p.Port)))}
	}
	return out
}

// expose has the purchase's gateway make ports of a lease public, while the purchase goes on. A gateway's names are those of the
// order: of a cluster, they lead to its first member.
func (d *deal) expose(l market.Lease) {
	if d.p.Gateway == "" {
		return
	}
	if g := d.group(l.Address); g != nil && g.Index != 0 {
		return
	}
	d.exposing.Go(func() {
		ctx, cancel := context.WithTimeout(d.exposed, publicTime)
		defer cancel()
		out := Public{Lease: l.Address.String(), Gateway: d.p.Gateway}
		opened, err := d.open(ctx, l)
		switch {
		case err != nil && d.exposed.Err() != nil: // nobody waits for addresses any more
			return
		case err != nil:
			out.Failed = classify(err).Reason
			d.b.tell(NotExposed{Lease: l, Gateway: d.p.Gateway, Err: err})
		default:
			out.Stays, out.Terms = opened.Stays, opened.Terms
			if out.Gateway == expose.Auto {
				out.Gateway = opened.Gateway
			}
			for _, p := range d.p.Public {
				out.Ports = append(out.Ports, PublicPort{p, opened.URLs[p.Port]})
			}
			d.b.tell(Exposed{Lease: l, Opened: *opened})
		}
		d.jobs.Lock()
		defer d.jobs.Unlock()
		d.out.Public = append(d.out.Public, out)
	})
}

// open brings the gateway a grant for a lease, unless the customer has taken grants of its order back.
func (d *deal) open(ctx context.Context, l market.Lease) (*expose.Opened, error) {
	f, err := d.b.folderOf(ctx, l.Customer)
	if err != nil {
		return nil, err
	}
	revoked, err := f.Revoked(l.Order)
	if err != nil {
		return nil, err
	}
	if revoked != 0 {
		return nil, refused("what gateways were granted of this order was taken back", "grant it again with: gantry gateway open "+l.Address.String())
	}
	e := expose.New(expose.Options{Client: d.b.client, Service: d.b.service, Key: d.b.o.Key, Root: d.b.o.Root, Net: d.remote.Net, Remote: d.remote})
	return e.OpenStarting(ctx, d.p.Gateway, l, expose.Request{Ports: granted(d.p.Public)})
}

// endExposing has no gateway asked any more.
func (d *deal) endExposing() {
	if d.stopExposing != nil {
		d.stopExposing()
	}
	d.exposing.Wait()
}
