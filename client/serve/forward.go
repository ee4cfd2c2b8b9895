package serve

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
)

// maxForwards is how many ports are forwarded at once.
const maxForwards = 16

// Forwarder leads ports of this machine into containers.
type Forwarder interface {
	// Forward listens on loopback and connects each connection with a port of a lease's container, until ctx ends or the way
	// into the container breaks and cannot be found again: then ended is closed. It returns when the container has answered.
	Forward(ctx context.Context, lease solana.PublicKey, port uint16) (endpoint string, ended <-chan struct{}, err error)
}

// Forward is a port of the server's machine that leads into a container.
type Forward struct {
	Lease    string `json:"lease"`
	Port     uint16 `json:"port" doc:"In the container"`
	Endpoint string `json:"endpoint" doc:"Address and port on the server's machine, on loopback; it ends with the lease and with the server"`
	URL      string `json:"url" doc:"The endpoint for a browser on the server's machine, where the port speaks HTTP"`
}

// urlOf is where a browser on this machine finds an endpoint.
func urlOf(endpoint string) string { return "http://" + endpoint + "/" }

// forwards are the ports that are forwarded, as long as the server runs.
type forwards struct {
	mu      sync.Mutex
	ctx     context.Context // of the server; nil when it does not serve
	wg      sync.WaitGroup
	running map[Forward]*forwarding // by lease and port
}

type forwarding struct {
	opened   chan struct{} // closed when endpoint and err are set
	endpoint string
	err      error
}

// begin lets ports be forwarded until ctx ends or end is called, which waits.
func (f *forwards) begin(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	f.mu.Lock()
	f.ctx, f.running = ctx, map[Forward]*forwarding{}
	f.mu.Unlock()
	return func() {
		cancel()
		f.mu.Lock()
		f.ctx = nil
		f.mu.Unlock()
		f.wg.Wait()
	}
}

// open forwards a port, or finds where it is forwarded.
func (f *forwards) open(ctx context.Context, by Forwarder, lease solana.PublicKey, port uint16) (Forward, error) {
	key := Forward{Lease: lease.String(), Port: port}
	f.mu.Lock()
	if f.ctx == nil || f.ctx.Err() != nil {
		f.mu.Unlock()
		return key, problem(http.StatusServiceUnavailable, "the server ends", "ask again when it runs again")
	}
	x, runs := f.running[key]
	if !runs {
		if len(f.running) >= maxForwards {
			f.mu.Unlock()
			return key, problem(http.StatusServiceUnavailable, fmt.Sprintf("%d ports are forwarded already", maxForwards), "stop a lease, or use gantry port")
		}
		x = &forwarding{opened: make(chan struct{})}
		f.running[key] = x
		server := f.ctx
		f.wg.Go(func() {
			var ended <-chan struct{}
			x.endpoint, ended, x.err = by.Forward(server, lease, port)
			close(x.opened)
			if x.err == nil {
				<-ended
			}
			f.mu.Lock()
			delete(f.running, key)
			f.mu.Unlock()
		})
	}
	f.mu.Unlock()
	select {
	case <-x.opened:
	case <-ctx.Done():
		return key, ctx.Err()
	}
	return Forward{key.Lease, key.Port, x.endpoint, urlOf(x.endpoint)}, x.err
}

// of are the endpoints of a lease's ports that are open.
func (f *forwards) of(lease solana.PublicKey) map[uint16]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[uint16]string{}
	for key, x := range f.running {
		if key.Lease != lease.String() {
			continue
		}
		select {
		case <-x.opened:
			if x.err == nil {
				out[key.Port] = x.endpoint
			}
		default:
		}
	}
	return out
}

type forwardInput struct {
	ID   string `path:"id" minLength:"32" maxLength:"44" pattern:"^[1-9A-HJ-NP-Za-km-z]+$" doc:"Address of the lease"`
	Body struct {
		Port uint16 `json:"port" minimum:"1" maximum:"65535" doc:"In the container"`
	}
}

// registerForward adds the operation.
func (s *Server) registerForward(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "forward-port", Method: http.MethodPost, Path: "/v1/leases/{id}/forwards", Summary: "Reach a port of a lease's container at a port of the server's machine",
		Description:  "As gantry port: every program of the server's machine can connect. A port that is forwarded already is answered as it is. It ends with the lease and with the server.",
		MaxBodyBytes: maxBody, Errors: append(slices.Clone(mistakes), http.StatusRequestEntityTooLarge, http.StatusServiceUnavailable),
	}, s.forward)
	huma.Register(api, read("list-ports", "/v1/leases/{id}/forwards", "Ports of a lease's container: declared ones, those that are forwarded, those with a public name"), s.leasePorts)
}

func (s *Server) forward(ctx context.Context, in *forwardInput) (*reply[Forward], error) {
	id, err := address(in.ID)
	if err != nil {
		return nil, err
	}
	l, a, err := s.ofLease(ctx, id, false)
	if err != nil {
		return nil, err
	}
	if l.Status != market.LeaseRunning.String() {
		return nil, failed(service.Refused(fmt.Sprintf("lease %s is %s, and has no container", in.ID, l.Status), "ask while it runs"))
	}
	f, err := s.forwards.open(ctx, a.Forwarder, id, in.Body.Port)
	if err != nil {
		return nil, failed(err)
	}
	return &reply[Forward]{f}, nil
}
