package policy

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/attest/guest"
	"github.com/gantry-market/gantry/attest/inventory"
	"github.com/gantry-market/gantry/attest/nvgpu/nvgputest"
	"github.com/gantry-market/gantry/attest/tpm"
	"github.com/gantry-market/gantry/attest/tpm/tpmtest"
)

// remembering verifies each piece of evidence once for what its verifier reads of the bundle: verifiers are functions of
// that, and most pieces of a mutated bundle are genuine.
type remembering struct {
	attest.Verifier
	mu    sync.Mutex
	known map[[32]byte]outcome
}

type outcome struct {
	result attest.Result
	err    error
}

func (v *remembering) Verify(e attest.Evidence, b attest.Binding, now time.Time) (attest.Result, error) {
	var key bytes.Buffer
	fmt.Fprintf(&key, "%d %d %x %d ", e.Kind, e.Instance, b.Nonce, now.Unix())
	switch data := b.ReportData(); e.Kind {
	case attest.KindGuest:
		key.Write(b.Claims[:])
	case attest.KindSNP, attest.KindTDX:
		key.Write(data[:])
	case attest.KindTPM:
		key.Write(b.Others[:])
	}
	for _, item := range e.Items {
		fmt.Fprintf(&key, " %s %d %s", item.Name, len(item.Data), item.Data)
	}
	h := sha256.Sum256(key.Bytes())
	v.mu.Lock()
	got, ok := v.known[h]
	v.mu.Unlock()
	if !ok {
		got.result, got.err = v.Verifier.Verify(e, b, now)
		v.mu.Lock()
		if len(v.known) < 10_000 {
			v.known[h] = got
		}
		v.mu.Unlock()
	}
	r := got.result
	r.Devices, r.Keys, r.Checks = slices.Clone(r.Devices), slices.Clone(r.Keys), slices.Clone(r.Checks)
	return r, got.err
}

// original is a genuine bundle of tier 2 or 3 and what a keeper judges answers to its challenge with.
type original struct {
	lab    *lab
	bundle *bundle.Bundle
	by     attest.Kind // what vouches for it: a TEE, or a TPM
	tier   uint8
	// sealed is what its guest has vouched for, or its TPM has quoted.
	sealed    [32]byte
	guest     []attest.Item
	verifiers []attest.Verifier
}

// originals are bundles of two machines, each by SEV-SNP, by TDX and by its TPM alone, and for two challenges.
func originals(t *testing.T) []original {
	h, err := theHardware()
	require.NoError(t, err)
	var out []original
	for machine := range 2 {
		own, err := guest.NewKey()
		require.NoError(t, err)
		var gpus []*nvgputest.GPU
		for range 2 {
			g, err := h.authority.NewGPU(nvgputest.GPUOptions{})
			require.NoError(t, err)
			gpus = append(gpus, g)
		}
		for _, by := range []attest.Kind{attest.KindSNP, attest.KindTDX, attest.KindTPM} {
			for challenge := range byte(2) {
				made := newTPMLab(t)
				l := made.lab
				l.guest, l.gpus = own, gpus
				if machine == 1 {
					l.key = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{8}, ed25519.SeedSize))
					l.challenge.Node, l.challenge.NodeKey = [32]byte{8}, [32]byte(l.key.Public().(ed25519.PublicKey))
					l.inv.GPUs = slices.Clone(l.inv.GPUs)
					for i := range l.inv.GPUs {
						l.inv.GPUs[i].UUID = fmt.Sprintf("GPU-99999999-0000-4000-8000-%012d", i)
					}
				}
				l.challenge.ID = [32]byte{40 + challenge}
				out = append(out, made.original(by, machine))
			}
		}
	}
	return out
}

// original makes the machine's bundle: of its TPM when it is by that, else of its confidential machine.
func (l *tpmLab) original(by attest.Kind, machine int) original {
	o := original{lab: l.lab, by: by, tier: 3}
	keepers := []ed25519.PublicKey{l.keeper.Public().(ed25519.PublicKey)}
	var err error
	if by == attest.KindTPM {
		o.tier = 2
		chip := []*tpmtest.TPM{&l.mine, &l.next}[machine]
		chip.Statements = []tpm.Statement{l.statement(chip, l.subject())}
		o.bundle = l.with(chip, l.plain())
	} else {
		o.bundle = l.bundle(by)
		o.guest = o.bundle.OfKind(attest.KindGuest)[0].Items
	}
	o.sealed, err = o.seal(o.bundle)
	require.NoError(l.t, err)
	verifiers, err := Standard(l.policy, l.collateral, Subject{Challenge: l.challenge, Keepers: keepers})
	require.NoError(l.t, err)
	for _, v := range verifiers {
		o.verifiers = append(o.verifiers, &remembering{Verifier: v, known: map[[32]byte]outcome{}})
	}
	c, err := Evaluate(o.bundle, l.policy, o.verifiers, l.now)
	require.NoError(l.t, err)
	require.Equal(l.t, o.tier, c.Tier, c.Why)
	return o
}

