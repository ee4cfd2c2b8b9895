package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gagliardetto/solana-go"
	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/boltstore"
)

const (
	// namesSchema is the layout of the file.
	namesSchema = 1
	// maxLabel is how long the first part of a name may be that nobody has chosen, bytes.
	maxLabel = 40
	// suffix is how many letters of its address such a name ends with.
	suffix = 4
)

var (
	bucketNames  = []byte("names")  // that people have chosen, by the lease's address
	bucketLabels = []byte("labels") // what runs on an order's leases: a template or an image, by the order's address
)

// LeaseNames keeps what people call their leases, in a file. It is safe for concurrent use.
type LeaseNames struct{ db *boltstore.DB }

// OpenLeaseNames opens the file, or creates it with mode 0600. It belongs to one customer. Errors: those of boltstore.Open.
func OpenLeaseNames(path string, customer solana.PublicKey) (*LeaseNames, error) {
	db, err := boltstore.Open(path, boltstore.Config{
		Name: "names of leases", Schema: namesSchema, Owner: customer[:], Buckets: [][]byte{bucketNames, bucketLabels},
		DescribeOwner: func(key []byte) string { return "the customer " + solana.PublicKeyFromBytes(key).String() },
		OtherProcess:  "another gantry serve runs with this state folder: stop it first",
		OtherOwner:    "choose another --state-dir",
		OtherSchema:   "move the file away; a new one is made, without the names",
		LockTimeout:   2 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	return &LeaseNames{db: db}, nil
}

// Close syncs and releases the file.
func (n *LeaseNames) Close() error { return n.db.Close() }

// call names a lease; an empty name takes the one of a person back.
func (n *LeaseNames) call(lease solana.PublicKey, name string) error {
	return n.db.Update(func(tx *bolt.Tx) error {
		if name != "" {
			return boltstore.PutJSON(tx, bucketNames, lease[:], name)
		}
		if err := tx.Bucket(bucketNames).Delete(lease[:]); err != nil {
			return fmt.Errorf("name of lease %s: %w", lease, err)
		}
		return nil
	})
}

// label keeps what runs on an order's leases.
func (n *LeaseNames) label(order solana.PublicKey, text string) error {
	return n.db.Update(func(tx *bolt.Tx) error { return boltstore.PutJSON(tx, bucketLabels, order[:], text) })
}

// of names leases: as people have, or by what runs on them, or by their GPUs. The leases are not changed.
func (n *LeaseNames) of(all []service.Lease) ([]service.Lease, error) {
	all = slices.Clone(all)
	err := n.db.View(func(tx *bolt.Tx) error {
		for i := range all {
			l := &all[i]
			lease, err := solana.PublicKeyFromBase58(l.Address)
			if err != nil {
				return fmt.Errorf("lease %s: %w", l.Address, err)
			}
			order, err := solana.PublicKeyFromBase58(l.Order)
			if err != nil {
				return fmt.Errorf("order %s: %w", l.Order, err)
			}
			err = boltstore.GetJSON(tx, bucketNames, lease[:], &l.Name)
			if !errors.Is(err, boltstore.ErrNotFound) {
				if err != nil {
					return err
				}
				continue
			}
			text := l.Model
			if err := boltstore.GetJSON(tx, bucketLabels, order[:], &text); err != nil && !errors.Is(err, boltstore.ErrNotFound) {
				return err
			}
			l.Name = ownName(text, l.Address)
		}
		return nil
	})
	return all, err
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
			return nil, failed(err)
		}
	}
	return service.Attested(s.o.Attestations, service.Inspected(s.o.Inspections, all)), nil
}

type renameInput struct {
	ID   string `path:"id" minLength:"32" maxLength:"44" pattern:"^[1-9A-HJ-NP-Za-km-z]+$" doc:"Address of the lease"`
	Body struct {
		Name string `json:"name" maxLength:"64" pattern:"^[^\\x00-\\x1f\\x7f]*$" doc:"For people; empty for the one that the server makes of the template or the image"`
	}
}

// registerNames adds the operation.
func (s *Server) registerNames(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "rename-lease", Method: http.MethodPut, Path: "/v1/leases/{id}/name", Summary: "Name a lease on this server",
		Description:  "The name is kept by the server and shown on its page. Nothing of it is written to the chain.",
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
	if err := s.o.LeaseNames.call(id, strings.TrimSpace(in.Body.Name)); err != nil {
		return nil, failed(err)
	}
	all, err := s.shown(l)
	if err != nil {
		return nil, err
	}
	return &reply[service.Lease]{all[0]}, nil
}
