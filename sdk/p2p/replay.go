package p2p

import (
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"
)

// replayWindow is how many sequence numbers behind the newest one a message of an author may come in: gossip takes
// several ways and may overtake itself.
const replayWindow = 4096

// maxReplayAuthors bounds the memory; only keys that take part get here.
const maxReplayAuthors = 1024

// replays remembers which sequence numbers of which author were seen. Gossip itself forgets messages after two minutes;
// without this anyone could send old ones again, and use up the author's share. A number starts at the author's clock
// in nanoseconds and grows by one a message, so that it goes on growing after a restart.
type replays struct {
	mu      sync.Mutex
	authors map[peer.ID]*window
}

// window holds one bit for each of the last numbers.
type window struct {
	newest uint64
	bits   [replayWindow / 64]uint64
}

func newReplays() *replays { return &replays{authors: map[peer.ID]*window{}} }

// add records a sequence number and reports whether it is new.
func (r *replays) add(author peer.ID, seq uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	w, ok := r.authors[author]
	if !ok {
		if len(r.authors) >= maxReplayAuthors {
			clear(r.authors) // the window of gossip itself still holds
		}
		w = &window{newest: seq}
		r.authors[author] = w
		w.set(seq)
		return true
	}
	return w.add(seq)
}

func (w *window) add(seq uint64) bool {
	switch {
	case seq > w.newest:
		if seq-w.newest >= replayWindow {
			w.bits = [replayWindow / 64]uint64{}
		} else {
			for n := w.newest + 1; n <= seq; n++ {
				w.clear(n)
			}
		}
		w.newest = seq
	case w.newest-seq >= replayWindow || w.has(seq):
		return false
	}
	w.set(seq)
	return true
}

func (w *window) set(n uint64)      { w.bits[n/64%uint64(len(w.bits))] |= 1 << (n % 64) }
func (w *window) clear(n uint64)    { w.bits[n/64%uint64(len(w.bits))] &^= 1 << (n % 64) }
func (w *window) has(n uint64) bool { return w.bits[n/64%uint64(len(w.bits))]&(1<<(n%64)) != 0 }
