package dispute

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/internal/atomicfile"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// Protocols of complaints. Anybody may bring one: it is taken only when its hash is that of an open dispute.
var (
	PutProtocol = p2p.Protocol{
		ID: messages.ComplaintPut, MaxRequest: messages.MaxComplaint + 1<<10, MaxResponse: 1 << 10,
		Rate: 1, Burst: 8, Concurrent: 8, Public: true,
	}
	GetProtocol = p2p.Protocol{
		ID: messages.ComplaintGet, MaxRequest: 1 << 10, MaxResponse: messages.MaxComplaint + 1<<10,
		Rate: 1, Burst: 8, Concurrent: 8, Public: true,
	}
)

// fetchLimit bounds the time for a complaint from another keeper.
const fetchLimit = 20 * time.Second

// Complaints is a folder with the complaints of open disputes: LEASE.complaint.
type Complaints struct {
	dir  string
	view View
}

// View is the market.
type View interface {
	Read(func(*view.Accounts))
}

// OpenComplaints opens or makes the folder.
func OpenComplaints(dir string, v View) (*Complaints, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("complaints: %w", err)
	}
	return &Complaints{dir: dir, view: v}, nil
}

func (c *Complaints) path(lease solana.PublicKey) string {
	return filepath.Join(c.dir, lease.String()+".complaint")
}

// Get returns the complaint about a lease if it is here and has this sha256.
func (c *Complaints) Get(lease solana.PublicKey, hash [32]byte) ([]byte, bool) {
	info, err := os.Stat(c.path(lease))
	if err != nil || info.Size() > messages.MaxComplaint {
		return nil, false
	}
	raw, err := os.ReadFile(c.path(lease))
	return raw, err == nil && sha256.Sum256(raw) == hash
}

// wanted is the sha256 of the complaint of the lease's open dispute.
func (c *Complaints) wanted(lease solana.PublicKey) (hash [32]byte, ok bool) {
	c.view.Read(func(v *view.Accounts) {
		if d := v.Disputes[market.DisputeAddress(lease)]; d != nil {
			hash, ok = d.EvidenceHash, true
		}
	})
	return hash, ok
}

var (
	errNoDispute = errors.New("no dispute about this lease is open")
	errNotIt     = errors.New("this is not the complaint of the dispute: its sha256 is another")
)

// Put keeps a complaint that an open dispute names.
func (c *Complaints) Put(lease solana.PublicKey, raw []byte) error {
	hash, ok := c.wanted(lease)
	switch {
	case !ok:
		return errNoDispute
	case len(raw) > messages.MaxComplaint || sha256.Sum256(raw) != hash:
		return errNotIt
	}
	if _, ok := c.Get(lease, hash); ok {
		return nil
	}
	if err := atomicfile.Write(c.path(lease), raw); err != nil {
		return fmt.Errorf("complaints: %w", err)
	}
	return nil
}

// Join answers peers that bring complaints or ask for them.
func (c *Complaints) Join(n *p2p.Node) {
	p2p.Handle(n, PutProtocol, c.take)
	p2p.Handle(n, GetProtocol, c.give)
}

func (c *Complaints) take(_ context.Context, _ solana.PublicKey, req messages.ComplaintUpload) (messages.Complaint, error) {
	err := c.Put(req.Lease, req.Data)
	if errors.Is(err, errNoDispute) || errors.Is(err, errNotIt) {
		return messages.Complaint{}, p2p.Refuse(p2p.CodeRefused, "%v", err)
	}
	return messages.Complaint{Version: messages.Version}, err
}

func (c *Complaints) give(_ context.Context, _ solana.PublicKey, req messages.ComplaintRequest) (messages.Complaint, error) {
	raw, ok := c.Get(req.Lease, req.Hash)
	if !ok {
		return messages.Complaint{}, p2p.Refuse(p2p.CodeRefused, "this keeper does not have it")
	}
	return messages.Complaint{Version: messages.Version, Data: raw}, nil
}

// missing lists the open disputes whose complaints are not here.
func (c *Complaints) missing() (out []market.Dispute, keepers []solana.PublicKey) {
	c.view.Read(func(v *view.Accounts) {
		for _, d := range v.Disputes {
			out = append(out, *d)
		}
		for wallet := range v.Keepers {
			keepers = append(keepers, wallet)
		}
	})
	n := 0
	for _, d := range out {
		if _, ok := c.Get(d.Lease, d.EvidenceHash); !ok {
			out[n] = d
			n++
		}
	}
	return out[:n], keepers
}

// Fetch asks the other keepers for complaints that are missing, every interval until ctx ends.
func (c *Complaints) Fetch(ctx context.Context, n *p2p.Node, interval time.Duration) error {
	t := time.NewTicker(interval)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
		missing, keepers := c.missing()
		for _, d := range missing {
			for _, k := range keepers {
				if k != n.Key() && c.fetch(ctx, n, k, d) == nil {
					break
				}
			}
		}
	}
}

func (c *Complaints) fetch(ctx context.Context, n *p2p.Node, keeper solana.PublicKey, d market.Dispute) error {
	ctx, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	req := messages.ComplaintRequest{Version: messages.Version, Lease: d.Lease, Hash: d.EvidenceHash}
	a, err := p2p.Call[messages.ComplaintRequest, messages.Complaint](ctx, n, keeper, GetProtocol, req)
	if err != nil {
		return err
	}
	return c.Put(d.Lease, a.Data)
}

// Prune drops the complaints of leases that are closed.
func (c *Complaints) Prune() error {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return fmt.Errorf("complaints: %w", err)
	}
	keep := map[string]bool{}
	c.view.Read(func(v *view.Accounts) {
		for lease, l := range v.Leases {
			if l.Disputed == 1 {
				keep[filepath.Base(c.path(lease))] = true
			}
		}
	})
	for _, e := range entries {
		if !keep[e.Name()] {
			err = errors.Join(err, os.Remove(filepath.Join(c.dir, e.Name())))
		}
	}
	return err
}
