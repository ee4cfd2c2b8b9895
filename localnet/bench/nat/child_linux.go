package nat

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// child is a member of the lab, in a process and a namespace of its own.
type child struct {
	name string
	key  solana.PublicKey
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Scanner
}

// member starts one in a namespace of the lab.
func (w *testbed) member(ctx context.Context, ns, name string, s setup) (*child, error) {
	s.Keepers, s.Market = w.keepers, w.market
	cmd := exec.CommandContext(ctx, "ip", append([]string{"netns", "exec", w.lab.ns(ns)}, w.o.Member...)...)
	cmd.Stderr = w.o.Log
	cmd.WaitDelay = 5 * time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	c := &child{name: name, key: s.Key.PublicKey(), cmd: cmd, in: in, out: bufio.NewScanner(out)}
	w.children = append(w.children, c)
	_, err = c.send(s)
	return c, err
}

// send writes one line and reads its answer.
func (c *child) send(line any) (answer, error) {
	var a answer
	raw, err := json.Marshal(line)
	if err != nil {
		return a, err
	}
	if _, err := c.in.Write(append(raw, '\n')); err != nil {
		return a, fmt.Errorf("%s: %w", c.name, err)
	}
	if !c.out.Scan() {
		return a, fmt.Errorf("%s: %w", c.name, errors.Join(io.ErrUnexpectedEOF, c.out.Err()))
	}
	if err := json.Unmarshal(c.out.Bytes(), &a); err != nil {
		return a, fmt.Errorf("%s: %w", c.name, err)
	}
	if a.Error != "" {
		return a, fmt.Errorf("%s: %s", c.name, a.Error)
	}
	return a, nil
}

// until asks again until good says so.
func (c *child) until(ctx context.Context, limit time.Duration, line ask, good func(answer) bool) (answer, time.Duration, error) {
	began := time.Now()
	for {
		a, err := c.send(line)
		if err == nil && good(a) {
			return a, time.Since(began), nil
		}
		if time.Since(began) > limit {
			return a, limit, errors.Join(fmt.Errorf("%s: %q was not so after %s: %+v", c.name, line.Do, limit, a), err)
		}
		if wait.For(ctx, 50*time.Millisecond) != nil {
			return a, 0, ctx.Err()
		}
	}
}

// end stops the process. kill is kill -9.
func (c *child) end(kill bool) error {
	if kill {
		err := c.cmd.Process.Kill()
		_ = c.cmd.Wait() // it was killed
		return err
	}
	_ = c.in.Close() // its end of input is its order to leave
	err := c.cmd.Wait()
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// testbed is a lab with its members.
type testbed struct {
	o        Options
	lab      *lab
	keepers  []p2p.Peer
	market   []solana.PublicKey
	children []*child

	ports   map[string]*port
	running []*child // keepers
	keys    []solana.PrivateKey
	node    *child
}

// build makes the lab of the package's picture and starts keepers and the node.
func build(ctx context.Context, o Options, nodeRouter, customerRouter Router) (_ *testbed, err error) {
	w := &testbed{o: o, lab: newLab(), ports: map[string]*port{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	keys := make([]solana.PrivateKey, 5+customers)
	for i := range keys {
		if keys[i], err = solana.NewRandomPrivateKey(); err != nil {
			return w, err
		}
		w.market = append(w.market, keys[i].PublicKey())
	}
	w.keys = keys[4:]
	for i := range 3 {
		name := fmt.Sprint("keeper", i+1)
		p, err := w.lab.addPublic(ctx, name, delayKeeper)
		if err != nil {
			return w, err
		}
		w.ports[name] = p
		w.keepers = append(w.keepers, p2p.Peer{Key: keys[i].PublicKey(), Addrs: []string{fmt.Sprintf("/ip4/%s/tcp/4101", p.addr)}})
	}
	if w.ports["node"], err = w.lab.addHome(ctx, "routerA", "node", 1, nodeRouter, delayNode); err != nil {
		return w, err
	}
	if w.ports["customer"], err = w.lab.addHome(ctx, "routerB", "customer", 2, customerRouter, delayCustomer); err != nil {
		return w, err
	}
	w.lab.start(ctx)
	for i := range 3 {
		name := fmt.Sprint("keeper", i+1)
		k, err := w.member(ctx, name, name, setup{Role: Keeper, Key: keys[i], Addr: w.keepers[i].Addrs[0]})
		if err != nil {
			return w, err
		}
		w.running = append(w.running, k)
	}
	w.node, err = w.member(ctx, "node", "node", setup{Role: Machine, Key: keys[3]})
	return w, err
}

// customers is how many customers have keys.
const customers = 8

// customer starts one with a fresh key of the market.
func (w *testbed) customer(ctx context.Context, name string, relayOnly bool) (*child, error) {
	if len(w.keys) == 0 {
		return nil, errors.New("no keys for more customers")
	}
	key := w.keys[0]
	w.keys = w.keys[1:]
	return w.member(ctx, "customer", name, setup{Role: Customer, Key: key, Relay: relayOnly})
}

// carried is what all keepers together have sent and received, bytes.
func (w *testbed) carried() (n uint64) {
	for name, p := range w.ports {
		if name != "node" && name != "customer" {
			n += p.carried()
		}
	}
	return n
}

func (w *testbed) close() error {
	for _, c := range w.children {
		if c.cmd.ProcessState == nil {
			_ = c.end(true) // nothing of it is needed any more
		}
	}
	return w.lab.close()
}
