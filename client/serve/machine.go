package serve

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/socket"
)

// leasesPath is where the page finds what a lease's machine says and does.
const leasesPath = "/page/leases/"

// Machines speaks with the machines of the customer's leases, and with keepers about them. It is safe for concurrent use.
// All errors are those of another's lease, too: service.ErrNoLease.
type Machines interface {
	// Use tells what a lease uses, again and again, until ctx ends or take returns an error.
	Use(ctx context.Context, lease solana.PublicKey, every time.Duration, take func(service.Use) error) error
	Jobs
	// Terminal runs a shell in the lease's container until it ends or ctx does.
	Terminal(ctx context.Context, lease solana.PublicKey, t socket.Screen) error
	// Exec runs a command in the lease's container until it ends, or ctx does, which ends the command.
	Exec(ctx context.Context, lease solana.PublicKey, c socket.Command) (exitCode int, err error)
	// Files opens the files of the lease's container for a task. When ctx ends, so does what is being done.
	Files(ctx context.Context, lease solana.PublicKey, do func(Files) error) error
	// Complain brings the text of a dispute of the lease to the keepers, and tells how many took it, of how many.
	Complain(ctx context.Context, lease solana.PublicKey, text []byte) (reached, all int, err error)
}

// Jobs asks machines about jobs.
type Jobs interface {
	// Job is what the machine says of the lease's job. Error: service.ErrNoLease.
	Job(ctx context.Context, lease solana.PublicKey) (service.Job, error)
}

// isMachineStream reports whether a request is answered for as long as a lease, a shell or a command runs.
func isMachineStream(r *http.Request) bool {
	return r.Method == http.MethodGet && (strings.HasPrefix(r.URL.Path, leasesPath) && strings.HasSuffix(r.URL.Path, "/use") || isSocket(r))
}

// registerMachines adds the operations of the page about leases' machines.
func (s *Server) registerMachines(api huma.API, mux *routes) {
	use := huma.Operation{OperationID: "lease-use", Method: http.MethodGet, Path: leasesPath + "{id}/use", Hidden: true}
	huma.Register(api, use, func(ctx context.Context, in *leaseInput) (*huma.StreamResponse, error) {
		id, err := address(in.ID)
		if err != nil {
			return nil, err
		}
		a, err := s.actorOf(ctx, id, true)
		if err != nil {
			return nil, err
		}
		ctx, done, err := s.streams.open(ctx)
		if err != nil {
			return nil, err
		}
		return &huma.StreamResponse{Body: func(h huma.Context) {
			defer done()
			_, w := humago.Unwrap(h)
			out := newStream(w, done)
			defer out.beats(ctx)()
			if out.send("past", "", s.uses.past(id)) != nil {
				return
			}
			err := a.Machines.Use(ctx, id, useEvery, func(u service.Use) error {
				s.uses.note(id, u)
				return out.send("use", "", u)
			})
			if err != nil && ctx.Err() == nil && out.err() == nil {
				_ = out.send("problem", "", failed(err))
			}
		}}, nil
	})
	type complaintInput struct {
		ID   string `path:"id" maxLength:"44"`
		Body struct {
			Text string `json:"text" minLength:"1" maxLength:"65536" doc:"The text whose sha256 the dispute names"`
		}
	}
	type complaintReply struct {
		Reached int `json:"reached" doc:"Keepers that took it, who pass it on"`
		Keepers int `json:"keepers"`
	}
	complain := huma.Operation{OperationID: "lease-complain", Method: http.MethodPost, Path: leasesPath + "{id}/complaint", Hidden: true, MaxBodyBytes: maxBody}
	huma.Register(api, complain, func(ctx context.Context, in *complaintInput) (*reply[complaintReply], error) {
		id, err := address(in.ID)
		if err != nil {
			return nil, err
		}
		reached, all, err := s.o.Machines.Complain(ctx, id, []byte(in.Body.Text))
		if err != nil {
			return nil, failed(err)
		}
		return &reply[complaintReply]{complaintReply{reached, all}}, nil
	})
	mux.HandleFunc(http.MethodGet+" "+leasesPath+"{id}/terminal", s.terminal)
	mux.HandleFunc(http.MethodGet+" "+apiLeasesPath+"{id}"+execSuffix, s.exec)
}
