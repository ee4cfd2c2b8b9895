package service

import (
	"context"
	"net/url"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
)

// Cluster is the Solana cluster that the market is on, as it is now.
type Cluster struct {
	Name    string   `json:"name" enum:"mainnet-beta,devnet,testnet,localnet"`
	Genesis string   `json:"genesis"`
	Nodes   []string `json:"nodes" doc:"Hosts of the RPC endpoints, in the order in which they are asked"`
	Slot    uint64   `json:"slot"`
	Time    int64    `json:"time" doc:"By the cluster's clock, which the market's times are compared with"`
	Program string   `json:"program"`
	Layout  uint8    `json:"accountLayout" doc:"Version of the program's accounts that this server reads"`
}

// Account is what a customer and its session key can spend, USDC.
type Account struct {
	Customer string `json:"customer"`
	Balance  string `json:"balance" doc:"Credits, reserved ones included"`
	Reserved string `json:"reserved" doc:"Held by open orders and leases"`
	Free     string `json:"free"`
	Orders   uint32 `json:"liveOrders"`
	Leases   uint32 `json:"liveLeases"`
	Session  Limit  `json:"session"`
}

// Limit is a session key's cap.
type Limit struct {
	Key     string `json:"key"`
	Cap     string `json:"cap" doc:"The most that the key may reserve in all; 0.00 where the customer does not name it"`
	Spent   string `json:"spent"`
	Left    string `json:"left"`
	Expires int64  `json:"expires"`
}

// Cluster describes the cluster. Its endpoints are named by their hosts: what follows in a URL may be a key.
func (s *Service) Cluster(ctx context.Context) (Cluster, error) {
	if l := s.live.Load(); l != nil {
		return l.cluster.get(ctx)
	}
	return s.readCluster(ctx)
}

func (s *Service) readCluster(ctx context.Context) (Cluster, error) {
	if _, err := s.Load(ctx); err != nil {
		return Cluster{}, err
	}
	genesis, err := s.client.Genesis(ctx)
	if err != nil {
		return Cluster{}, err
	}
	slot, err := s.client.Slot(ctx, s.client.Commitment())
	if err != nil {
		return Cluster{}, err
	}
	at, err := s.client.Now(ctx)
	if err != nil {
		return Cluster{}, err
	}
	out := Cluster{
		Name: string(chain.ClusterOf(genesis)), Genesis: genesis.String(), Nodes: []string{}, Slot: slot, Time: at,
		Program: market.ProgramID.String(), Layout: market.LayoutVersion,
	}
	for _, e := range s.client.Endpoints() {
		if u, err := url.Parse(e.RPC); err == nil {
			out.Nodes = append(out.Nodes, u.Host)
		}
	}
	return out, nil
}

// Account reads the money of a customer and the cap of its session key. A customer without credits has none of either.
func (s *Service) Account(ctx context.Context, customer, session solana.PublicKey) (Account, error) {
	var c market.Credits
	if v := s.live.Load().of(customer); v != nil {
		c, _ = v.CreditsOf(customer)
	} else {
		var err error
		if c, _, err = query.Find[market.Credits](ctx, s.client, market.CreditsAddress(customer), s.client.Commitment()); err != nil {
			return Account{}, err
		}
	}
	k, _ := c.SessionKeyOf(session)
	spent := min(k.Cap, k.Spent)
	return Account{
		Customer: customer.String(), Balance: market.USDC(c.Balance).String(), Reserved: market.USDC(c.Credits.Reserved).String(), Free: c.Free().String(),
		Orders: c.LiveOrders, Leases: c.LiveLeases,
		Session: Limit{
			Key: session.String(), Cap: market.USDC(k.Cap).String(), Spent: market.USDC(spent).String(), Left: market.USDC(k.Cap - spent).String(), Expires: k.Expiry,
		},
	}, nil
}
