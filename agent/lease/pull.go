package lease

import (
	"math"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/agent/image"
	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/sdk/messages"
)

// phasesOfImages are those of package image as customers are told them.
var phasesOfImages = map[image.Phase]messages.ImagePhase{
	image.Asking: messages.ImageAsking, image.Fetching: messages.ImageFetching, image.Unpacking: messages.ImageUnpacking, image.Ready: messages.ImageReady,
}

// pull is how the image of a lease is fetched: its customer can ask how far it is.
func (m *Manager) pull(lease solana.PublicKey) runtime.Pull {
	return runtime.Pull{Credential: m.credential(lease), Report: func(p image.Progress) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.pulls[lease] = messages.ImagePull{
			Phase: phasesOfImages[p.Phase], Total: count(p.Total), Done: count(p.Done), Unpacked: count(p.Unpacked), Rate: count(p.Rate),
			Layers: small(p.Layers), LayersDone: small(p.LayersDone), StillSecs: small(int(p.Still / time.Second)),
		}
	}}
}

// count is a number that is not negative.
func count(n int64) uint64 { return uint64(max(0, n)) }

func small(n int) uint32 { return uint32(min(max(0, n), math.MaxInt32)) }

// pullFailed notes why an image did not come. The worker tries again.
func (m *Manager) pullFailed(lease solana.PublicKey, why error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.pulls[lease]
	p.Phase, p.Rate, p.StillSecs, p.Why = messages.ImageFailed, 0, 0, printable.Text(why.Error())
	m.pulls[lease] = p
}

// pulling is how far the image of a lease is; nil where that is not known.
func (m *Manager) pulling(lease solana.PublicKey) *messages.ImagePull {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, known := m.pulls[lease]
	if !known {
		return nil
	}
	return &p
}