// seal is the digest of what a bundle's guest must have vouched for, or its TPM have quoted.
func (o *original) seal(b *bundle.Bundle) ([32]byte, error) {
	if o.tier == 2 {
		return bundle.Others(b.Evidence)
	}
	return bundle.Claims(b.Evidence)
}

// mutant is a copy of an original, changed by who has the node's key and all bundles, but neither a GPU's key, nor the
// processor's, nor the guest's.
type mutant struct {
	rng *rand.Rand
	all []original
	b   *bundle.Bundle
}

func (m *mutant) piece() *attest.Evidence {
	if len(m.b.Evidence) == 0 {
		m.b.Evidence = []attest.Evidence{m.other(0)}
	}
	return &m.b.Evidence[m.rng.IntN(len(m.b.Evidence))]
}

// other is a genuine piece of any bundle; 0 is any kind.
func (m *mutant) other(kind attest.Kind) attest.Evidence {
	for {
		from := m.all[m.rng.IntN(len(m.all))].bundle.Evidence
		if e := from[m.rng.IntN(len(from))]; kind == 0 || e.Kind == kind {
			return copied(e)
		}
	}
}

func copied(e attest.Evidence) attest.Evidence {
	e.Items = slices.Clone(e.Items)
	for i := range e.Items {
		e.Items[i].Data = bytes.Clone(e.Items[i].Data)
	}
	return e
}

// unreadable is what came of a mutant that is no bundle.
const unreadable = "no bundle"

// mutations each change one thing; some may change nothing.
var mutations = []func(*mutant){
	func(m *mutant) { // another genuine piece in its place
		e := m.piece()
		instance := e.Instance
		for range 8 {
			if o := m.other(0); o.Kind == e.Kind {
				*e = o
				break
			}
		}
		e.Instance = instance
	},
	func(m *mutant) { // the whole inventory of another genuine bundle, after guest or TPM have answered
		for i := range m.b.Evidence {
			if m.b.Evidence[i].Kind == attest.KindInventory {
				m.b.Evidence[i] = m.other(attest.KindInventory)
			}
		}
	},
	func(m *mutant) { // everything of a kind from another genuine bundle: its GPUs, its guest, its TEE, its TPM
		kind := m.piece().Kind
		from := m.all[m.rng.IntN(len(m.all))].bundle.OfKind(kind)
		m.b.Evidence = slices.DeleteFunc(m.b.Evidence, func(e attest.Evidence) bool { return e.Kind == kind })
		for _, e := range from {
			m.b.Evidence = append(m.b.Evidence, copied(e))
		}
	},
	func(m *mutant) { // a genuine piece more
		e := m.other(0)
		if e.Kind == attest.KindNVGPU {
			e.Instance = uint16(m.rng.IntN(10))
		}
		m.b.Evidence = append(m.b.Evidence, e)
	},
	func(m *mutant) { // one less
		m.piece()
		m.b.Evidence = slices.Delete(m.b.Evidence, 0, 1)
	},
	func(m *mutant) { // an item of another piece
		e, o := m.piece(), m.other(0)
		if len(e.Items) > 0 && len(o.Items) > 0 {
			e.Items[m.rng.IntN(len(e.Items))].Data = o.Items[m.rng.IntN(len(o.Items))].Data
		}
	},
	func(m *mutant) { // bits
		e := m.piece()
		if len(e.Items) > 0 {
			if data := e.Items[m.rng.IntN(len(e.Items))].Data; len(data) > 0 {
				data[m.rng.IntN(len(data))] ^= 1 << m.rng.IntN(8)
			}
		}
	},
	func(m *mutant) { // length
		e := m.piece()
		if len(e.Items) > 0 {
			item := &e.Items[m.rng.IntN(len(e.Items))]
			if m.rng.IntN(2) == 0 {
				item.Data = item.Data[:m.rng.IntN(len(item.Data)+1)]
			} else {
				item.Data = append(item.Data, byte(m.rng.Uint32()))
			}
		}
	},
	func(m *mutant) { // numbers of GPUs
		for i := range m.b.Evidence {
			if e := &m.b.Evidence[i]; e.Kind == attest.KindNVGPU {
				e.Instance ^= 1
			}
		}
	},
	func(m *mutant) { // kinds
		m.piece().Kind = attest.Kind(m.rng.IntN(8))
	},
	(*mutant).inventory,
	func(m *mutant) { // a guest's key that the host made
		for i := range m.b.Evidence {
			if m.b.Evidence[i].Kind != attest.KindGuest {
				continue
			}
			m.b.Sort()
			own, err := guest.NewKey()
			if err != nil {
				return
			}
			if vouched, err := own.Vouch(m.b.Evidence, m.b.Challenge.Binding(), func([64]byte) (attest.Evidence, error) {
				return attest.Evidence{}, nil
			}); err == nil {
				m.b.Evidence[i] = vouched[0]
			}
			return
		}
	},
	func(m *mutant) { m.b.Created += int64(m.rng.IntN(41) - 20) },
}

