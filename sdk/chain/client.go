package chain

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/rpc"
	"github.com/rs/zerolog"
)

// Endpoint is one RPC node. An empty WS is derived from RPC.
type Endpoint struct {
	RPC string
	WS  string
}

// Name is the endpoint's address without what may be a secret: credentials, path and query.
func (e Endpoint) Name() string { return NameOf(e.RPC) }

// NameOf is the Name of the endpoint with this URL.
func NameOf(rpc string) string {
	u, err := url.Parse(rpc)
	if err != nil || u.Host == "" {
		return "the RPC endpoint"
	}
	name := url.URL{Scheme: u.Scheme, Host: u.Host}
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		name.Path = "/…"
	}
	return name.Scheme + "://" + name.Host + name.Path
}

// Options configure a Client.
type Options struct {
	Endpoints  []Endpoint    // in order of preference, at least one
	Commitment Commitment    // the caller's usual level, default Confirmed
	Timeout    time.Duration // of one call to one endpoint, default 10 s
	// Genesis is the hash of the cluster that all endpoints must belong to; zero means that they must agree among
	// themselves.
	Genesis solana.Hash
	// Lists is the most that a list of accounts may hold; fields that are zero take DefaultBound's.
	Lists Bound
	Log   zerolog.Logger
}

// Client calls the first healthy endpoint and moves on when one fails. It is safe for concurrent use.
type Client struct {
	nodes      []*node
	commitment Commitment
	timeout    time.Duration
	lists      Bound
	log        zerolog.Logger
	transport  *http.Transport

	sends sync.WaitGroup // questions to endpoints that answer later than the first

	genesisMu sync.Mutex
	genesis   solana.Hash // zero until it is known
}

// node is an endpoint with its health.
type node struct {
	ep  Endpoint
	rpc *rpc.Client

	mu       sync.Mutex
	failures int       // since the last success
	retryAt  time.Time // not preferred before; zero when healthy
	lastErr  error
	genesis  solana.Hash // that the node named last
	asked    time.Time   // when it did; zero after a failure
	foreign  bool        // it was refused as one of another cluster
	// restsUntil: it asked for a pause, and gets no question before.
	restsUntil time.Time
}

const (
	minCooldown = 200 * time.Millisecond
	maxCooldown = 15 * time.Second
	// behindFailures in a row are those of a node that stays behind. Every node is a slot or two behind now and then.
	behindFailures = 10
)

// New checks the endpoints' form; it does not connect.
// Errors: ErrNoEndpoint, ErrEndpoint.
func New(opts Options) (*Client, error) {
	if len(opts.Endpoints) == 0 {
		return nil, ErrNoEndpoint
	}
	c := &Client{
		commitment: opts.Commitment, timeout: opts.Timeout, lists: opts.Lists, log: opts.Log, genesis: opts.Genesis,
		// solana-go's own transport allows nine connections, which would serialise a keeper's concurrent transactions.
		transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			MaxIdleConnsPerHost: 64, MaxConnsPerHost: 128,
			IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
			ForceAttemptHTTP2: true, MaxResponseHeaderBytes: smallAnswer,
		},
	}
	if c.commitment == "" {
		c.commitment = Confirmed
	}
	if c.commitment.rank() == 0 {
		return nil, fmt.Errorf("%q: %w", c.commitment, ErrCommitment)
	}
	if c.timeout <= 0 {
		c.timeout = 10 * time.Second
	}
	for _, ep := range opts.Endpoints {
		u, err := ResolveURL(ep.RPC)
		if err != nil {
			return nil, err
		}
		ep.RPC = u
		if ep.WS == "" {
			if ep.WS, err = WebsocketURL(u); err != nil {
				return nil, err
			}
		}
		c.nodes = append(c.nodes, &node{ep: ep, rpc: rpc.NewWithCustomRPCClient(newCaller(u, &http.Client{Transport: c.transport}))})
	}
	return c, nil
}

// Close waits for what is being sent and frees idle connections.
func (c *Client) Close() {
	c.sends.Wait()
	c.transport.CloseIdleConnections()
}

// Commitment returns the client's usual level.
func (c *Client) Commitment() Commitment { return c.commitment }

// WaitLevel is the commitment level that a transaction must reach before its sender continues, and at which what it did is
// read: the client's own, and at least Confirmed.
func (c *Client) WaitLevel() Commitment {
	if c.commitment == Processed {
		return Confirmed
	}
	return c.commitment
}

