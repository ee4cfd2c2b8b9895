package nat

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// mtu is that of the backbone, bytes.
const mtu = 1500

// port is where one machine meets the backbone: a TUN interface whose other end is in the machine's namespace.
type port struct {
	name  string
	addr  netip.Addr
	delay time.Duration // one way, to the middle of the backbone
	file  *os.File

	in, out atomic.Uint64 // bytes to and from the machine
}

// backbone routes packets among ports by their destination.
type backbone struct {
	ports map[netip.Addr]*port
	wg    sync.WaitGroup
}

// parcel is a packet on its way.
type parcel struct {
	due  time.Time
	data []byte
}

// inFlight bounds the packets between two ports; what does not fit is lost, as in any router.
const inFlight = 4096

// openTun makes a TUN interface in this namespace. It can be moved to another one and stays connected to the file.
func openTun(name string) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("/dev/net/tun: %w", err)
	}
	req, err := unix.NewIfreq(name)
	if err == nil {
		req.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, req)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("TUN interface %s: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// start carries packets until the files are closed.
func (b *backbone) start(ctx context.Context) {
	for _, from := range b.ports {
		lines := map[netip.Addr]chan parcel{}
		for addr, to := range b.ports {
			if to == from {
				continue
			}
			line := make(chan parcel, inFlight)
			lines[addr] = line
			b.wg.Go(func() { deliver(ctx, line, to) })
		}
		b.wg.Go(func() { b.collect(from, lines) })
	}
}

func (b *backbone) collect(from *port, lines map[netip.Addr]chan parcel) {
	buf := make([]byte, 1<<16)
	defer func() {
		for _, l := range lines {
			close(l)
		}
	}()
	for {
		n, err := from.file.Read(buf)
		if err != nil {
			return // closed, or the namespace is gone
		}
		if n < 20 || buf[0]>>4 != 4 {
			continue // IPv4 only
		}
		to := b.ports[netip.AddrFrom4([4]byte(buf[16:20]))]
		if to == nil || to == from {
			continue
		}
		from.out.Add(uint64(n))
		select {
		case lines[to.addr] <- parcel{time.Now().Add(from.delay + to.delay), append([]byte(nil), buf[:n]...)}:
		default:
		}
	}
}

// deliver hands packets over when they are due, in order.
func deliver(ctx context.Context, line <-chan parcel, to *port) {
	for p := range line {
		if wait := time.Until(p.due); wait > 0 {
			t := time.NewTimer(wait)
			select {
			case <-t.C:
			case <-ctx.Done():
				t.Stop()
			}
		}
		if _, err := to.file.Write(p.data); err == nil {
			to.in.Add(uint64(len(p.data)))
		}
	}
}

func (b *backbone) close() error {
	var errs error
	for _, p := range b.ports {
		errs = errors.Join(errs, p.file.Close())
	}
	b.wg.Wait()
	return errs
}

// carried is how many bytes a machine has sent and received, the IP headers included.
func (p *port) carried() uint64 { return p.in.Load() + p.out.Load() }

// addrOf is the n-th address of the backbone.
func addrOf(n int) netip.Addr {
	var a [4]byte
	binary.BigEndian.PutUint32(a[:], 11<<24|uint32(n))
	return netip.AddrFrom4(a)
}
