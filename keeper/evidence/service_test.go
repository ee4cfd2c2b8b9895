package evidence

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/attest/guest"
	"github.com/gantry-market/gantry/attest/inventory"
	"github.com/gantry-market/gantry/attest/nvgpu/nvgputest"
	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/attest/snp/snptest"
	"github.com/gantry-market/gantry/keeper/evidence/archive"
	"github.com/gantry-market/gantry/sdk/market"
)

// machine is a node with two GPUs, as real as its test makes it.
type machine struct {
	t       *testing.T
	key     ed25519.PrivateKey
	account solana.PublicKey
	inv     inventory.Inventory
	gpus    []*nvgputest.GPU
	tee     *snptest.Machine
	guest   *guest.Key
	now     time.Time
	asked   byte
}

func newMachine(t *testing.T, n byte) *machine {
	own, err := guest.NewKey()
	require.NoError(t, err)
	return &machine{
		t: t, guest: own, key: ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize)), account: solana.PublicKey{n}, now: time.Now().Truncate(time.Second),
		inv: inventory.Inventory{
			Version: inventory.Version, Cores: 4, RAMMiB: 4096, Driver: nvgputest.Driver, GPUs: []inventory.GPU{
				{Index: 0, Model: "NVIDIA H100", UUID: "GPU-00000000-0000-4000-8000-00000000000" + string('a'+n)},
				{Index: 1, Model: "NVIDIA H100", UUID: "GPU-00000000-0000-4000-8000-00000000001" + string('a'+n)},
			},
		},
	}
}

func (m *machine) devices() [][32]byte {
	var out [][32]byte
	for _, g := range m.inv.GPUs {
		out = append(out, policy.DeviceHash([]byte(g.UUID)))
	}
	return out
}

func (m *machine) question(devices [][32]byte) Question {
	m.asked++
	return Question{Account: m.account, Devices: devices, Challenge: attest.Challenge{
		GenesisHash: [32]byte{1}, ID: [32]byte{m.asked}, Node: m.account, NodeKey: [32]byte(m.key.Public().(ed25519.PublicKey)), Expiry: m.now.Unix() + 60,
	}}
}

func (m *machine) answer(q Question) []byte {
	b := &bundle.Bundle{Challenge: q.Challenge, Created: m.now.Unix()}
	binding := q.Challenge.Binding()
	inv, err := m.inv.Evidence()
	require.NoError(m.t, err)
	b.Evidence = []attest.Evidence{inv}
	for i, g := range m.gpus {
		e, err := g.Evidence(uint16(i), binding)
		require.NoError(m.t, err)
		b.Evidence = append(b.Evidence, e)
	}
	if m.tee != nil {
		m.vouch(b)
	}
	require.NoError(m.t, b.Sign(m.key))
	raw, err := b.Encode()
	require.NoError(m.t, err)
	return raw
}

// altered changes a bundle of the machine's, and signs it as an answer to a question.
func (m *machine) altered(raw []byte, q Question, change func(*bundle.Bundle)) []byte {
	b, err := bundle.Parse(raw)
	require.NoError(m.t, err)
	b.Challenge = q.Challenge
	change(b)
	require.NoError(m.t, b.Sign(m.key))
	raw, err = b.Encode()
	require.NoError(m.t, err)
	return raw
}

// vouch has the machine's guest vouch for what the bundle has, in place of what vouched for it before.
func (m *machine) vouch(b *bundle.Bundle) {
	without(b, attest.KindGuest, attest.KindSNP)
	b.Sort()
	vouched, err := m.guest.Vouch(b.Evidence, b.Challenge.Binding(), func(data [64]byte) (attest.Evidence, error) {
		return m.tee.Evidence(data, nil)
	})
	require.NoError(m.t, err)
	b.Evidence = append(b.Evidence, vouched...)
}

// keepTime is how long the bundles of tests are kept.
const keepTime = 2 * 365 * 24 * time.Hour

func newService(t *testing.T, p policy.Policy, sources ...attest.Collateral) (*Service, string) {
	dir := filepath.Join(t.TempDir(), "evidence")
	d, err := New(Options{Policy: p, Folder: dir, Keep: keepTime, Sources: sources})
	require.NoError(t, err)
	return d, dir
}

func TestHonestNode(t *testing.T) {
	d, dir := newService(t, policy.Default())
	m := newMachine(t, 1)
	var hashes []string
	for range 7 {
		q := m.question(m.devices())
		v, err := d.Judge(q, m.answer(q), m.now)
		require.NoError(t, err)
		require.True(t, v.Passed, v.Summary())
		require.False(t, v.Changed)
		require.EqualValues(t, 1, v.Tier)
		require.Contains(t, v.Summary(), "not tier 2")
		hashes = append(hashes, hexOf(v.Hash))
	}
	kept, err := archive.Open(dir, keepTime)
	require.NoError(t, err)
	all, err := kept.Bundles(m.account)
	require.NoError(t, err)
	require.Len(t, all, len(hashes), "every bundle is kept")
	raw, err := kept.Read(m.account, hashes[len(hashes)-1])
	require.NoError(t, err)
	b, err := bundle.Parse(raw)
	require.NoError(t, err)
	digest, err := b.Digest()
	require.NoError(t, err)
	require.Equal(t, hashes[len(hashes)-1], hexOf(digest))
}

