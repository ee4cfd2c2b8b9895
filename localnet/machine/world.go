package machine

import (
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Addresses of the machine and of its internet.
const (
	// Host is the machine's address, and LAN its one in a private network.
	Host = "11.0.0.1"
	LAN  = "192.168.77.1"
	// Web is on the internet, and answers at Port.
	Web = "13.0.0.1"
	// Port is where everything answers, the machine itself too.
	Port = "80"

	router = "11.0.0.2" // what the machine's default route leads to
	uplink = "up0"
)

// Private are addresses that answer to the machine, and that no lease may reach: private networks, the metadata services of
// clouds, and ranges for special purposes.
var Private = []string{
	"10.9.9.9", "172.16.9.9", "192.168.9.9", "100.64.9.9", "169.254.169.254", "168.63.129.16", "198.18.9.9", "192.0.2.9", "198.51.100.9", "203.0.113.9",
}

// space is a network namespace.
type space netns.NsHandle

// newSpace makes one, which lasts as long as something uses it.
func newSpace() (space, error) {
	type made struct {
		space space
		err   error
	}
	done := make(chan made)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine, and nothing else runs in the namespace
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			done <- made{err: fmt.Errorf("machine: a network of its own: %w", err)}
			return
		}
		ns, err := netns.Get()
		done <- made{space(ns), err}
	}()
	m := <-done
	return m.space, m.err
}

// do runs f in the namespace, on a thread that ends with it.
func (s space) do(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		if err := netns.Set(netns.NsHandle(s)); err != nil {
			done <- fmt.Errorf("machine: enter its network: %w", err)
			return
		}
		done <- f()
	}()
	return <-done
}

func (s space) listen(addr string) (l net.Listener, err error) {
	err = s.do(func() error {
		l, err = net.Listen("tcp4", addr)
		return err
	})
	return l, err
}

func (s space) dial(network, addr string) (c net.Conn, err error) {
	err = s.do(func() error {
		c, err = net.DialTimeout(network, addr, patience)
		return err
	})
	return c, err
}

// connect ties the machine to its internet.
func connect(own, world space) error {
	err := own.do(func() error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = uplink
		pair := &netlink.Veth{LinkAttrs: attrs, PeerName: "eth0", PeerNamespace: netlink.NsFd(world)}
		if err := netlink.LinkAdd(pair); err != nil {
			return err
		}
		return errors.Join(up("lo"), up(uplink, Host+"/24", LAN+"/24"))
	})
	if err != nil {
		return fmt.Errorf("machine: its network: %w", err)
	}
	err = world.do(func() error {
		addrs := []string{Web + "/32"}
		for _, a := range Private {
			addrs = append(addrs, a+"/32")
		}
		return errors.Join(up("eth0", router+"/24"), up("lo", addrs...))
	})
	if err != nil {
		return fmt.Errorf("machine: its internet: %w", err)
	}
	return own.do(func() error {
		if err := netlink.RouteAdd(&netlink.Route{Gw: net.ParseIP(router)}); err != nil {
			return fmt.Errorf("machine: its default route: %w", err)
		}
		return nil
	})
}

// up gives an interface addresses and switches it on.
func up(name string, addrs ...string) error {
	l, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	for _, text := range addrs {
		a, err := netlink.ParseAddr(text)
		if err != nil {
			return err
		}
		if err := netlink.AddrAdd(l, a); err != nil {
			return fmt.Errorf("address %s: %w", text, err)
		}
	}
	return netlink.LinkSetUp(l)
}

// answer says who asks to everyone who connects, until the listener is closed.
func answer(l net.Listener, who string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
			_, _ = io.WriteString(c, who+" answers "+host+"\n")
		}()
	}
}
