package serve

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gantry-market/gantry/client/service"
)

type walletInput struct {
	Wallet string `path:"wallet" minLength:"32" maxLength:"44" pattern:"^[1-9A-HJ-NP-Za-km-z]+$" doc:"Wallet that owns the machines, anybody's"`
}

type nodeInput struct {
	Node         string `path:"node" minLength:"32" maxLength:"44" pattern:"^[1-9A-HJ-NP-Za-km-z]+$" doc:"Address of the node, anybody's"`
	Transactions int    `query:"transactions" minimum:"1" maximum:"1000" default:"300" doc:"How many of its last transactions are read at most"`
}

type slashesInput struct {
	Transactions int `query:"transactions" minimum:"1" maximum:"1000" default:"100" doc:"How many of the last payouts' transactions are read at most"`
}

type slashInput struct {
	Address string `path:"address" minLength:"32" maxLength:"44" pattern:"^[1-9A-HJ-NP-Za-km-z]+$" doc:"Of a fault, a node, or a keeper"`
}

// SlashAudits are audited slashes.
type SlashAudits struct {
	Slashes []service.SlashAudit `json:"slashes" doc:"The oldest first"`
}

// registerProvider adds what an owner of machines asks for, and what machines and keepers were slashed for. All of it is
// public, of anybody.
func (s *Server) registerProvider(api huma.API) {
	provider := read("get-provider", "/v1/providers/{wallet}", "An owner's machines: status, figures, faults, what to do about them, and what they earn")
	provider.Description = "Of any wallet: it is public. Earnings are those of leases that are not closed; by day they are in the machine's own document."
	huma.Register(api, provider, s.provider)
	node := read("get-node", "/v1/nodes/{node}", "A machine with its checks by period and its earnings by day, from its last transactions")
	node.Description = "Of anybody. The cluster must still have the transactions; history says how far back they go."
	node.Errors = append(node.Errors, http.StatusServiceUnavailable)
	huma.Register(api, node, s.node)
	slashes := read("list-slashes", "/v1/slashes", "Slashes that took effect, the newest first")
	slashes.Errors = append(slashes.Errors, http.StatusServiceUnavailable)
	huma.Register(api, slashes, s.pastSlashes)
	one := read("audit-slash", "/v1/slashes/{address}", "The history of a fault's, a node's or a keeper's slashes, rebuilt from transactions and checked")
	one.Description = "Every amount, signature and proof is checked. The cluster must still have the transactions."
	one.Errors = append(one.Errors, http.StatusServiceUnavailable)
	huma.Register(api, one, s.auditSlash)
}

func (s *Server) provider(ctx context.Context, in *walletInput) (*reply[service.Provider], error) {
	wallet, err := publicKey(in.Wallet, "a wallet", copyWhole)
	if err != nil {
		return nil, err
	}
	p, err := s.o.Service.Provider(ctx, wallet)
	if err != nil {
		return nil, failed(err)
	}
	return &reply[service.Provider]{p}, nil
}

func (s *Server) node(ctx context.Context, in *nodeInput) (*reply[service.MachineRecord], error) {
	key, err := publicKey(in.Node, "a node", copyWhole)
	if err != nil {
		return nil, err
	}
	return audited(s, func() (service.MachineRecord, error) { return s.o.Service.Record(ctx, key, in.Transactions) })
}

func (s *Server) pastSlashes(ctx context.Context, in *slashesInput) (*reply[service.PastSlashes], error) {
	return audited(s, func() (service.PastSlashes, error) { return s.o.Service.PastSlashes(ctx, in.Transactions) })
}

func (s *Server) auditSlash(ctx context.Context, in *slashInput) (*reply[SlashAudits], error) {
	key, err := publicKey(in.Address, "a fault, a node or a keeper", copyWhole)
	if err != nil {
		return nil, err
	}
	return audited(s, func() (SlashAudits, error) {
		all, err := s.o.Service.AuditSlash(ctx, key)
		return SlashAudits{all}, err
	})
}
