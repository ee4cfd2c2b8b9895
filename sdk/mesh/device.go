package mesh

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"golang.zx2c4.com/wireguard/conn"
	"golang.zx2c4.com/wireguard/device"
	"golang.zx2c4.com/wireguard/tun"
)

// MTU is the largest packet inside of the network, the least that IPv6 asks for. With WireGuard's 32 bytes and the headers of
// UDP and IPv6 it is 1,360: links that carry less than Ethernet's 1,500, such as other tunnels, pass it. quic-go forbids
// fragments on the socket that both share, so larger packets would be lost there.
const MTU = 1280

// keepalive keeps the hole in a home router open; routers forget a silent flow after 30 s and more (RFC 4787 asks for 120).
const keepalive = 15 * time.Second

// Peer is another member of a group.
type Peer struct {
	Key Key
	// Allowed are the addresses inside of the network that are the peer's.
	Allowed []netip.Prefix
	// Endpoint is where the peer is reached; invalid: the peer begins, and is answered where it is. One of two peers should
	// begin: handshakes that cross fail both, and WireGuard tries again after five seconds only.
	Endpoint netip.AddrPort
}

// Session is what a device knows of a peer.
type Session struct {
	Key       Key
	Endpoint  netip.AddrPort
	Handshake time.Time // the last one; zero: none
	Received  uint64    // bytes
	Sent      uint64    // bytes
}

// Device is one end of a group's network: an interface, a key, and the group's peers.
type Device struct {
	device *device.Device
	public Key
}

// Open starts a device on an interface. The device closes the interface.
func (p *Port) Open(t tun.Device, key PrivateKey, log zerolog.Logger) (*Device, error) {
	return open(t, newBind(p, key.Public()), key, log)
}

// OpenAlone starts a device with a UDP port of its own, as other WireGuard programs have it.
func OpenAlone(t tun.Device, key PrivateKey, log zerolog.Logger) (*Device, error) {
	return open(t, conn.NewDefaultBind(), key, log)
}

func open(t tun.Device, b conn.Bind, key PrivateKey, log zerolog.Logger) (*Device, error) {
	d := &Device{device: device.NewDevice(t, b, logger(log)), public: key.Public()}
	if err := d.device.IpcSet("private_key=" + hex.EncodeToString(key.Bytes()) + "\n"); err != nil {
		d.device.Close()
		return nil, fmt.Errorf("mesh: set the key: %w", err)
	}
	if err := d.device.Up(); err != nil {
		d.device.Close()
		return nil, fmt.Errorf("mesh: start the device: %w", err)
	}
	return d, nil
}

// Public is the device's key.
func (d *Device) Public() Key { return d.public }

// SetPeers makes these the only peers. Sessions of peers that stay go on; an endpoint that is not known now stays as it was.
func (d *Device) SetPeers(peers []Peer) error {
	var b strings.Builder
	stay := map[Key]bool{}
	for _, p := range peers {
		stay[p.Key] = true
	}
	now, err := d.Sessions()
	if err != nil {
		return err
	}
	known := map[Key]netip.AddrPort{}
	for _, s := range now {
		known[s.Key] = s.Endpoint
		if !stay[s.Key] {
			fmt.Fprintf(&b, "public_key=%x\nremove=true\n", s.Key[:])
		}
	}
	for _, p := range peers {
		fmt.Fprintf(&b, "public_key=%x\nreplace_allowed_ips=true\npersistent_keepalive_interval=%d\n", p.Key[:], int(keepalive.Seconds()))
		if p.Endpoint.IsValid() && p.Endpoint != known[p.Key] {
			fmt.Fprintf(&b, "endpoint=%s\n", p.Endpoint)
		}
		for _, a := range p.Allowed {
			fmt.Fprintf(&b, "allowed_ip=%s\n", a)
		}
	}
	if err := d.device.IpcSet(b.String()); err != nil {
		return fmt.Errorf("mesh: set the peers: %w", err)
	}
	return nil
}

// Sessions lists the device's peers.
func (d *Device) Sessions() ([]Session, error) {
	text, err := d.device.IpcGet()
	if err != nil {
		return nil, fmt.Errorf("mesh: ask the device: %w", err)
	}
	var out []Session
	var seconds, nanos int64
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), "=")
		if name == "public_key" {
			key, err := hex.DecodeString(value)
			if err != nil || len(key) != KeyLen {
				return nil, fmt.Errorf("%w: %q", ErrKey, value)
			}
			out, seconds = append(out, Session{Key: Key(key)}), 0
			continue
		}
		if len(out) == 0 {
			continue
		}
		s := &out[len(out)-1]
		switch name {
		case "endpoint":
			s.Endpoint, err = netip.ParseAddrPort(value)
		case "rx_bytes":
			s.Received, err = strconv.ParseUint(value, 10, 64)
		case "tx_bytes":
			s.Sent, err = strconv.ParseUint(value, 10, 64)
		case "last_handshake_time_sec":
			seconds, err = strconv.ParseInt(value, 10, 64)
		case "last_handshake_time_nsec":
			if nanos, err = strconv.ParseInt(value, 10, 64); seconds+nanos > 0 {
				s.Handshake = time.Unix(seconds, nanos)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("mesh: %s of a peer: %w", name, err)
		}
	}
	return out, nil
}

// Close ends the device and its sessions.
func (d *Device) Close() { d.device.Close() }

// Done is closed when the device has ended: by Close, or because its interface failed.
func (d *Device) Done() <-chan struct{} { return d.device.Wait() }

func logger(log zerolog.Logger) *device.Logger {
	return &device.Logger{
		Verbosef: func(format string, args ...any) { log.Trace().Msgf(format, args...) },
		Errorf:   func(format string, args ...any) { log.Debug().Msgf(format, args...) },
	}
}