// LocalCluster reports whether the client belongs to a local network, all of whose endpoints are on this machine. An address
// alone does not say so: it may be a tunnel, or one's own node of a public cluster. False before the cluster is known.
func (c *Client) LocalCluster() bool {
	c.genesisMu.Lock()
	defer c.genesisMu.Unlock()
	return !c.genesis.IsZero() && ClusterOf(c.genesis) == ClusterLocal && c.Local()
}

// Local reports whether every endpoint is on this machine, where frequent polling costs nothing.
func (c *Client) Local() bool {
	for _, n := range c.nodes {
		u, err := url.Parse(n.ep.RPC)
		if err != nil {
			return false
		}
		ip := net.ParseIP(u.Hostname())
		if u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return false
		}
	}
	return true
}

// Endpoints returns the endpoints in order of preference.
func (c *Client) Endpoints() []Endpoint {
	out := make([]Endpoint, len(c.nodes))
	for i, n := range c.nodes {
		out[i] = n.ep
	}
	return out
}

// Health describes an endpoint.
type Health struct {
	Endpoint Endpoint
	Healthy  bool
	Failures int // consecutive
	LastErr  error
}

// Health reports what the client has seen of each endpoint.
func (c *Client) Health() []Health {
	out := make([]Health, len(c.nodes))
	for i, n := range c.nodes {
		n.mu.Lock()
		out[i] = Health{Endpoint: n.ep, Healthy: n.failures == 0, Failures: n.failures, LastErr: n.lastErr}
		n.mu.Unlock()
	}
	return out
}

// Do runs f against one endpoint after the other until one answers. f may make several calls when they must see the
// same node; it must be safe to repeat. method is for messages. Errors: those of f, *RPCError, ErrUnreachable.
func (c *Client) Do(ctx context.Context, method string, f func(context.Context, *rpc.Client) error) error {
	_, err := c.do(ctx, method, nil, f)
	return err
}

// do is Do that names the node which answered. Nodes that avoid names by their URLs are asked after all others that are
// healthy.
func (c *Client) do(ctx context.Context, method string, avoid []string, f func(context.Context, *rpc.Client) error) (*node, error) {
	if _, err := c.Genesis(ctx); err != nil {
		if errors.Is(err, ErrUnreachable) {
			return nil, err // as for any other question
		}
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	latest := time.Now().Add(c.timeout)
	for {
		now := time.Now()
		up, resting := awake(c.order(now, avoid), now)
		n, failover, err := c.first(ctx, up, method, f)
		if err == nil && n != nil {
			return n, nil
		}
		switch {
		case err != nil && (ctx.Err() != nil || !failover):
			return nil, err
		case ctx.Err() != nil:
			return nil, fmt.Errorf("%s: %w", method, ctx.Err())
		}
		// A node that asked for a pause may answer after it; one that asked for it just now does so too.
		if _, later := awake(c.nodes, time.Now()); later != nil {
			resting = later
		}
		if resting != nil {
			again, waitErr := awaitRest(ctx, resting, latest)
			if waitErr != nil {
				return nil, fmt.Errorf("%s: %w", method, waitErr)
			}
			if again {
				continue
			}
		}
		switch {
		case err == nil:
			return nil, resting.resting(method, now)
		case IsCode(err, CodeNodeUnhealthy) || IsCode(err, CodeSlotNotReached):
			return nil, err
		}
		return nil, c.unreachable(method, n, err)
	}
}

// first runs f against one node after the other until one answers, and returns the last that was asked. failover is
// true when all have failed.
func (c *Client) first(ctx context.Context, nodes []*node, method string, f func(context.Context, *rpc.Client) error) (last *node, failover bool, err error) {
	for _, n := range nodes {
		err, failover = c.on(ctx, n, method, f)
		if err == nil || ctx.Err() != nil || !failover {
			return n, failover, err
		}
		last = n
	}
	return last, true, err
}

// on runs f against one node, if it belongs to the cluster. failover is true when another may answer the call.
func (c *Client) on(ctx context.Context, n *node, method string, f func(context.Context, *rpc.Client) error) (err error, failover bool) { //nolint:revive // as convert
	if err := c.admit(ctx, n); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", method, ctx.Err()), false
		}
		n.failed(err, c.log)
		return err, true
	}
	callCtx, cancel := c.timed(ctx, method)
	err = f(callCtx, n.rpc)
	cancel()
	if err == nil {
		n.succeeded()
		return nil, false
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", method, ctx.Err()), false
	}
	var own *RPCError
	if errors.As(err, &own) {
		failover = own.elsewhere()
	} else {
		err, failover = convert(method, err)
	}
	if errors.Is(err, rpc.ErrNotFound) {
		err, failover = fmt.Errorf("%s: %w", method, ErrNotFound), false
	}
	if !failover {
		n.succeeded() // it answered, if only to refuse
		return err, false
	}
	n.failed(err, c.log)
	return err, true
}

