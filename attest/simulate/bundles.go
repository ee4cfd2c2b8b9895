package simulate

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/attest/guest"
	"github.com/gantry-market/gantry/attest/inventory"
	"github.com/gantry-market/gantry/attest/nvgpu/nvgputest"
	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/attest/snp/snptest"
)

// lab is a simulated maker of GPUs and processors, a node, and a keeper's policy.
type lab struct {
	at         time.Time
	authority  *nvgputest.Authority
	own, other *nvgputest.GPU
	host       *snptest.Machine
	collateral collateralMap
	policy     policy.Policy
	key        ed25519.PrivateKey
	guest      *guest.Key
}

type collateralMap map[string][]byte

// Get implements [attest.Collateral].
func (m collateralMap) Get(key string) ([]byte, error) {
	if data, ok := m[key]; ok {
		return bytes.Clone(data), nil
	}
	return nil, attest.ErrNoCollateral
}

// root supplies a root and returns its fingerprint.
func (m collateralMap) root(c *x509.Certificate) []string {
	sum := sha256.Sum256(c.Raw)
	name := hex.EncodeToString(sum[:])
	m[policy.RootKey(name)] = c.Raw
	return []string{name}
}

// newLab makes the hardware; its keys take seconds.
func newLab(at time.Time) (*lab, error) {
	l := &lab{at: at.UTC().Truncate(time.Second), collateral: collateralMap{}}
	l.key = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{3}, ed25519.SeedSize))
	var err error
	if l.guest, err = guest.NewKey(); err != nil {
		return nil, err
	}
	if l.authority, err = nvgputest.NewAuthority(); err != nil {
		return nil, err
	}
	for _, g := range []**nvgputest.GPU{&l.own, &l.other} {
		if *g, err = l.authority.NewGPU(nvgputest.GPUOptions{}); err != nil {
			return nil, err
		}
	}
	manifests, err := l.authority.Collateral()
	if err != nil {
		return nil, err
	}
	for key, data := range manifests {
		l.collateral[key] = data
	}
	if l.host, err = snptest.New(l.at); err != nil {
		return nil, err
	}
	l.policy = policy.Default()
	l.policy.AllowSynthetic = true
	roots := l.authority.Roots()
	l.policy.Roots.GPU, l.policy.Roots.RIM = l.collateral.root(roots.Device), l.collateral.root(roots.RIM)
	for _, r := range l.host.Roots() {
		l.policy.Roots.SNP = l.collateral.root(r.ARK)
	}
	launch := l.host.Measurement()
	l.policy.SNP.Measurements = []string{hex.EncodeToString(launch[:])}
	l.policy.SNP.MinTCB = policy.SNPTCB{Bootloader: 3, SNP: 8, Microcode: 115}
	l.policy.SNP.MinLaunchTCB = l.policy.SNP.MinTCB
	return l, nil
}

func (l *lab) challenge(rng *rand.Rand) attest.Challenge {
	return attest.Challenge{
		GenesisHash: [32]byte{1}, Program: [32]byte{2}, ID: draw(rng), Node: [32]byte{7}, SlotHash: draw(rng),
		NodeKey: [32]byte(l.key.Public().(ed25519.PublicKey)), Expiry: l.at.Unix() + 30,
	}
}

// machineOf is the inventory of a machine with one GPU.
func machineOf(uuid string) (attest.Evidence, error) {
	return inventory.Inventory{
		Version: inventory.Version, Cores: 8, RAMMiB: 1 << 16, Driver: nvgputest.Driver,
		GPUs: []inventory.GPU{{Model: "NVIDIA H100 80GB HBM3", UUID: uuid, VRAMMiB: 81_559}},
	}.Evidence()
}

// make answers a challenge. The inventory always names the same GPU; confidential machines add the report of the GPU
// that is really there.
func (l *lab) make(c attest.Challenge, gpu *nvgputest.GPU) (*bundle.Bundle, error) {
	b := &bundle.Bundle{Challenge: c, Created: l.at.Unix()}
	binding := c.Binding()
	inv, err := machineOf("GPU-00000000-0000-4000-8000-000000000001")
	if err != nil {
		return nil, err
	}
	b.Evidence = append(b.Evidence, inv)
	if gpu != nil {
		e, err := gpu.Evidence(0, binding)
		if err != nil {
			return nil, err
		}
		b.Evidence = append(b.Evidence, e)
		b.Sort()
		vouched, err := l.guest.Vouch(b.Evidence, binding, func(data [64]byte) (attest.Evidence, error) { return l.host.Evidence(data, nil) })
		if err != nil {
			return nil, err
		}
		b.Evidence = append(b.Evidence, vouched...)
	}
	return b, b.Sign(l.key)
}

func (l *lab) judge(c attest.Challenge, b *bundle.Bundle) (policy.Claims, error) {
	claims, _, err := policy.Judge(b, l.policy, policy.Subject{Challenge: c}, l.at, l.collateral)
	return claims, err
}

