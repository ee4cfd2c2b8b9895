package container

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/gantry-market/gantry/sdk/tunnel"
)

const (
	// maxLinks is how many streams lead to one port of a container; a machine takes 8 of a customer, for all ports and shells.
	maxLinks = 4
	// linkFull is how many connections a stream carries before another one is opened.
	linkFull = tunnel.MaxConnections - 16
)

// Ports connects with ports of one container, over as many streams as its connections need.
type Ports struct {
	c      *Container
	memory *tunnel.Memory

	mu    sync.Mutex
	links map[uint16][]*Forwarder
}

// NewPorts connects with any port of a container.
func NewPorts(c *Container) *Ports {
	return &Ports{c: c, memory: tunnel.NewMemory(ForwardMemory), links: map[uint16][]*Forwarder{}}
}

// Close ends the streams.
func (p *Ports) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, links := range p.links {
		for _, f := range links {
			f.close()
		}
	}
}

// Dial connects with a port.
func (p *Ports) Dial(ctx context.Context, port uint16) (net.Conn, error) {
	s, err := p.link(ctx, port)
	if err != nil {
		return nil, err
	}
	conn, err := s.Dial(ctx, port)
	if errors.Is(err, tunnel.ErrNothingListens) {
		return nil, fmt.Errorf("nothing in the container listens on port %d", port)
	}
	return conn, err
}

// link is the stream to a port with the fewest connections, or a new one where all are full.
func (p *Ports) link(ctx context.Context, port uint16) (*tunnel.Session, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var best *tunnel.Session
	for _, f := range p.links[port] {
		s, err := f.Connect(ctx)
		if err != nil {
			return nil, err
		}
		if best == nil || s.Connections() < best.Connections() {
			best = s
		}
	}
	if best != nil && (best.Connections() < linkFull || len(p.links[port]) >= maxLinks) {
		return best, nil
	}
	f := &Forwarder{c: p.c, port: port, memory: p.memory}
	s, err := f.Connect(ctx)
	if err != nil {
		return best, errIfNone(best, err)
	}
	p.links[port] = append(p.links[port], f)
	return s, nil
}

func errIfNone(s *tunnel.Session, err error) error {
	if s != nil {
		return nil
	}
	return err
}