func TestSimulatedNode(t *testing.T) {
	d, _ := newService(t, policy.Default())
	m := newMachine(t, 1)
	m.inv.Simulated = true
	q := m.question(m.devices())
	v, err := d.Judge(q, m.answer(q), m.now)
	require.NoError(t, err)
	require.True(t, v.Passed)
	require.Zero(t, v.Tier)
	require.NotZero(t, v.Hash)
}

func TestSwappedDeviceIsFoundInTheNextCycle(t *testing.T) {
	d, _ := newService(t, policy.Default())
	m := newMachine(t, 1)
	registered := m.devices()
	q := m.question(registered)
	v, err := d.Judge(q, m.answer(q), m.now)
	require.NoError(t, err)
	require.True(t, v.Passed)
	m.inv.GPUs[1].UUID = "GPU-00000000-0000-4000-8000-00000000beef"
	q = m.question(registered)
	v, err = d.Judge(q, m.answer(q), m.now)
	require.NoError(t, err)
	require.False(t, v.Passed)
	require.True(t, v.Changed)
	require.Zero(t, v.Tier)
	require.Contains(t, v.Summary(), "1 of 2 registered GPUs")

	q = m.question(nil)
	v, err = d.Judge(q, m.answer(q), m.now)
	require.NoError(t, err)
	require.True(t, v.Passed, "what is not known of the chain is not held against a node")
	more := append([][32]byte(nil), registered[:1]...)
	q = m.question(more)
	v, err = d.Judge(q, m.answer(q), m.now)
	require.NoError(t, err)
	require.True(t, v.Passed, "a GPU more than registered is no fault")
}

func TestWhatIsFalseAndWhatIsNot(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(*machine, Question) []byte
		passed bool
		tier   uint8
		kept   bool
	}{
		"a second inventory": {func(m *machine, q Question) []byte {
			return m.altered(m.answer(q), q, func(b *bundle.Bundle) {
				second := b.Evidence[0]
				second.Instance = 1
				b.Evidence = append(b.Evidence, second)
			})
		}, false, 0, true},
		"what a guest has seen of another challenge, under this one": {func(m *machine, q Question) []byte {
			var err error
			m.tee, err = snptest.New(m.now)
			require.NoError(m.t, err)
			return m.altered(m.answer(m.question(nil)), q, func(*bundle.Bundle) {})
		}, false, 0, true},
		"replayed bundle":     {func(m *machine, _ Question) []byte { return m.answer(m.question(nil)) }, true, 0, false},
		"another account":     {func(m *machine, q Question) []byte { q.Challenge.Node[5]++; return m.answer(q) }, true, 0, false},
		"unreadable":          {func(*machine, Question) []byte { return []byte("bundle") }, true, 0, false},
		"nothing":             {func(*machine, Question) []byte { return nil }, true, 0, false},
		"clock far behind":    {func(m *machine, q Question) []byte { m.now = m.now.Add(-time.Hour); return m.answer(q) }, true, 0, true},
		"signature of none":   {func(m *machine, q Question) []byte { raw := m.answer(q); raw[230] ^= 1; return raw }, true, 0, true},
		"one byte of the end": {func(m *machine, q Question) []byte { raw := m.answer(q); return raw[:len(raw)-1] }, true, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := newService(t, policy.Default())
			m := newMachine(t, 1)
			q, now := m.question(m.devices()), m.now
			v, err := d.Judge(q, c.answer(m, q), now)
			require.NoError(t, err)
			require.Equal(t, c.passed, v.Passed, v.Summary())
			require.Equal(t, c.tier, v.Tier, v.Summary())
			require.Equal(t, c.kept, v.Hash != [32]byte{})
			require.False(t, v.Changed)
			require.NotEmpty(t, v.Summary())
		})
	}
}

// lab makes machines of tier 3.
type lab struct {
	authority  *nvgputest.Authority
	policy     policy.Policy
	collateral collateral
}

type collateral map[string][]byte

func (s collateral) Get(key string) ([]byte, error) {
	if data, ok := s[key]; ok {
		return data, nil
	}
	return nil, attest.ErrNoCollateral
}

func sum(b []byte) [32]byte { return sha256.Sum256(b) }

