package terminal

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/screen"
)

// imageLineEvery is how often plain lines say how far an image is, at most; sameFailureEvery how often they repeat why it does not come.
const imageLineEvery, sameFailureEvery = 5 * time.Second, 30 * time.Second

// Pace says which news of images get a plain line: each phase, and what has come every few seconds. The zero value is ready.
type Pace struct {
	mu   sync.Mutex
	last map[solana.PublicKey]said
}

// said is the last line about an image.
type said struct {
	at         time.Time
	phase, why string
}

// due reports whether a line is to be printed now.
func (p *Pace) due(e buy.Fetching, now time.Time) bool {
	if p == nil {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	before, next, every := p.last[e.Lease.Address], said{now, e.Image.Phase, e.Image.Why}, time.Duration(0)
	switch {
	case before.why != "" && next.phase == service.ImageAsking: // the next try
		next.why, every = before.why, sameFailureEvery
	case before.why != "" && next.why == before.why:
		every = sameFailureEvery
	case next.phase == before.phase:
		every = imageLineEvery
	}
	if now.Sub(before.at) < every {
		return false
	}
	if p.last == nil {
		p.last = map[solana.PublicKey]said{}
	}
	p.last[e.Lease.Address] = next
	return true
}

// fetching prints how far the image of a lease is.
func (s Lines) fetching(e buy.Fetching) {
	if !s.Pace.due(e, time.Now()) {
		return
	}
	if i := &e.Image; i.Phase == service.ImageFailed {
		s.Say(" ! image    %s reports: %s; it tries again", service.Short(e.Lease.Node), i.Why)
	} else {
		s.Say(" · image    %s reports: %s", service.Short(e.Lease.Node), ImageText(i))
	}
}

// ImageText is how far an image is, in a line.
func ImageText(i *service.Image) string {
	switch i.Phase {
	case service.ImageAsking:
		return joined("asks the registry for the image", i.Stands())
	case service.ImageReady:
		return size(i) + " are there"
	case service.ImageFailed:
		return "failed: " + i.Why
	case service.ImageUnpacking:
		return joined(fmt.Sprintf("unpacks %s, %d of %d layers", size(i), i.Finished, i.Layers), i.Stands())
	}
	texts := fetchTexts(i)
	return fmt.Sprintf("fetched %s, %d of %d layers unpacked", texts[0], i.Finished, i.Layers)
}

// joined puts parts that are not empty in a line.
func joined(parts ...string) string {
	out := parts[:0]
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, ", ")
}

// size is how large the image is.
func size(i *service.Image) string { return screen.Bytes(i.Total) }

// come is how much of an image has come, of how much where that is known.
func come(i *service.Image) string {
	if i.Total == 0 {
		return screen.Bytes(i.Done)
	}
	return screen.BytesOf(i.Done, i.Total)
}

// fetchTexts say how far a fetch is, the longest first.
func fetchTexts(i *service.Image) []string {
	if i.Stands() != "" {
		short := "nothing for " + screen.Took(time.Duration(i.Still)*time.Second)
		return []string{joined(come(i), i.Stands()), joined(come(i), short), short}
	}
	rate := joined(come(i), screen.Figure(float64(i.Rate)/1e6)+" MB/s")
	left, known := i.Left()
	if !known {
		return []string{rate, come(i)}
	}
	rest := fmt.Sprintf("%.0f s left", max(left.Seconds(), 1))
	if left >= 2*time.Minute {
		rest = screen.Rough(left) + " left"
	}
	return []string{joined(rate, "about "+rest), joined(rate, rest), rate, come(i)}
}

// fetch takes how far the image of a lease is.
func (s *state) fetch(e buy.Fetching, now time.Time) {
	if s.images == nil {
		s.images = map[solana.PublicKey]service.Image{}
	}
	s.images[e.Lease.Address] = e.Image
	all := s.allImages()
	s.goOn(brought, now, s.imageTexts(&all)...)
	part, known := all.Part()
	if !known {
		part = screen.None
	}
	x := &s.steps[brought]
	if x.Part = nil; all.Phase == service.ImageFetching || all.Phase == service.ImageUnpacking {
		x.Part = &part
	}
}

// imageTexts are the details of the step, the longest first.
func (s *state) imageTexts(i *service.Image) []string {
	switch i.Phase {
	case service.ImageFetching:
		return fetchTexts(i)
	case service.ImageUnpacking:
		return []string{joined("unpacks "+size(i), i.Stands()), "unpacks"}
	case service.ImageFailed:
		return []string{"tries again: " + i.Why}
	}
	return s.bringing()
}

// allImages adds up the images of the leases that are not left: the phase is that of the one that is least far.
func (s *state) allImages() (all service.Image) {
	order := []string{service.ImageFailed, service.ImageAsking, service.ImageFetching, service.ImageUnpacking, service.ImageReady}
	first := len(order)
	for lease, i := range s.images {
		if !s.has(lease) {
			continue
		}
		all.Done, all.Total, all.Unpacked, all.Rate = all.Done+i.Done, all.Total+i.Total, all.Unpacked+i.Unpacked, all.Rate+i.Rate
		if at := slices.Index(order[:first], i.Phase); at >= 0 {
			first, all.Phase, all.Still, all.Why = at, i.Phase, i.Still, i.Why
		}
	}
	return all
}