func (c *Client) unreachable(method string, n *node, err error) error {
	advice := "check the URL and your connection, or add another --url"
	if strings.Contains(n.ep.RPC, "127.0.0.1") || strings.Contains(n.ep.RPC, "localhost") {
		advice = "start a local network with `gantry-localnet up`, or pass --url"
	}
	what := n.ep.RPC
	if len(c.nodes) > 1 {
		what = fmt.Sprintf("%s and %d more", what, len(c.nodes)-1)
	}
	c.log.Debug().Str("method", method).Err(err).Msg("no endpoint answered")
	if errors.Is(err, ErrAnswer) {
		return fmt.Errorf("%w: %s: %s: %w; another --url may answer it", ErrUnreachable, n.ep.Name(), method, err)
	}
	if foreign := c.foreign(); foreign != nil {
		if errors.Is(err, ErrWrongCluster) && len(c.nodes) == 1 {
			return foreign
		}
		return fmt.Errorf("%w: %s (%s); %w", ErrUnreachable, what, reason(err), foreign)
	}
	return fmt.Errorf("%w: %s (%s); %s", ErrUnreachable, what, reason(err), advice)
}

// mayBeAsked reports whether a node is healthy, or has rested after a failure.
func (n *node) mayBeAsked(now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.retryAt.IsZero() || !now.Before(n.retryAt)
}

// order lists healthy nodes first, in order of preference, then the others, and those that avoid names at last: a second
// answer of the same node is worth less than waiting for another one that failed a moment ago.
func (c *Client) order(now time.Time, avoid []string) []*node {
	var up, avoided, down []*node
	for _, n := range c.nodes {
		switch {
		case !n.mayBeAsked(now):
			down = append(down, n)
		case slices.Contains(avoid, n.ep.RPC):
			avoided = append(avoided, n)
		default:
			up = append(up, n)
		}
	}
	return slices.Concat(up, down, avoided)
}

func (n *node) succeeded() {
	n.mu.Lock()
	n.failures, n.retryAt, n.lastErr, n.restsUntil = 0, time.Time{}, nil, time.Time{}
	n.mu.Unlock()
}

func (n *node) failed(err error, log zerolog.Logger) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.failures++
	n.lastErr, n.asked = err, time.Time{}
	n.retryAt = time.Now().Add(min(maxCooldown, minCooldown<<min(n.failures-1, 10)))
	if busy := (*busyError)(nil); errors.As(err, &busy) {
		n.restsUntil = time.Now().Add(busy.pause)
		if n.retryAt.Before(n.restsUntil) {
			n.retryAt = n.restsUntil
		}
	}
	if errors.Is(err, ErrWrongCluster) {
		n.retryAt = time.Now().Add(maxCooldown) // somebody has to correct it
		if n.failures == 1 || !n.foreign {
			log.Error().Str("endpoint", n.ep.RPC).Err(err).Msg("RPC endpoint belongs to another cluster and is not used")
		}
		n.foreign = true
		return
	}
	n.foreign = false
	first := 1
	if IsCode(err, CodeSlotNotReached) {
		first = behindFailures
	}
	if n.failures == first {
		log.Warn().Str("endpoint", n.ep.RPC).Str("reason", reason(err)).Msg("RPC endpoint failed")
	}
}

// Raw makes one JSON-RPC call with failover and decodes its result into out.
func (c *Client) Raw(ctx context.Context, out any, method string, params ...any) error {
	return c.Do(ctx, method, func(ctx context.Context, r *rpc.Client) error {
		return rawCall(ctx, r, out, method, params...)
	})
}

func rawCall(ctx context.Context, r *rpc.Client, out any, method string, params ...any) error {
	if params == nil {
		params = []any{}
	}
	return r.RPCCallForInto(ctx, out, method, params)
}