func newLab(t *testing.T, tee *snptest.Machine) *lab {
	authority, err := nvgputest.NewAuthority()
	require.NoError(t, err)
	l := &lab{authority: authority, policy: policy.Default(), collateral: collateral{}}
	manifests, err := authority.Collateral()
	require.NoError(t, err)
	for k, v := range manifests {
		l.collateral[k] = v
	}
	root := func(der []byte) []string {
		sum := sha256.Sum256(der)
		l.collateral[policy.RootKey(hex.EncodeToString(sum[:]))] = der
		return []string{hex.EncodeToString(sum[:])}
	}
	l.policy.AllowSynthetic = true
	l.policy.Roots.GPU, l.policy.Roots.RIM = root(authority.Roots().Device.Raw), root(authority.Roots().RIM.Raw)
	for _, r := range tee.Roots() {
		l.policy.Roots.SNP = root(r.ARK.Raw)
	}
	launch := tee.Measurement()
	l.policy.SNP.Measurements = []string{hex.EncodeToString(launch[:])}
	l.policy.SNP.MinTCB = policy.SNPTCB{Bootloader: 3, SNP: 8, Microcode: 115}
	l.policy.SNP.MinLaunchTCB = l.policy.SNP.MinTCB
	return l
}

func (l *lab) gpu(t *testing.T, o nvgputest.GPUOptions) *nvgputest.GPU {
	g, err := l.authority.NewGPU(o)
	require.NoError(t, err)
	return g
}

func TestDevicesThatProveThemselves(t *testing.T) {
	tee, err := snptest.New(time.Now())
	require.NoError(t, err)
	l := newLab(t, tee)
	d, dir := newService(t, l.policy, l.collateral)
	m := newMachine(t, 1)
	m.tee, m.gpus = tee, []*nvgputest.GPU{l.gpu(t, nvgputest.GPUOptions{}), l.gpu(t, nvgputest.GPUOptions{})}
	judge := func(m *machine) Verdict {
		q := m.question(m.devices())
		v, err := d.Judge(q, m.answer(q), m.now)
		require.NoError(t, err)
		return v
	}
	v := judge(m)
	require.True(t, v.Passed)
	require.EqualValues(t, 3, v.Tier, v.Summary())

	// Who registered other devices than it shows cannot use real evidence to take those from their holder: it would
	// need their UUIDs, and the claims name only hashes.
	asks := func(root [32]byte) Verdict {
		q := m.question(nil)
		q.Root = root
		v, err := d.Judge(q, m.answer(q), m.now)
		require.NoError(t, err)
		require.True(t, v.Passed)
		return v
	}
	require.EqualValues(t, 3, asks(market.DeviceRoot(m.devices())).Tier)
	for _, others := range [][][32]byte{{{1}, {2}}, m.devices()[:1], append(m.devices(), [32]byte{1})} {
		v = asks(market.DeviceRoot(others))
		require.EqualValues(t, 1, v.Tier)
		require.Contains(t, v.Summary(), "registered other devices")
	}

	// New firmware is the same GPU.
	m.gpus[0] = l.gpu(t, nvgputest.GPUOptions{Firmware: "newer", Device: m.gpus[0].Chain[1]})
	v = judge(m)
	require.True(t, v.Passed, v.Summary())
	require.EqualValues(t, 3, v.Tier)

	// The keeper starts anew and remembers.
	d, err = New(Options{Policy: l.policy, Folder: dir, Keep: keepTime, Sources: []attest.Collateral{l.collateral}})
	require.NoError(t, err)
	m.gpus[1] = l.gpu(t, nvgputest.GPUOptions{})
	v = judge(m)
	require.False(t, v.Passed)
	require.True(t, v.Changed)
	require.Contains(t, v.Summary(), "another key")
}

// No tier stands on chain for longer than the policy believes in the bundle that it rests on.
func TestNoTierOutlivesThePolicysAge(t *testing.T) {
	p := policy.Default()
	require.GreaterOrEqual(t, p.MaxAgeSecs, int64(market.LeastEvidenceAge))
	p.MaxAgeSecs = market.LeastEvidenceAge - 1
	_, err := New(Options{Policy: p, Folder: t.TempDir(), Keep: keepTime})
	require.ErrorIs(t, err, policy.ErrDocument)
	require.ErrorContains(t, err, "max_age_secs")
	p.MaxAgeSecs++
	_, err = New(Options{Policy: p, Folder: t.TempDir(), Keep: keepTime})
	require.NoError(t, err)
}

func TestArchiveSurvivesDamage(t *testing.T) {
	d, dir := newService(t, policy.Default())
	m := newMachine(t, 1)
	q := m.question(m.devices())
	_, err := d.Judge(q, m.answer(q), m.now)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, m.account.String(), latest), []byte("{"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "stray"), nil, 0o600))
	d, err = New(Options{Policy: policy.Default(), Folder: dir, Keep: keepTime})
	require.NoError(t, err)
	q = m.question(m.devices())
	v, err := d.Judge(q, m.answer(q), m.now)
	require.NoError(t, err)
	require.True(t, v.Passed)

	_, err = New(Options{Folder: dir, Keep: keepTime})
	require.ErrorIs(t, err, policy.ErrDocument)
}
