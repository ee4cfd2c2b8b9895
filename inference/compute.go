package inference

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"time"

	"github.com/gantry-market/gantry/sdk/market"
)

// ErrOver: the lease has ended, or is closed.
var ErrOver = errors.New("the lease is over")

// Compute buys, ends and reaches leases. Its methods are safe for concurrent use.
type Compute interface {
	// Buy brings the purchase of a name to a running lease, or goes on with it where an earlier call ended, also one of
	// another process. It buys once for a name.
	Buy(ctx context.Context, name string, order json.RawMessage) (lease string, err error)
	// Abandon ends what a purchase has come to: its order, and its leases. It may be repeated.
	Abandon(ctx context.Context, name string) error
	// Lease is the present state of a lease. Error: ErrOver.
	Lease(ctx context.Context, lease string) (Lease, error)
	// Extend pays for more time of a running lease, once for a key, also when an earlier call, or one of another process, has
	// sent it already. It returns the lease as it is then.
	Extend(ctx context.Context, key, lease string, by time.Duration) (Lease, error)
	// Stop ends a lease; one that is over already is no error.
	Stop(ctx context.Context, lease string) error
	// Connect is the way to the container of a lease.
	Connect(ctx context.Context, lease string) (Connection, error)
}

// Lease is what a replica has to know of its lease.
type Lease struct {
	// PerHour is the price of all its GPUs.
	PerHour market.USDC
	// Until is when its money ends.
	Until time.Time
}

// Connection reaches ports of one container.
type Connection interface {
	Dial(ctx context.Context, port uint16) (net.Conn, error)
	Close() error
}
