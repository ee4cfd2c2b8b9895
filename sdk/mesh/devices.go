package mesh

import (
	"crypto/subtle"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/blake2s"
	"golang.org/x/time/rate"
)

// Types and lengths of WireGuard's messages (its paper, section 5.4), and where an index of the receiver is.
const (
	initiation, response, cookie, transport = 1, 2, 3, 4

	initiationLen, responseLen, cookieLen, transportMin = 148, 92, 64, 32

	mac1Len = 16
)

// initiationsMost is how many initiations a second are looked at. Each is hashed for each device by the goroutine that reads QUIC's
// packets, and a stranger can send any number. Members begin a session every two minutes.
const initiationsMost = 10_000

// indexLife is longer than the life of a session (180 s) and of the handshake before it (90 s of attempts).
const indexLife = 5 * time.Minute

// devices are the WireGuard devices that share a node's sockets.
type devices struct {
	mu     sync.RWMutex
	binds  []*bind
	looked *rate.Limiter     // at initiations; nil without a device
	chosen map[uint32]chosen // by the index that a device chose for its side of a session
	swept  time.Time
}

type chosen struct {
	by *bind
	at time.Time
}

func (d *devices) add(b *bind) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.binds = append(d.binds, b)
	if d.looked == nil {
		d.looked = rate.NewLimiter(initiationsMost, initiationsMost)
	}
}

func (d *devices) remove(b *bind) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, other := range d.binds {
		if other == b {
			d.binds = append(d.binds[:i:i], d.binds[i+1:]...)
			break
		}
	}
	for index, c := range d.chosen {
		if c.by == b {
			delete(d.chosen, index)
		}
	}
}

// sent notes the index in a device's part of a handshake. It reports false where another device has chosen the same one of
// four billion: the message must not leave then, and the device tries again with another index.
func (d *devices) sent(b *bind, packet []byte, now time.Time) bool {
	if len(packet) < 8 || packet[0] != initiation && packet[0] != response {
		return true
	}
	index := binary.LittleEndian.Uint32(packet[4:])
	d.mu.Lock()
	defer d.mu.Unlock()
	if c, ok := d.chosen[index]; ok && c.by != b && now.Sub(c.at) < indexLife {
		return false
	}
	if d.chosen == nil {
		d.chosen = map[uint32]chosen{}
	}
	d.chosen[index] = chosen{by: b, at: now}
	if now.Sub(d.swept) > indexLife {
		for i, c := range d.chosen {
			if now.Sub(c.at) > indexLife {
				delete(d.chosen, i)
			}
		}
		d.swept = now
	}
	return true
}

// deliver hands a packet to the device that it is for.
func (d *devices) deliver(from *Endpoint, packet []byte, foreign *atomic.Uint64) {
	if b := d.receiver(packet); b != nil {
		b.take(from, packet)
		return
	}
	foreign.Add(1)
}

// receiver is the device that a packet is for, or nil. The device checks the packet itself, with its keys.
func (d *devices) receiver(packet []byte) *bind {
	if len(packet) < transportMin || packet[1]|packet[2]|packet[3] != 0 {
		return nil
	}
	at := 4
	switch kind := packet[0]; {
	case kind == initiation && len(packet) == initiationLen:
		return d.named(packet)
	case kind == response && len(packet) == responseLen:
		at = 8
	case kind == cookie && len(packet) == cookieLen:
	case kind == transport:
	default:
		return nil
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.chosen[binary.LittleEndian.Uint32(packet[at:])].by
}

// named is the device whose public key the mac1 of an initiation names.
func (d *devices) named(packet []byte) *bind {
	end := len(packet) - 2*mac1Len
	d.mu.RLock()
	defer d.mu.RUnlock()
	if len(d.binds) == 0 || !d.looked.Allow() {
		return nil
	}
	for _, b := range d.binds {
		mac, err := blake2s.New128(b.mac1Key[:])
		if err != nil {
			return nil // the key has the right length
		}
		mac.Write(packet[:end])
		if subtle.ConstantTimeCompare(mac.Sum(nil), packet[end:end+mac1Len]) == 1 {
			return b
		}
	}
	return nil
}

// mac1Key is the key of mac1 for messages to the owner of a public key.
func mac1Key(public Key) [blake2s.Size]byte {
	return blake2s.Sum256(append([]byte("mac1----"), public[:]...))
}
