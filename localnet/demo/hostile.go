package demo

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"strings"

	"github.com/gantry-market/gantry/localnet/machine"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// hostileScript waits to be told addresses, asks all of them at once and prints who answers, then tries to forge packets.
const hostileScript = `until [ -e ` + askFile + ` ]; do sleep 0.2; done; for a in $(cat ` + askFile + `); do
  ( x=$(printf 'GET / HTTP/1.0\r\n\r\n' | timeout 8 nc -w 4 ${a%:*} ${a##*:} 2>/dev/null); echo asked $a $x ) &
done; wait; ping -c 1 -w 1 ` + machine.Web + ` >/dev/null 2>&1 && echo raw sockets; echo all asked`

// askFile is where the hostile container finds what it asks.
const askFile = "/tmp/ask"

// web is what a container may reach.
var web = net.JoinHostPort(machine.Web, machine.Port)

// runHostile rents a second container on the machine of the first and stays until it has ended. It is rented at once, for a
// machine that has leases is not measured, and could have no more of them if its last measurement failed.
func (d *demo) runHostile(ctx context.Context, customer seed.Wallet, image string) (said string, err error) {
	out, err := d.gantry(ctx, customer, containerArgs(image, "--run-to-completion", "--", "sh", "-c", hostileScript)...)
	return jobOutput(out.Stderr), err
}

// hostileLease waits for the lease of the hostile container on the machine of another container.
func (d *demo) hostileLease(ctx context.Context, node *network.Machine, victim market.Lease) (lease market.Lease, err error) {
	err = d.until(ctx, containerWait, "the hostile container's lease", func(v *view.View) bool {
		for _, l := range v.LeasesOfNode(node.Address) {
			if l.Address != victim.Address && l.Customer == victim.Customer && (l.State() == market.LeaseRunning || l.State() == market.LeaseEnded) {
				lease = l
				return true
			}
		}
		return false
	})
	return lease, err
}

// attack has the hostile container try to reach what it must not: private ranges, the metadata service, the machine itself,
// the registry, and the other lease of its machine. What it says is in said once over is closed.
func (d *demo) attack(ctx context.Context, customer seed.Wallet, node *network.Machine, hostile, victim market.Lease, said *string, over <-chan struct{}) (step int, err error) {
	neighbour, gateway, err := d.addresses(ctx, customer, victim.Address.String())
	if err != nil {
		return 0, err
	}
	// The machine itself reaches these; that a container does not is the rules' doing.
	forbidden := []string{d.net.Registry()}
	for _, a := range append([]string{machine.Host, machine.LAN, gateway}, machine.Private...) {
		forbidden = append(forbidden, net.JoinHostPort(a, machine.Port))
	}
	step = d.out.begin("a hostile container of "+customer.Name+" beside it attacks", fmt.Sprintf("it tries %d addresses", len(forbidden)+2))
	// The file is there at once with all that is in it.
	write := "cat >" + askFile + ".new <<end && mv " + askFile + ".new " + askFile + "\n" + strings.Join(append([]string{web, neighbour}, forbidden...), "\n") + "\nend\n"
	if _, err := d.inside(ctx, customer, "exec", hostile.Address.String(), "sh", "-c", write); err != nil {
		return step, err
	}
	if err := d.answersItself(ctx, customer, victim.Address.String(), neighbour); err != nil {
		return step, err
	}
	if err := passed(ctx, over); err != nil {
		return step, err
	}
	d.judge(ctx, step, node, *said, neighbour, forbidden)
	return step, nil
}

// judge compares what a hostile container was answered with what it may be, and with what its machine is answered.
func (d *demo) judge(ctx context.Context, step int, node *network.Machine, said, neighbour string, forbidden []string) {
	answers := answersIn(said)
	d.expect.that(strings.Contains(said, "all asked"), "the hostile container has asked everything", "it said %q", said)
	equal(d.expect, answers[web], "the internet answers "+machine.Host, "a container reaches the internet, as its machine")
	d.out.note(step, web+", on the internet: "+answers[web])
	reached, machines := 0, 0
	for _, a := range append([]string{neighbour}, forbidden...) {
		answer, asked := answers[a]
		if !d.expect.that(asked && answer == "", "a hostile container does not reach "+a, "asked %v, answered %q", asked, answer) {
			reached++
		}
	}
	for _, a := range forbidden {
		text, err := d.net.Ask(ctx, node, a)
		if d.expect.that(err == nil && text != "", "the machine itself reaches "+a, "%v", err) {
			machines++
		}
	}
	d.expect.that(!strings.Contains(said, "raw sockets"), "a hostile container cannot forge packets")
	d.out.note(step, fmt.Sprintf("private ranges, the metadata service, ports of its machine, the lease beside it: %d of %d reached", reached, len(forbidden)+1),
		fmt.Sprintf("its machine itself reaches %d of the %d, and the lease beside it answers itself", machines, len(forbidden)))
}

// answersIn are what a hostile container was answered, by address; empty where no answer came.
func answersIn(said string) map[string]string {
	answers := map[string]string{}
	for line := range strings.SplitSeq(said, "\n") {
		if rest, ok := strings.CutPrefix(line, "asked "); ok {
			address, answer, _ := strings.Cut(rest, " ")
			answers[address] = answer
		}
	}
	return answers
}

// addressLine is what a container says of its address.
var addressLine = regexp.MustCompile(`inet (\d+\.\d+\.\d+\.\d+)/`)

// addresses are that of a container's web server, host:port, and that of its machine's end of its network.
func (d *demo) addresses(ctx context.Context, customer seed.Wallet, lease string) (server, gateway string, err error) {
	shown, err := d.inside(ctx, customer, "exec", lease, "sh", "-c", "ip -4 addr show eth0; ip route")
	if err != nil {
		return "", "", err
	}
	found := addressLine.FindStringSubmatch(shown)
	if found == nil {
		return "", "", fmt.Errorf("the container shows no address: %q", shown)
	}
	_, rest, ok := strings.Cut(shown, "via ")
	if !ok {
		return "", "", fmt.Errorf("the container shows no gateway: %q", shown)
	}
	return net.JoinHostPort(found[1], pagePort), strings.Fields(rest)[0], nil
}

// answersItself expects that a container reaches its own web server at an address: that another one does not is the rules' doing.
func (d *demo) answersItself(ctx context.Context, customer seed.Wallet, lease, at string) error {
	host, port, err := net.SplitHostPort(at)
	if err != nil {
		return err
	}
	answered, err := d.inside(ctx, customer, "exec", lease, "sh", "-c", `printf 'GET / HTTP/1.0\r\n\r\n' | nc "$@"`, "sh", host, port)
	if err != nil {
		return err
	}
	d.expect.that(strings.Contains(answered, page), "the container answers itself at "+at, "it said %q", answered)
	return nil
}
