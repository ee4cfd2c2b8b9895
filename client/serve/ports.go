package serve

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/gagliardetto/solana-go"
	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/client/template"
	"github.com/gantry-market/gantry/internal/boltstore"
)

// bucketPorts has what orders have declared, by the order's address.
var bucketPorts = []byte("ports")

// LeasePort is a port of a lease's container.
type LeasePort struct {
	Name     string `json:"name,omitempty"`
	Port     uint16 `json:"port"`
	Declared bool   `json:"declared" doc:"The order, or its template, has said that the program listens there"`
	Endpoint string `json:"endpoint,omitempty" doc:"Where it is forwarded on the server's machine; absent where it is not"`
	URL      string `json:"url,omitempty" doc:"The endpoint for a browser on the server's machine, where the port speaks HTTP"`
	Public   string `json:"public,omitempty" doc:"Address that a gateway has given to it"`
}

// LeasePorts are those of one lease.
type LeasePorts struct {
	Ports []LeasePort `json:"ports" doc:"By number"`
}

// declared keeps the ports of a purchase.
func (s *Server) declared(b Bought, r OrderRequest) {
	ports := slices.Concat(r.Ports, r.Public)
	if len(ports) == 0 {
		return
	}
	order, err := solana.PublicKeyFromBase58(b.Order)
	if err == nil {
		err = s.o.Store.declare(order, ports)
	}
	if err != nil {
		s.o.Log.Warn().Err(err).Str("order", b.Order).Msg("the ports of an order are not kept; name them by hand")
	}
}

// declare keeps the ports of an order.
func (s *Store) declare(order solana.PublicKey, ports []template.Port) error {
	return s.db.Update(func(tx *bolt.Tx) error { return boltstore.PutJSON(tx, bucketPorts, order[:], ports) })
}

// ports are those of an order.
func (s *Store) ports(order solana.PublicKey) (out []template.Port, err error) {
	err = s.db.View(func(tx *bolt.Tx) error {
		err := boltstore.GetJSON(tx, bucketPorts, order[:], &out)
		if errors.Is(err, boltstore.ErrNotFound) {
			return nil
		}
		return err
	})
	return out, err
}

func (s *Server) leasePorts(ctx context.Context, in *leaseInput) (*reply[LeasePorts], error) {
	id, err := address(in.ID)
	if err != nil {
		return nil, err
	}
	l, err := s.o.Service.Lease(ctx, s.o.Customer, id)
	if err != nil {
		return nil, failed(err)
	}
	order, err := solana.PublicKeyFromBase58(l.Order)
	if err != nil {
		return nil, failed(err)
	}
	declared, err := s.o.Store.ports(order)
	if err != nil {
		return nil, failed(err)
	}
	var public map[uint16]string
	if s.o.Names != nil {
		if public, err = s.o.Names(ctx, order); err != nil {
			return nil, failed(err)
		}
	}
	return &reply[LeasePorts]{LeasePorts{portsOf(declared, s.forwards.of(id), public)}}, nil
}

// portsOf brings together what is known of ports.
func portsOf(declared []template.Port, open, public map[uint16]string) []LeasePort {
	all := map[uint16]LeasePort{}
	for _, p := range declared {
		all[p.Port] = LeasePort{Name: p.Name, Port: p.Port, Declared: true}
	}
	for port, endpoint := range open {
		p := all[port]
		p.Port, p.Endpoint, p.URL = port, endpoint, urlOf(endpoint)
		all[port] = p
	}
	for port, at := range public {
		p := all[port]
		p.Port, p.Public = port, at
		all[port] = p
	}
	out := make([]LeasePort, 0, len(all))
	for _, p := range all {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b LeasePort) int { return cmp.Compare(a.Port, b.Port) })
	return out
}
