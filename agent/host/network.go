package host

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// Network is bandwidth to a peer in 10⁶ bits a second.
type Network struct {
	UpMbps   float64 `json:"up_mbps"`
	DownMbps float64 `json:"down_mbps"`
	Measured bool    `json:"measured"`
	// Note says how, or why not.
	Note string `json:"note"`
}

// NetworkPeer moves bytes to and from another machine and measures the time.
type NetworkPeer interface {
	Send(ctx context.Context, bytes int64) (time.Duration, error)
	Receive(ctx context.Context, bytes int64) (time.Duration, error)
}

func measureNetwork(ctx context.Context, o DetectOptions) Network {
	if o.Peer == nil {
		return Network{Note: "not measured: no peer was given"}
	}
	size := o.NetworkTestBytes
	if size <= 0 {
		size = 16 * mib
	}
	up, err := o.Peer.Send(ctx, size)
	if err != nil {
		return Network{Note: "not measured: " + err.Error()}
	}
	down, err := o.Peer.Receive(ctx, size)
	if err != nil {
		return Network{Note: "not measured: " + err.Error()}
	}
	return Network{
		UpMbps: 8 * megaPerSecond(size, up), DownMbps: 8 * megaPerSecond(size, down),
		Measured: true, Note: fmt.Sprintf("%d MiB each way with one peer", size/mib),
	}
}

// The speed protocol, over any stream: the client sends a letter, 'S' or 'R', and a count (u64le). After 'S' it sends
// that many bytes and the server answers with one byte when it has them all; after 'R' the server sends that many
// bytes.
const (
	speedSend    = 'S'
	speedReceive = 'R'
	speedHeader  = 9
)

// MaxSpeedBytes is the most a speed server moves for one request.
const MaxSpeedBytes = 256 * mib

// ErrSpeed: the other side does not follow the speed protocol.
var ErrSpeed = errors.New("host: malformed speed request")

// StreamPeer is a NetworkPeer over streams, one for each measurement.
type StreamPeer struct {
	// Dial opens a stream to a peer that runs ServeSpeed on it.
	Dial func(ctx context.Context) (io.ReadWriteCloser, error)
}

var _ NetworkPeer = StreamPeer{}

// Send implements [NetworkPeer].
func (p StreamPeer) Send(ctx context.Context, bytes int64) (time.Duration, error) {
	return p.measure(ctx, speedSend, bytes, func(s io.ReadWriter) error {
		if _, err := io.CopyN(s, zeros{}, bytes); err != nil {
			return err
		}
		_, err := io.ReadFull(s, make([]byte, 1))
		return err
	})
}

// Receive implements [NetworkPeer].
func (p StreamPeer) Receive(ctx context.Context, bytes int64) (time.Duration, error) {
	return p.measure(ctx, speedReceive, bytes, func(s io.ReadWriter) error {
		_, err := io.CopyN(io.Discard, s, bytes)
		return err
	})
}

func (p StreamPeer) measure(ctx context.Context, kind byte, bytes int64, move func(io.ReadWriter) error) (time.Duration, error) {
	s, err := p.Dial(ctx)
	if err != nil {
		return 0, fmt.Errorf("host: speed test: %w", err)
	}
	defer s.Close()
	defer context.AfterFunc(ctx, func() { s.Close() })()
	start := time.Now()
	h := binary.LittleEndian.AppendUint64([]byte{kind}, uint64(bytes))
	if _, err = s.Write(h); err == nil {
		err = move(s)
	}
	if err != nil {
		return 0, fmt.Errorf("host: speed test: %w", errors.Join(ctx.Err(), err))
	}
	return time.Since(start), nil
}

// ServeSpeed answers one request on s and returns. The caller sets deadlines and closes s.
func ServeSpeed(s io.ReadWriter) error {
	var h [speedHeader]byte
	if _, err := io.ReadFull(s, h[:]); err != nil {
		return fmt.Errorf("%w: %w", ErrSpeed, err)
	}
	count := binary.LittleEndian.Uint64(h[1:])
	if count > MaxSpeedBytes {
		return fmt.Errorf("%w: %d bytes", ErrSpeed, count)
	}
	var err error
	switch h[0] {
	case speedSend:
		if _, err = io.CopyN(io.Discard, s, int64(count)); err == nil {
			_, err = s.Write([]byte{1})
		}
	case speedReceive:
		_, err = io.CopyN(s, zeros{}, int64(count))
	default:
		return fmt.Errorf("%w: kind %d", ErrSpeed, h[0])
	}
	if err != nil {
		return fmt.Errorf("host: speed test: %w", err)
	}
	return nil
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }
