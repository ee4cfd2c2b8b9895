package doctor

import (
	"context"
	"net"
	"os"
	"strings"

	"github.com/multiformats/go-multiaddr"
)

// checkListen binds what the settings name and lets go of it.
func checkListen(ctx context.Context, m *Machine) Finding {
	if len(m.Config.Listen) == 0 {
		return good("the settings name no port; the agent takes any")
	}
	if m.running() {
		return none("the agent is running, and listens itself")
	}
	for _, text := range m.Config.Listen {
		const fix = "sudo gantry-agent run --listen /ip4/0.0.0.0/tcp/9931"
		a, err := multiaddr.NewMultiaddr(text)
		if err != nil {
			return bad(fix, "%s is not a multiaddress: %v", text, err)
		}
		ip, err := a.ValueForProtocol(multiaddr.P_IP4)
		if err != nil {
			if ip, err = a.ValueForProtocol(multiaddr.P_IP6); err != nil {
				return bad(fix, "%s names no address of this machine", text)
			}
		}
		if port, err := a.ValueForProtocol(multiaddr.P_TCP); err == nil {
			l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(ip, port))
			if err != nil {
				return bad("sudo ss -lntp 'sport = :"+port+"'", "%s cannot be listened at: %v", text, err)
			}
			l.Close()
		} else if port, err := a.ValueForProtocol(multiaddr.P_UDP); err == nil {
			l, err := new(net.ListenConfig).ListenPacket(ctx, "udp", net.JoinHostPort(ip, port))
			if err != nil {
				return bad("sudo ss -lnup 'sport = :"+port+"'", "%s cannot be listened at: %v", text, err)
			}
			l.Close()
		} else {
			return bad(fix, "%s names no port of TCP or UDP", text)
		}
	}
	return good("%s", strings.Join(m.Config.Listen, ", "))
}

// running reports whether systemd runs the agent.
func (m *Machine) running() bool {
	pids, err := os.ReadFile(m.path("/sys/fs/cgroup/system.slice/gantry-agent.service/cgroup.procs"))
	return err == nil && len(pids) > 0
}
