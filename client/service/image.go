package service

import (
	"fmt"
	"time"

	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/sdk/messages"
)

// Phases of an image.
const (
	ImageAsking    = "asking"
	ImageFetching  = "fetching"
	ImageUnpacking = "unpacking"
	ImageReady     = "ready"
	ImageFailed    = "failed"
)

// Image is how far a machine has fetched the image of a job, as the machine reports it. Sizes are bytes of layers as the registry
// has them.
type Image struct {
	Phase    string `json:"phase" enum:"asking,fetching,unpacking,ready,failed" doc:"asking: the registry is asked what the image is made of; unpacking: all bytes are there; failed: the machine tries again" jsonschema:"asking, fetching, unpacking, ready, or failed: then the machine tries again"`
	Done     uint64 `json:"doneBytes" doc:"Fetched, or in the machine's cache before" jsonschema:"fetched, or in the machine's cache before"`
	Total    uint64 `json:"totalBytes,omitempty" doc:"Absent while it is not known" jsonschema:"absent while it is not known"`
	Unpacked uint64 `json:"unpackedBytes"`
	Rate     uint64 `json:"bytesPerSecond" doc:"Over the last seconds" jsonschema:"over the last seconds"`
	Layers   uint32 `json:"layers"`
	Finished uint32 `json:"layersDone" doc:"Unpacked ones" jsonschema:"unpacked ones"`
	Still    uint32 `json:"stillSeconds,omitempty" doc:"For how long nothing has come or was unpacked" jsonschema:"for how long nothing has come or was unpacked"`
	Why      string `json:"why,omitempty" doc:"Why the last try has failed" jsonschema:"why the last try has failed"`
}

// maxBytes is the largest number that every reader of JSON takes as it is.
const maxBytes = 1<<53 - 1

// describeImage is a machine's answer: figures that cannot be are cut to what can be.
func describeImage(p *messages.ImagePull) *Image {
	if p == nil {
		return nil
	}
	phases := [...]string{ImageAsking, ImageFetching, ImageUnpacking, ImageReady, ImageFailed}
	if int(p.Phase) >= len(phases) {
		return nil // of a newer machine
	}
	i := &Image{
		Phase: phases[p.Phase], Done: min(p.Done, maxBytes), Total: min(p.Total, maxBytes), Unpacked: min(p.Unpacked, maxBytes), Rate: min(p.Rate, maxBytes),
		Layers: p.Layers, Finished: min(p.LayersDone, p.Layers), Still: p.StillSecs, Why: printable.Text(p.Why),
	}
	if i.Total > 0 {
		i.Done, i.Unpacked = min(i.Done, i.Total), min(i.Unpacked, i.Total)
	}
	return i
}

// Part is how much of the image is fetched, or unpacked in the phase of that, 0 to 1; ok is false while that is not known.
func (i *Image) Part() (part float64, ok bool) {
	switch {
	case i.Phase == ImageReady:
		return 1, true
	case i.Total == 0:
		return 0, false
	case i.Phase == ImageUnpacking:
		return float64(i.Unpacked) / float64(i.Total), true
	}
	return float64(i.Done) / float64(i.Total), true
}

// Left is how long the rest takes at the present rate; ok is false where nobody can know.
func (i *Image) Left() (left time.Duration, ok bool) {
	if i.Phase != ImageFetching || i.Rate == 0 || i.Total == 0 {
		return 0, false
	}
	seconds := float64(i.Total-i.Done) / float64(i.Rate)
	if seconds > (30 * 24 * time.Hour).Seconds() {
		return 0, false
	}
	return time.Duration(seconds * float64(time.Second)), true
}

// StillAfter is after how many seconds without a byte a fetch is said to stand still.
const StillAfter = 10

// Stands says that nothing has come for a while; empty where it has.
func (i *Image) Stands() string {
	if i.Still < StillAfter || i.Phase == ImageReady || i.Phase == ImageFailed {
		return ""
	}
	what := "nothing has come"
	if i.Phase == ImageUnpacking {
		what = "nothing was unpacked"
	}
	return fmt.Sprintf("%s for %s", what, Span(int64(i.Still)))
}
