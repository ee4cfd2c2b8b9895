package inference

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"
)

// Options of a service. Times that are zero have their defaults.
type Options struct {
	Store   *Store
	Compute Compute
	// Admits reports whether a text is a token that may use every deployment, besides those of the store.
	Admits func(token string) (bool, error)
	Log    zerolog.Logger

	// Every is how often a scaler looks without a reason.
	Every time.Duration
	// HealthEvery and LeaseEvery are how often a replica's health and its lease are looked at.
	HealthEvery, LeaseEvery time.Duration
	// Patience is how long a replica that has served may not answer before it is replaced.
	Patience time.Duration
	// DrainWithin is how long a replica that is not needed any more may take for its last requests.
	DrainWithin time.Duration
	// ReadWithin is how long a client may take to send its request.
	ReadWithin time.Duration
	// Now is the chain's time, which leases end by; nil means time.Now.
	Now func() time.Time
	// Backoff is the first wait after a failure; each further one waits twice as long.
	Backoff time.Duration
}

// Service has deployments and answers requests to them. It is safe for concurrent use.
type Service struct {
	o       Options
	meter   *meter
	proxy   http.Handler
	bodies  *semaphore.Weighted // bytes of requests in memory
	streams chan struct{}       // requests at once
	buying  chan struct{}       // purchases at once

	mu          sync.Mutex
	ctx         context.Context // of Run; nil when it does not run
	running     sync.WaitGroup
	deployments map[string]*deployment
}

// New is a service with what its store has. Nothing is bought or asked before Run.
func New(o Options) (*Service, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Every = cmp.Or(o.Every, time.Second)
	o.HealthEvery = cmp.Or(o.HealthEvery, 5*time.Second)
	o.LeaseEvery = cmp.Or(o.LeaseEvery, 10*time.Second)
	o.Patience = cmp.Or(o.Patience, 45*time.Second)
	o.DrainWithin = cmp.Or(o.DrainWithin, 10*time.Minute)
	o.ReadWithin = cmp.Or(o.ReadWithin, time.Minute)
	o.Backoff = cmp.Or(o.Backoff, time.Second)
	if o.Admits == nil {
		o.Admits = func(string) (bool, error) { return false, nil }
	}
	m, err := newMeter(o.Store)
	if err != nil {
		return nil, err
	}
	s := &Service{
		o: o, meter: m, bodies: semaphore.NewWeighted(maxBodies), streams: make(chan struct{}, maxStreams), buying: make(chan struct{}, maxBuying),
		deployments: map[string]*deployment{},
	}
	s.proxy = s.newProxy()
	all, _, err := o.Store.all()
	if err != nil {
		return nil, err
	}
	for _, rec := range all {
		s.deployments[rec.Spec.Name] = newDeployment(s, rec)
	}
	return s, nil
}

// Run looks after deployments until ctx ends. Leases go on: a server that is started again goes on with them.
func (s *Service) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	_, replicas, err := s.o.Store.all()
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.ctx = ctx
	for name, d := range s.deployments {
		s.running.Go(func() { d.run(ctx, replicas[name]) })
	}
	s.mu.Unlock()
	err = s.meter.run(ctx)
	cancel()
	s.mu.Lock()
	s.ctx = nil
	s.mu.Unlock()
	s.running.Wait()
	return err
}

