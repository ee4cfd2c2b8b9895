package serve

import (
	"cmp"
	"context"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
)

const (
	// maxLabel is how long the first part of a name may be that nobody has chosen, bytes.
	maxLabel = 40
	// suffix is how many letters of its address such a name ends with.
	suffix = 4
)

// LeaseNames keeps what people call their leases, in the customer's folder: commands of this computer show it too. It is safe for
// concurrent use.
type LeaseNames struct {
	mu sync.Mutex // of changes
	f  *purchase.Folder
}

// NewLeaseNames keeps them in the customer's folder. No other server of the customer writes there.
func NewLeaseNames(customer *purchase.Folder) *LeaseNames { return &LeaseNames{f: customer} }

// change changes what an order's leases are called.
func (n *LeaseNames) change(order solana.PublicKey, change func(*purchase.Called)) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	c, err := n.f.Called(order)
	if err != nil {
		return err
	}
	change(&c)
	return n.f.Call(order, c)
}

// call names a lease of an order; an empty name takes the one of a person back.
func (n *LeaseNames) call(order, lease solana.PublicKey, name string) error {
	return n.change(order, func(c *purchase.Called) {
		if c.Names == nil {
			c.Names = map[string]string{}
		}
		if c.Names[lease.String()] = name; name == "" {
			delete(c.Names, lease.String())
		}
	})
}

// label keeps what runs on an order's leases.
func (n *LeaseNames) label(order solana.PublicKey, text string) error {
	return n.change(order, func(c *purchase.Called) { c.Runs = text })
}

// of names leases: as people have, or by what runs on them, or by their GPUs. The leases are not changed. All have a name also where
// there is an error, of records that cannot be read.
func (n *LeaseNames) of(all []service.Lease) ([]service.Lease, error) {
	all = slices.Clone(all)
	return all, buy.NameLeases(all, n.f, func(l *service.Lease, runs string) string { return ownName(cmp.Or(runs, l.Model), l.Address) })
}

// ownName is a name that nobody has chosen.
func ownName(text, address string) string {
	text = strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.'
	}), "-")
	if text == "" {
		text = "lease"
	}
	return text[:min(len(text), maxLabel)] + "-" + address[:min(len(address), suffix)]
}

// imageName is the last part of an image's name, without tag and digest.
func imageName(image string) string {
	image, _, _ = strings.Cut(image, "@")
	name := path.Base(image)
	if image == "" {
		return ""
	}
	name, _, _ = strings.Cut(name, ":")
	return name
}

// labelled keeps what runs on what was bought: its template, or its image. What is not kept is named by its GPUs.
func (s *Server) labelled(order, text string) {
	if s.o.LeaseNames == nil || text == "" || order == "" {
		return
	}
	key, err := solana.PublicKeyFromBase58(order)
	if err == nil {
		err = s.o.LeaseNames.label(key, text)
	}
	if err != nil {
		s.o.Log.Warn().Err(err).Str("order", order).Msg("what runs on an order is not kept; its leases are named by their GPUs")
	}
}

// shown are leases as the server answers them: with their names, their inspections and what their machines have proved.
func (s *Server) shown(all ...service.Lease) ([]service.Lease, error) {
	if s.o.LeaseNames != nil {
		var err error
		if all, err = s.o.LeaseNames.of(all); err != nil {
			s.o.Log.Warn().Err(err).Msg("some leases are shown without their names")
		}
	}
	return service.Attested(s.o.Attestations, service.Inspected(s.o.Inspections, all)), nil
}

type renameInput struct {
	ID   string `path:"id" minLength:"32" maxLength:"44" pattern:"^[1-9A-HJ-NP-Za-km-z]+$" doc:"Address of the lease"`
	Body struct {
		Name string `json:"name" maxLength:"64" pattern:"^[^\\x00-\\x1f\\x7f]*$" doc:"For people; empty for the name of its purchase, or the one that the server makes of the template or the image"`
	}
}

// registerNames adds the operation.
func (s *Server) registerNames(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "rename-lease", Method: http.MethodPut, Path: "/v1/leases/{id}/name", Summary: "Name a lease on this server",
		Description:  "The name is kept by the server. Its page shows it, and so do the commands of the same computer. Nothing of it is written to the chain.",
		MaxBodyBytes: maxBody, Errors: append(slices.Clone(mistakes), http.StatusRequestEntityTooLarge, http.StatusServiceUnavailable),
	}, s.rename)
}

func (s *Server) rename(ctx context.Context, in *renameInput) (*reply[service.Lease], error) {
	id, err := address(in.ID)
	if err != nil {
		return nil, err
	}
	if s.o.LeaseNames == nil {
		return nil, problem(http.StatusServiceUnavailable, "this server keeps no names", "ask gantry serve")
	}
	l, _, err := s.ofLease(ctx, id, false)
	if err != nil {
		return nil, err
	}
	order, err := solana.PublicKeyFromBase58(l.Order)
	if err != nil {
		return nil, failed(err)
	}
	if err := s.o.LeaseNames.call(order, id, strings.TrimSpace(in.Body.Name)); err != nil {
		return nil, failed(err)
	}
	all, err := s.shown(l)
	if err != nil {
		return nil, err
	}
	return &reply[service.Lease]{all[0]}, nil
}
