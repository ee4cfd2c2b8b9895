package inference

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"
)

var (
	// ErrSpec: a deployment cannot be as it is asked for.
	ErrSpec = errors.New("the deployment")
	// ErrExists: there is another deployment of this name.
	ErrExists = errors.New("there is another deployment of this name")
	// ErrNotFound: there is no such deployment, or no such token.
	ErrNotFound = errors.New("not found")
)

const (
	// maxDeployments is how many a server has.
	maxDeployments = 64
	// maxReplicas is how many one deployment has.
	maxReplicas = 64
	// maxBuying is how many leases are bought at once.
	maxBuying = 16
	// maxConcurrency is how many requests one replica answers at once.
	maxConcurrency = 1024
)

// NamePattern is that of deployments' names, by which requests name their model.
const NamePattern = `^[a-z0-9][a-z0-9._-]{0,62}$`

var nameForm = regexp.MustCompile(NamePattern)

// Spec is a deployment as it was created.
type Spec struct {
	Name string `json:"name"`
	// Asked is what was asked for, as it is shown; it has no secrets.
	Asked json.RawMessage `json:"asked"`
	// Order is what a replica's lease is bought with. It may hold secrets.
	Order json.RawMessage `json:"order"`
	// Port, Path and Model are those of the model server's API.
	Port  uint16 `json:"port"`
	Path  string `json:"path"`
	Model string `json:"model"`
	// A replica serves when HealthPath at HealthPort is answered with a status below 400. One that does not within Deadline is
	// ended.
	HealthPort uint16        `json:"healthPort"`
	HealthPath string        `json:"healthPath"`
	Deadline   time.Duration `json:"deadline"`
	// Min and Max are how many replicas there are.
	Min int `json:"min"`
	Max int `json:"max"`
	// Concurrency is how many requests a replica answers at once; others wait.
	Concurrency int `json:"concurrency"`
	// Idle is how long replicas are kept that are not needed.
	Idle time.Duration `json:"idle"`
	// Lease is for how long each replica's lease is paid in advance, and by how much it is extended near its end.
	Lease time.Duration `json:"lease"`
	// Wait is how long a request waits for a replica.
	Wait    time.Duration `json:"wait"`
	Created time.Time     `json:"created"`
}

// Check reports what a deployment cannot be. Error: ErrSpec.
func (s *Spec) Check() error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%w "+format, append([]any{ErrSpec}, args...)...)
	}
	switch {
	case !nameForm.MatchString(s.Name):
		return fail("has the name %q; a name has a-z, 0-9, dots, dashes and underlines, 63 at most", s.Name)
	case s.Port == 0 || s.HealthPort == 0 || s.HealthPath == "" || s.Deadline <= 0:
		return fail("is of a template without openai and health")
	case s.Max < 1 || s.Max > maxReplicas || s.Min < 0 || s.Min > s.Max:
		return fail("has %d to %d replicas; there are at most %d, and at least one may be", s.Min, s.Max, maxReplicas)
	case s.Concurrency < 1 || s.Concurrency > maxConcurrency:
		return fail("lets a replica answer %d requests at once; write 1 to %d", s.Concurrency, maxConcurrency)
	case s.Lease < time.Second:
		return fail("pays its leases for less than a second")
	case s.Idle < time.Second || s.Wait < time.Second:
		return fail("waits less than a second before it ends a replica, or for one")
	case len(s.Order) == 0:
		return fail("orders nothing")
	}
	return nil
}

// lead is how long before the end of its money a replica is replaced: what the next one takes to serve, or a tenth of a short
// lease. It is extended from twice as long before its end, so that there is time to try again.
func (s *Spec) lead() time.Duration { return min(2*s.Deadline, s.Lease/10) }

// same reports whether a request for a deployment is the one that it was created by.
func (s *Spec) same(o *Spec) bool {
	a, b := *s, *o
	a.Created, b.Created = time.Time{}, time.Time{}
	one, err := json.Marshal(a)
	if err != nil {
		return false
	}
	two, err := json.Marshal(b)
	return err == nil && bytes.Equal(one, two)
}
