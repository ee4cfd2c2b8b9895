package market

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// OrderRequest is what a pod asks for: the fields of the API's order that the provider uses.
type OrderRequest struct {
	GPU      string `json:"gpu"`
	Count    int    `json:"count"`
	Seconds  int64  `json:"seconds"`
	MaxPrice string `json:"maxPricePerGpuHour,omitempty"`
	Image    string `json:"image"`
	// RegistryUser and RegistryPassword open the registry of an image that is not public.
	RegistryUser     string            `json:"registryUser,omitempty"`
	RegistryPassword string            `json:"registryPassword,omitempty"`
	Entrypoint       string            `json:"entrypoint,omitempty"`
	Command          []string          `json:"command,omitempty"`
	Env              map[string]string `json:"env,omitempty"`
	User             string            `json:"user,omitempty"`
	Region           string            `json:"region,omitempty"`
	Network          string            `json:"network,omitempty"`
	CPUs             int64             `json:"cpus,omitempty"`
	MemoryMiB        int64             `json:"memoryMiB,omitempty"`
	DiskMiB          int64             `json:"diskMiB,omitempty"`
	ShmMiB           int64             `json:"shmMiB,omitempty"`
	Ports            []Port            `json:"ports,omitempty"`
	RunToCompletion  bool              `json:"runToCompletion"`
	UntilStopped     bool              `json:"untilStopped"`
	Budget           string            `json:"budget,omitempty"`
	AllowSimulated   bool              `json:"allowSimulated,omitempty"`
}

// Port is one that a container listens on.
type Port struct {
	Name string `json:"name,omitempty"`
	Port int32  `json:"port"`
}

// Order is a purchase.
type Order struct {
	Phase  string  `json:"phase"`
	Order  string  `json:"order"`
	Leases []Lease `json:"leases"`
}

// Bought reports whether the purchase has come to a lease.
func (o *Order) Bought() bool { return o.Phase == "bought" && len(o.Leases) > 0 }

// Statuses of a lease, and reasons of its end, in the words of the API.
const (
	StatusAwarded = "awarded"
	StatusRunning = "running"

	EndedByCustomer = "by customer"
	EndedByProvider = "by provider"
	EndedFunds      = "funds used up"
	EndedFailed     = "node failed"
	EndedJobDone    = "job done"
)

// Lease is a lease as it is now.
type Lease struct {
	Address   string `json:"address"`
	Node      string `json:"node"`
	Status    string `json:"status"`
	EndReason string `json:"endReason"`
	GPUs      int    `json:"gpus"`
	Model     string `json:"model"`
	Price     string `json:"pricePerGpuHour"`
	StartedAt int64  `json:"startedAt"`
	EndedAt   int64  `json:"endedAt"`
	Cost      string `json:"costAtMost"`
	Paid      string `json:"paid"`
}

// Over reports whether nothing runs on the lease any more.
func (l *Lease) Over() bool { return l.Status != StatusAwarded && l.Status != StatusRunning }

// States of a job.
const (
	JobWaiting = "waiting"
	JobRunning = "running"
	JobBroken  = "broken"
)

// Job is what a machine says of a lease's job.
type Job struct {
	State     string `json:"state"`
	ExitCode  *int32 `json:"exitCode"`
	StartedAt int64  `json:"startedAt"`
	Detail    string `json:"detail"`
}

// Over reports whether the job has ended.
func (j *Job) Over() bool { return j.State != JobWaiting && j.State != JobRunning }

// Offer is a machine that fits a search.
type Offer struct {
	Model    string `json:"model"`
	Status   string `json:"status"`
	FreeGPUs int64  `json:"freeGpus"`
	CPUCores int64  `json:"cpuCores"`
	RAMMiB   int64  `json:"ramMib"`
	DiskGiB  int64  `json:"diskGib"`
	Price    string `json:"pricePerGpuHour"`
}

// Buy orders a lease, or continues the purchase of this key. It never buys twice for a key. An order that is not bought yet
// is to be asked for again.
func (c *Client) Buy(ctx context.Context, key string, r *OrderRequest) (o Order, err error) {
	err = c.ask(ctx, http.MethodPost, "/v1/orders", nil, key, r, &o)
	return o, err
}

// Lease is one lease of the customer.
func (c *Client) Lease(ctx context.Context, address string) (l Lease, err error) {
	err = c.ask(ctx, http.MethodGet, leasePath(address), nil, "", nil, &l)
	return l, err
}

// Job is what the machine says of a lease's job.
func (c *Client) Job(ctx context.Context, address string) (j Job, err error) {
	err = c.ask(ctx, http.MethodGet, leasePath(address)+"/job", nil, "", nil, &j)
	return j, err
}

// Stop ends a lease. One that is over is answered as it is.
func (c *Client) Stop(ctx context.Context, address string) (l Lease, err error) {
	err = c.ask(ctx, http.MethodPost, leasePath(address)+"/stop", nil, "", nil, &l)
	return l, err
}

// Forward leads a port of the server's machine into a lease's container, and returns its address there.
func (c *Client) Forward(ctx context.Context, address string, port int32) (endpoint string, err error) {
	var f struct {
		Endpoint string `json:"endpoint"`
	}
	err = c.ask(ctx, http.MethodPost, leasePath(address)+"/forwards", nil, "", map[string]int32{"port": port}, &f)
	return f.Endpoint, err
}

// Offers are the machines that fit a search, at most limit of them.
func (c *Client) Offers(ctx context.Context, terms string, limit int) ([]Offer, error) {
	var found struct {
		Offers []Offer `json:"offers"`
	}
	err := c.ask(ctx, http.MethodGet, "/v1/offers", url.Values{"q": {terms}, "limit": {strconv.Itoa(limit)}}, "", nil, &found)
	return found.Offers, err
}

// Health fails when the server does not answer.
func (c *Client) Health(ctx context.Context) error {
	var h struct{}
	return c.ask(ctx, http.MethodGet, "/health", nil, "", nil, &h)
}

func leasePath(address string) string { return "/v1/leases/" + url.PathEscape(address) }