// inventory describes another machine.
func (m *mutant) inventory() {
	for i := range m.b.Evidence {
		inv, err := inventory.FromEvidence(m.b.Evidence[i])
		if err != nil {
			continue
		}
		inv.GPUs = slices.Clone(inv.GPUs)
		if len(inv.GPUs) > 0 {
			g := &inv.GPUs[m.rng.IntN(len(inv.GPUs))]
			switch m.rng.IntN(5) {
			case 0:
				g.UUID = fmt.Sprintf("GPU-99999999-0000-4000-8000-%012d", m.rng.IntN(4))
			case 1:
				g.Model, g.VRAMMiB = "NVIDIA H200", 143_771
			case 2:
				g.Index += m.rng.IntN(3)
			case 3:
				inv.GPUs = inv.GPUs[1:]
			case 4:
				inv.GPUs = append(inv.GPUs, inventory.GPU{Index: 9, Model: g.Model, UUID: "GPU-99999999-0000-4000-8000-000000000009", VRAMMiB: g.VRAMMiB})
			}
		}
		inv.RAMMiB += uint64(m.rng.IntN(2))
		if e, err := inv.Evidence(); err == nil {
			m.b.Evidence[i] = e
		}
		return
	}
}

// judgeMutant makes a mutant of a seed and has it judged as a keeper does: it fails if one reaches tier 3 by other claims
// than those that its guest has seen, tier 2 by other evidence than its TPM has quoted, or any tier without the node's
// signature over it. It says what came of the mutant, and whether that still is what was vouched for.
func judgeMutant(all []original, seed uint64) (what string, genuine bool, err error) {
	rng := rand.New(rand.NewPCG(seed, 1))
	o := all[rng.IntN(len(all))]
	b := *o.bundle
	b.Evidence = slices.Clone(b.Evidence)
	for i := range b.Evidence {
		b.Evidence[i] = copied(b.Evidence[i])
	}
	m := mutant{rng: rng, all: all, b: &b}
	for range 1 + rng.IntN(4) {
		mutations[rng.IntN(len(mutations))](&m)
	}
	b.Sort()
	signs := rng.IntN(16) != 0
	if signs && b.Sign(o.lab.key) != nil {
		return unreadable, false, nil
	}
	raw, err := b.Encode()
	if err != nil {
		return unreadable, false, nil
	}
	read, err := bundle.Parse(raw)
	if err != nil {
		return unreadable, false, nil
	}
	c, _ := Evaluate(read, o.lab.policy, o.verifiers, o.lab.now)
	what = fmt.Sprintf("by %s: tier %d of %d, %s", o.by, c.Tier, o.tier, c.Verdict)
	if c.Tier == 0 {
		return what, false, nil
	}
	if read.VerifySignature() != nil {
		return what, false, fmt.Errorf("tier %d without the node's signature", c.Tier)
	}
	sealed, err := o.seal(read)
	if err != nil {
		return what, false, err
	}
	genuine = sealed == o.sealed
	if o.tier == 3 {
		keys := read.OfKind(attest.KindGuest)
		genuine = genuine && len(keys) == 1 && slices.EqualFunc(keys[0].Items, o.guest, func(x, y attest.Item) bool {
			return x.Name == y.Name && bytes.Equal(x.Data, y.Data)
		})
	}
	if c.Tier > 1 && (!genuine || c.Tier != o.tier) {
		return what, false, fmt.Errorf("tier %d for other evidence than what was vouched for: %v", c.Tier, c.Attested())
	}
	return what, genuine && c.Tier == o.tier, nil
}

// No bundle that was changed or put together of genuine pieces after a guest or a TPM has answered reaches tier 3 or 2. The
// nightly run draws a million (GANTRY_BUNDLES).
func TestMutatedBundlesAreNotAccepted(t *testing.T) {
	count := uint64(3000)
	if s := os.Getenv("GANTRY_BUNDLES"); s != "" {
		var err error
		count, err = strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
	}
	all := originals(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	same, outcomes := 0, map[string]int{}
	workers := uint64(runtime.GOMAXPROCS(0))
	for w := range workers {
		wg.Go(func() {
			for seed := w; seed < count; seed += workers {
				what, genuine, err := judgeMutant(all, seed)
				mu.Lock()
				outcomes[what]++
				if genuine {
					same++
				}
				mu.Unlock()
				if err != nil {
					t.Errorf("bundle %d: %v", seed, err)
					return
				}
			}
		})
	}
	wg.Wait()
	for _, what := range slices.Sorted(maps.Keys(outcomes)) {
		t.Logf("%8d %s", outcomes[what], what)
	}
	t.Logf("%d bundles, %d of which still say what guest or TPM has seen, none accepted besides", count, same)
	require.Positive(t, same, "the originals are accepted, and changes besides the claims leave them so")
	require.Less(t, uint64(same), count/5)
}