// ask is one challenge whose bundle must be sound and reach a tier.
func (l *lab) ask(rng *rand.Rand, gpu *nvgputest.GPU, tier uint8) (policy.Claims, error) {
	c := l.challenge(rng)
	b, err := l.make(c, gpu)
	if err != nil {
		return policy.Claims{}, err
	}
	claims, err := l.judge(c, b)
	if err != nil {
		return claims, err
	}
	if claims.Tier != tier {
		return claims, fmt.Errorf("tier %d, want %d: %v", claims.Tier, tier, claims.Why)
	}
	return claims, nil
}

// honest answers at its tier.
func (l *lab) honest(gpu *nvgputest.GPU, tier uint8) func(context.Context, *rand.Rand) (string, error) {
	return func(_ context.Context, rng *rand.Rand) (string, error) {
		_, err := l.ask(rng, gpu, tier)
		return "", err
	}
}

// borrowed has another machine's GPU report made for its own challenge; its own guest vouches for none.
func (l *lab) borrowed(_ context.Context, rng *rand.Rand) (string, error) {
	c := l.challenge(rng)
	b, err := l.make(c, l.own)
	if err != nil {
		return "", err
	}
	report, err := l.other.Evidence(0, c.Binding())
	if err != nil {
		return "", err
	}
	replace(b, report)
	return l.refused(c, b)
}

// invented has no GPU at all, and names one.
func (l *lab) invented(_ context.Context, rng *rand.Rand) (string, error) {
	_, err := l.ask(rng, nil, 1)
	return "", err
}

// otherAccount shows the bundle that it made as the node of one owner as that of another, signed anew.
func (l *lab) otherAccount(_ context.Context, rng *rand.Rand) (string, error) {
	c := l.challenge(rng)
	b, err := l.make(c, l.own)
	if err != nil {
		return "", err
	}
	c.Node[0]++
	b.Challenge = c
	return l.refused(c, b)
}

// replace puts a piece in place of that of its kind and signs again.
func replace(b *bundle.Bundle, e attest.Evidence) {
	b.Evidence = slices.DeleteFunc(slices.Clone(b.Evidence), func(x attest.Evidence) bool { return x.Kind == e.Kind })
	b.Evidence = append(b.Evidence, e)
}

// exchanged has the guest answer honestly, puts another genuine piece of this challenge in place of one, and signs again.
func (l *lab) exchanged(kind attest.Kind) func(context.Context, *rand.Rand) (string, error) {
	return func(_ context.Context, rng *rand.Rand) (string, error) {
		c := l.challenge(rng)
		b, err := l.make(c, l.own)
		if err != nil {
			return "", err
		}
		var e attest.Evidence
		switch kind {
		case attest.KindInventory:
			e, err = machineOf("GPU-00000000-0000-4000-8000-000000000002")
		case attest.KindNVGPU:
			e, err = l.own.Evidence(0, c.Binding())
		default:
			var other *guest.Key
			if other, err = guest.NewKey(); err != nil {
				return "", err
			}
			var vouched []attest.Evidence
			vouched, err = other.Vouch(b.Evidence, c.Binding(), func([64]byte) (attest.Evidence, error) { return b.OfKind(attest.KindSNP)[0], nil })
			if err == nil {
				e = vouched[0]
			}
		}
		if err != nil {
			return "", err
		}
		replace(b, e)
		return l.refused(c, b)
	}
}

// refused signs and judges a bundle and says why it did not reach tier 3.
func (l *lab) refused(c attest.Challenge, b *bundle.Bundle) (string, error) {
	if err := b.Sign(l.key); err != nil {
		return "", err
	}
	claims, err := l.judge(c, b)
	switch {
	case errors.Is(err, attest.ErrStale):
		return fmt.Sprintf("the policy: %s", claims.Verdict), nil
	case err != nil:
		return "", err
	case claims.Tier < 3:
		return fmt.Sprintf("the policy: tier %d", claims.Tier), nil
	}
	return "", nil
}

// swapped has its GPU exchanged between two challenges, and says nothing of it.
func (l *lab) swapped(tier uint8) func(context.Context, *rand.Rand) (string, error) {
	return func(_ context.Context, rng *rand.Rand) (string, error) {
		first, second := l.own, l.other
		if tier < 3 {
			first, second = nil, nil
		}
		before, err := l.ask(rng, first, tier)
		if err != nil {
			return "", err
		}
		after, err := l.ask(rng, second, tier)
		if err != nil {
			return "", err
		}
		if !slices.Equal(before.Attested(), after.Attested()) || before.DeviceRoot != after.DeviceRoot {
			return "another device than before", nil
		}
		return "", nil
	}
}

// replayed answers with an older challenge's bundle, or with a new one that holds an older piece of evidence.
func (l *lab) replayed(kind attest.Kind) func(context.Context, *rand.Rand) (string, error) {
	return func(_ context.Context, rng *rand.Rand) (string, error) {
		old, err := l.make(l.challenge(rng), l.own)
		if err != nil {
			return "", err
		}
		c := l.challenge(rng)
		if kind == 0 {
			claims, err := l.judge(c, old)
			if errors.Is(err, attest.ErrStale) {
				return fmt.Sprintf("the policy: %s", claims.Verdict), nil
			}
			return "", err
		}
		b, err := l.make(c, l.own)
		if err != nil {
			return "", err
		}
		replace(b, old.OfKind(kind)[0])
		return l.refused(c, b)
	}
}

func draw(rng *rand.Rand) (b [32]byte) {
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}
