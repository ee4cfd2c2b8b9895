package nat

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// Role is what a member of the lab is.
type Role string

// The roles.
const (
	Keeper   Role = "keeper"
	Machine  Role = "node"
	Customer Role = "customer"
)

// setup is the first line that a member reads.
type setup struct {
	Role    Role               `json:"role"`
	Key     solana.PrivateKey  `json:"key"`
	Addr    string             `json:"addr,omitempty"` // of a keeper, as on chain
	Keepers []p2p.Peer         `json:"keepers"`
	Market  []solana.PublicKey `json:"market"` // who takes part; in the real market the chain says so
	Relay   bool               `json:"relay"`  // a customer that punches no holes, to measure the relay alone
}

// ask is what a member is asked to do, one line each.
type ask struct {
	Do    string           `json:"do"`
	Peer  solana.PublicKey `json:"peer"`
	Count int              `json:"count,omitempty"`
	Bytes uint64           `json:"bytes,omitempty"`
}

// answer is one line for each ask.
type answer struct {
	Error        string        `json:"error,omitempty"`
	Path         string        `json:"path,omitempty"`
	Via          []string      `json:"via,omitempty"` // addresses of the connections to the peer
	Took         time.Duration `json:"took,omitempty"`
	Median       time.Duration `json:"median,omitempty"`
	Bytes        uint64        `json:"bytes,omitempty"`
	Reservations int           `json:"reservations,omitempty"`
	Carried      int           `json:"carried,omitempty"`
	Connected    int           `json:"connected,omitempty"`
}

// The protocols are those of agents, with answers made up here: what is measured is the way.
var (
	pingProtocol = p2p.Protocol{ID: messages.Status, MaxRequest: 256 << 10, MaxResponse: 256 << 10, Rate: 1000, Burst: 1000}
	logsProtocol = p2p.Protocol{ID: messages.Logs, MaxRequest: 256 << 10, MaxResponse: 256 << 10, Timeout: time.Minute, Rate: 20, Burst: 60}
)

// chunk is how much output an agent sends at once, bytes.
const chunk = 64 << 10

// RunMember is a process of the lab: it reads a setup and asks, and writes answers, until in ends.
func RunMember(ctx context.Context, in io.Reader, out io.Writer, log zerolog.Logger) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() {
		return errors.Join(errors.New("no setup"), lines.Err())
	}
	var s setup
	if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
		return fmt.Errorf("setup: %w", err)
	}
	n, err := start(s, log)
	if err != nil {
		return err
	}
	defer func() { _ = n.Close() }() // the process ends with it
	enc := json.NewEncoder(out)
	if err := enc.Encode(answer{}); err != nil {
		return err
	}
	for lines.Scan() {
		var a ask
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			return fmt.Errorf("ask: %w", err)
		}
		tctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
		got, err := do(tctx, n, s, a)
		cancel()
		if err != nil {
			got.Error = err.Error()
		}
		if err := enc.Encode(got); err != nil {
			return err
		}
	}
	return lines.Err()
}

// start runs a network node with the settings of its role.
func start(s setup, log zerolog.Logger) (*p2p.Node, error) {
	c := p2p.Options{Key: s.Key, UserAgent: "gantry-nat-" + string(s.Role), Log: log}
	switch s.Role {
	case Keeper:
		c.Listen, c.Announce = []string{s.Addr}, []string{s.Addr}
		c.Known = func(k solana.PublicKey) bool { return slices.Contains(s.Market, k) }
		c = c.ForKeeper(false)
	case Machine:
		c = c.ForNode(false)
		c.PortMapping = false // these routers offer none
	case Customer:
		c = c.ForCustomer(false)
		c.HolePunching = !s.Relay
	default:
		return nil, fmt.Errorf("role %q", s.Role)
	}
	n, err := p2p.New(c)
	if err != nil {
		return nil, err
	}
	switch s.Role {
	case Keeper:
		n.ServeLookup(true)
	case Machine:
		p2p.Handle(n, pingProtocol, func(_ context.Context, _ solana.PublicKey, r messages.LeaseRequest) (messages.LeaseAnswer, error) {
			return messages.LeaseAnswer{Version: messages.Version, Status: messages.LeaseStatus{Lease: r.Lease, State: messages.LeaseRunning}}, nil
		})
		p2p.HandleStream(n, logsProtocol, sendLogs)
	}
	if s.Role != Customer {
		err = n.Keep(s.Keepers)
	} else {
		for _, k := range s.Keepers {
			err = errors.Join(err, n.Remember(k))
		}
	}
	if err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// sendLogs writes as much output as the request's offset says.
func sendLogs(_ context.Context, _ solana.PublicKey, r messages.LogsRequest, send func(messages.LogChunk) error) error {
	data := make([]byte, chunk)
	for sent := uint64(0); sent < r.Offset; {
		n := min(r.Offset-sent, chunk)
		sent += n
		if err := send(messages.LogChunk{Offset: sent, Data: data[:n], End: sent == r.Offset}); err != nil {
			return err
		}
	}
	return nil
}

// do carries out one ask.
func do(ctx context.Context, n *p2p.Node, s setup, a ask) (answer, error) {
	began := time.Now()
	var out answer
	var err error
	switch a.Do {
	case "state":
	case "find":
		keepers := make([]solana.PublicKey, len(s.Keepers))
		for i, k := range s.Keepers {
			keepers[i] = k.Key
		}
		tctx, cancel := context.WithTimeout(ctx, 15*time.Second)
		err = n.Find(tctx, a.Peer, keepers)
		cancel()
	case "ping":
		out.Median, err = ping(ctx, n, a.Peer, a.Count)
	case "logs":
		req := messages.LogsRequest{Version: messages.Version, Offset: a.Bytes}
		err = p2p.CallStream(ctx, n, a.Peer, logsProtocol, req, func(c messages.LogChunk) error {
			out.Bytes += uint64(len(c.Data))
			return nil
		})
		if err == nil && out.Bytes != a.Bytes {
			err = fmt.Errorf("%d bytes of %d arrived", out.Bytes, a.Bytes)
		}
	case "drop":
		err = n.Disconnect(a.Peer)
	default:
		err = fmt.Errorf("unknown: %q", a.Do)
	}
	out.Took = time.Since(began)
	out.Reservations = n.Reservations()
	_, out.Carried = n.Relaying()
	out.Connected = len(n.Peers())
	if !a.Peer.IsZero() {
		out.Path, out.Via = n.Path(a.Peer).String(), n.Via(a.Peer)
	}
	return out, err
}

func ping(ctx context.Context, n *p2p.Node, to solana.PublicKey, count int) (time.Duration, error) {
	var took []time.Duration
	for range count {
		began := time.Now()
		if _, err := p2p.Call[messages.LeaseRequest, messages.LeaseAnswer](ctx, n, to, pingProtocol, messages.LeaseRequest{Version: messages.Version}); err != nil {
			return 0, err
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}