// Create makes a deployment. One that is there already as it is asked for is no error; fresh says whether it is new. Errors:
// ErrSpec, ErrExists.
func (s *Service) Create(spec Spec) (status DeploymentStatus, fresh bool, err error) {
	if err := spec.Check(); err != nil {
		return DeploymentStatus{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if d, ok := s.deployments[spec.Name]; ok {
		if !d.rec.Spec.same(&spec) || d.status().Deleting {
			return DeploymentStatus{}, false, fmt.Errorf("%w: %q", ErrExists, spec.Name)
		}
		return d.status(), false, nil
	}
	if len(s.deployments) >= maxDeployments {
		return DeploymentStatus{}, false, fmt.Errorf("%w would be one of more than %d", ErrSpec, maxDeployments)
	}
	rec := record{Spec: spec}
	rec.Spec.Created = time.Now().UTC()
	if err := s.o.Store.create(rec); err != nil {
		return DeploymentStatus{}, false, err
	}
	d := newDeployment(s, rec)
	s.deployments[spec.Name] = d
	if s.ctx != nil {
		ctx := s.ctx
		s.running.Go(func() { d.run(ctx, nil) })
	}
	return d.status(), true, nil
}

// Delete begins the end of a deployment: requests that wait are refused, those that are answered end, its leases too. Error:
// ErrNotFound.
func (s *Service) Delete(name string) (DeploymentStatus, error) {
	d, err := s.named(name)
	if err != nil {
		return DeploymentStatus{}, err
	}
	if err := d.remove(); err != nil {
		return DeploymentStatus{}, err
	}
	return d.status(), nil
}

// Deployment is one as it is now, and what was asked for. Error: ErrNotFound.
func (s *Service) Deployment(name string) (DeploymentStatus, Spec, error) {
	d, err := s.named(name)
	if err != nil {
		return DeploymentStatus{}, Spec{}, err
	}
	return d.status(), d.rec.Spec, nil
}

// Deployments are all, by name.
func (s *Service) Deployments() []DeploymentStatus {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.deployments))
	s.mu.Unlock()
	out := make([]DeploymentStatus, 0, len(all))
	for _, d := range all {
		out = append(out, d.status())
	}
	slices.SortFunc(out, func(a, b DeploymentStatus) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func (s *Service) named(name string) (*deployment, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.deployments[name]
	if !ok {
		return nil, fmt.Errorf("deployment %q: %w", name, ErrNotFound)
	}
	return d, nil
}

func (s *Service) forget(d *deployment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.deployments, d.rec.Spec.Name)
}

// admit is the token of a text. Error: ErrNotFound.
func (s *Service) admit(text string) (Token, error) {
	t, err := s.o.Store.Token(text)
	if !errors.Is(err, ErrNotFound) {
		return t, err
	}
	own, aerr := s.o.Admits(text)
	if aerr != nil {
		return t, aerr
	}
	if own {
		return Token{ID: "server", Name: "server"}, nil
	}
	return t, err
}

func sortedKeys[V any](m map[uint64]V) []uint64 { return slices.Sorted(maps.Keys(m)) }

// NewToken makes a token as t says, but for its id and time, and returns its text, which is kept nowhere.
// Error: ErrAmount of package market.
func (s *Service) NewToken(t Token) (Token, string, error) {
	if _, err := t.limit(); err != nil {
		return Token{}, "", err
	}
	return s.o.Store.NewToken(t)
}

// buy is Compute's, a few at once: each reads the market, and many would wait for each other.
func (s *Service) buy(ctx context.Context, name string, order json.RawMessage) (string, error) {
	select {
	case s.buying <- struct{}{}:
		defer func() { <-s.buying }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	return s.o.Compute.Buy(ctx, name, order)
}

// mayAsk reports why a token may use no more. Requests that are answered at once may exceed its budget together: what they use
// is known behind them.
func (s *Service) mayAsk(t *Token) error {
	used := s.meter.used(t.ID)
	limit, err := t.limit()
	if err != nil {
		return err
	}
	var spent string
	switch {
	case t.MaxTokens > 0 && used.tokens >= t.MaxTokens:
		spent = fmt.Sprintf("%d of its %d tokens", used.tokens, t.MaxTokens)
	case t.MaxCost != "" && used.cost >= limit:
		spent = fmt.Sprintf("%s of its %s USDC", used.cost, limit)
	default:
		return nil
	}
	return &apiError{
		status: http.StatusTooManyRequests, Type: "insufficient_quota", Code: "insufficient_quota",
		Message: "this token has used " + spent + "; ask the server's owner for another one",
	}
}

// Tokens are all of them, the oldest first.
func (s *Service) Tokens() ([]Token, error) { return s.o.Store.Tokens() }

// RemoveToken forgets a token. Error: ErrNotFound.
func (s *Service) RemoveToken(id string) error { return s.o.Store.RemoveToken(id) }
