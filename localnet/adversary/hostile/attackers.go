package hostile

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"golang.org/x/sync/errgroup"
)

const (
	victimAddr = "11.0.2.1"
	// firstKeeper is the place of the first keeper among the attackers.
	firstKeeper = 6
)

// attackingMachine is a namespace with one attacker.
type attackingMachine struct {
	name  string
	setup setup
}

// addAttackers makes the machines of attackers and of the victim.
func (s *suite) addAttackers(ctx context.Context, lease solana.PublicKey) error {
	domain, err := s.net.Chain.Domain(ctx)
	if err != nil {
		return err
	}
	k := s.net.Keys
	ofKeepers, ofMachines, ofGateways := s.peers()
	members := []struct {
		role Role
		key  solana.PrivateKey
	}{
		{Stranger, nil},
		{Stranger, nil},
		{Stranger, nil},
		{Customer, k.Customers[idleCustomer].Key},
		{Tenant, k.Customers[tenant].Key},
		{Machine, s.net.Nodes[machines].Key.Key},
		{Waiting, k.Keepers[waiting].Key},
		{Active, k.Keepers[active].Key},
		{Leaving, k.Keepers[leaving].Key},
		{Expelled, k.Keepers[expelled].Key},
		{Crowd, nil},
	}
	turn := turnShort
	if s.o.For > 5*time.Minute {
		turn = turnLong
	}
	for i, m := range members {
		u := setup{
			Name: fmt.Sprintf("attacker-%d", i+1), Addr: hostileAddr(i), Role: m.role, Key: m.key, Domain: domain, PeriodSecs: period,
			Keepers: ofKeepers, Machines: ofMachines, Gateways: ofGateways, Lease: lease, Victim: victimAddr, For: s.o.For, Turn: turn, First: 5 * i, Only: s.o.Only,
		}
		addresses := 1
		if m.role == Crowd {
			addresses, u.Turn = crowdAddresses, s.o.For
		}
		for n := range addresses {
			u.Addrs6 = append(u.Addrs6, hostileAddr6(i, n))
		}
		for _, n := range s.net.Nodes[:machines] {
			u.Nodes = append(u.Nodes, n.Address)
		}
		s.machines = append(s.machines, attackingMachine{u.Name, u})
	}
	s.machines = append(s.machines, attackingMachine{victim, setup{Name: victim, Addr: victimAddr, For: s.o.For + 5*time.Second}})
	for i, m := range s.machines {
		if err := addMachine(ctx, i, m.name, append([]string{m.setup.Addr}, m.setup.Addrs6...)); err != nil {
			return err
		}
	}
	return nil
}

// attack runs all attackers to their end and adds up what they achieved.
func (s *suite) attack(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	var mu sync.Mutex
	for _, m := range s.machines {
		g.Go(func() error {
			got, err := s.runAttacker(ctx, m)
			if err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			mu.Lock()
			defer mu.Unlock()
			for name, c := range got {
				if m.name == victim {
					s.result.Reflected = c
					continue
				}
				s.result.Attacks[name] = s.result.Attacks[name].plus(c)
			}
			return nil
		})
	}
	return g.Wait()
}

func (s *suite) runAttacker(ctx context.Context, m attackingMachine) (map[string]Count, error) {
	raw, err := json.Marshal(m.setup)
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(s.o.Dir, "logs", m.name+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	args := append([]string{"-n", "19", "ip", "netns", "exec", m.name}, s.o.Attacker...)
	cmd := exec.CommandContext(ctx, "nice", args...)
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(raw), &out, log
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%w; its log: %s", err, log.Name())
	}
	var got map[string]Count
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		return nil, fmt.Errorf("what it says: %w", err)
	}
	return got, nil
}
