package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/sdk/chain"
)

const clockCommand = "sudo apt-get install -y chrony && sudo systemctl enable --now chrony && sudo chronyc makestep"

func checkClockSync(_ context.Context, m *Machine) Finding {
	var t unix.Timex // no modes: the kernel is asked, not told
	state, err := m.Adjtimex(&t)
	if err != nil {
		return poor("timedatectl", "the kernel does not say whether the clock is synchronised: %v", err)
	}
	if state == unix.TIME_ERROR || t.Status&unix.STA_UNSYNC != 0 {
		return automatic(poor(clockCommand, "the clock is not synchronised"))
	}
	return good("synchronised, within %v by the kernel's estimate", time.Duration(t.Maxerror)*time.Microsecond)
}

// clockOff is how far this machine's clock may be from the time of the newest block, which is a second or two old and has whole
// seconds; a few more are the network's.
const clockOff = 10 * time.Second

func checkClockChain(ctx context.Context, m *Machine) Finding {
	client, err := m.client()
	if err != nil {
		return none("%v (rpc)", err)
	}
	defer client.Close()
	at, err := client.ClusterTime(ctx, chain.Confirmed)
	if err != nil {
		return none("the chain's time is unknown (rpc): %v", err)
	}
	switch off := time.Since(at).Round(time.Second); {
	case off.Abs() <= clockOff:
		return good("%v from the chain's newest block", off)
	case m.local(ctx, client):
		return poor(clockCommand, "%v from the chain's newest block; a local network's engine may have moved it", off)
	default:
		side := "ahead of"
		if off < 0 {
			side = "behind"
		}
		return automatic(bad(clockCommand, "%v %s the chain's newest block; leases do not suffer, since the agent goes by the chain's time for them, but bids in sealed auctions, "+
			"certificates and buckets of customers' backups do", off.Abs(), side))
	}
}

// client is of the endpoints in the settings.
func (m *Machine) client() (*chain.Client, error) {
	return chain.New(chain.Options{Endpoints: m.Config.Endpoints(), Commitment: chain.Confirmed, Timeout: Limit, Log: zerolog.Nop()})
}

func (m *Machine) local(ctx context.Context, client *chain.Client) bool {
	genesis, err := client.Genesis(ctx)
	return err == nil && runtime.Cluster{GenesisHash: genesis.String(), Endpoints: m.Config.URLs()}.CheckLocal() == nil
}

func checkRPC(ctx context.Context, m *Machine) Finding {
	const fix = "sudo gantry-agent doctor --url URL"
	client, err := m.client()
	if err != nil {
		return bad(fix, "%v", err)
	}
	defer client.Close()
	genesis, err := client.Genesis(ctx)
	if err != nil {
		return bad(fix, "%s: %v", m.Config.RPC, err)
	}
	if why := m.foreign(genesis.String()); why != "" {
		return bad(fix, "%s", why)
	}
	// Genesis asks all endpoints, and one that answers suffices it.
	cluster := runtime.Cluster{GenesisHash: genesis.String(), Endpoints: m.Config.URLs()}
	if err := cluster.CheckLocal(); err != nil && m.Config.Simulates() {
		return bad("sudo gantry-agent init --inventory nvml", "the settings simulate GPUs, which only local networks take: %v", err)
	}
	return good("%s answers, genesis %s", m.Config.RPC, genesis)
}

// foreign says why a cluster is not the one that the settings name.
func (m *Machine) foreign(genesis string) string {
	for name, want := range map[string]string{
		"mainnet-beta": runtime.GenesisMainnetBeta, "testnet": runtime.GenesisTestnet, "devnet": runtime.GenesisDevnet,
	} {
		if url, err := chain.ResolveURL(name); err == nil && url == m.Config.RPC && genesis != want {
			return fmt.Sprintf("%s is not %s: its genesis is %s, must be %s", url, name, genesis, want)
		}
	}
	return ""
}
