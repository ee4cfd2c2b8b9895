package evidence

import (
	"context"
	"crypto/ed25519"
	"os"
	"path/filepath"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/evidence"
	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/collect"
	"github.com/gantry-market/gantry/attest/inventory"
	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/attest/tpm"
	"github.com/gantry-market/gantry/attest/tpm/device"
	"github.com/gantry-market/gantry/attest/tpm/swtpm"
)

// A machine with a software TPM, enrolled by one keeper, has tier 2 for that keeper and for one that reads its
// statement.
func TestTPMReachesTierTwo(t *testing.T) {
	if err := swtpm.Available(); err != nil {
		t.Skipf("needs a software TPM: %v", err)
	}
	dir, err := os.MkdirTemp("", "gantry-tpm") // a socket's path must be short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, sub := range []string{"ca", "t"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, sub), 0o700))
	}
	ca, err := swtpm.NewCA(filepath.Join(dir, "ca"))
	require.NoError(t, err)
	chip, err := swtpm.Start(context.Background(), ca, filepath.Join(dir, "t"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, chip.Close()) })
	source := &evidence.MachineTPM{Device: device.New(device.Options{Path: chip.Socket(), LogPath: "/nonexistent/log"})}

	maker, err := ca.Issuer()
	require.NoError(t, err)
	p, sources := policy.Default(), collateral{}
	fingerprint := hexOf(sum(maker.Raw))
	sources[policy.RootKey(fingerprint)] = maker.Raw
	p.Roots.TPM, p.TPM.Algorithms = []string{fingerprint}, []string{"rsa2048", "p256", "p384"}
	first, _ := newService(t, p, sources)
	second, _ := newService(t, p, sources)

	m := newMachine(t, 1)
	collect := func(q Question) []byte {
		c, err := collect.New(collect.Options{Key: m.key, Sources: collect.Sources{
			Inventory: func(context.Context) (inventory.Inventory, error) { return m.inv, nil },
			TPM:       source,
		}})
		require.NoError(t, err)
		b, findings, err := c.Collect(context.Background(), q.Challenge)
		require.NoError(t, err)
		require.Len(t, b.OfKind(attest.KindTPM), 1, findings)
		raw, err := b.Encode()
		require.NoError(t, err)
		return raw
	}
	judge := func(d *Service, keepers ...ed25519.PublicKey) Verdict {
		q := m.question(m.devices())
		q.Keepers = keepers
		source.Statement = first.Statement(subjectOf(q))
		v, err := d.Judge(q, collect(q), m.now)
		require.NoError(t, err)
		require.True(t, v.Passed, v.Summary())
		return v
	}
	v := judge(first)
	require.EqualValues(t, 1, v.Tier)
	require.Contains(t, v.Summary(), "credential activation")

	subject := subjectOf(m.question(nil))
	require.True(t, first.WantsTPM(subject, m.now))
	keys, err := source.Request(context.Background())
	require.NoError(t, err)
	_, finish, err := first.Enrol(subject, keys, m.now)
	require.NoError(t, err)
	keeper, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	require.Error(t, finish(make([]byte, 32), keeper, m.now), "a wrong secret")
	require.True(t, first.WantsTPM(subject, m.now))

	credential, finish, err := first.Enrol(subject, keys, m.now)
	require.NoError(t, err)
	secret, err := source.Activate(context.Background(), credential)
	require.NoError(t, err)
	require.NoError(t, finish(secret, keeper, m.now))
	require.False(t, first.WantsTPM(subject, m.now))
	require.True(t, first.WantsTPM(subject, m.now.Add(2*enrolAgain)), "after a day again")

	v = judge(first)
	require.EqualValues(t, 2, v.Tier, v.Summary())
	wallet := keeper.PublicKey()
	v = judge(second, ed25519.PublicKey(wallet[:]))
	require.EqualValues(t, 2, v.Tier, v.Summary())
	v = judge(second)
	require.EqualValues(t, 1, v.Tier, "a stranger's statement does not count")

	q := m.question(m.devices())
	source.Statement = nil
	raw := collect(q)
	raw[len(raw)-1] ^= 1
	v, err = first.Judge(q, raw, m.now)
	require.NoError(t, err)
	require.Zero(t, v.Tier)
}

func TestPolicyWithoutTPMMakersEnrolsNone(t *testing.T) {
	d, _ := newService(t, policy.Default())
	m := newMachine(t, 1)
	require.False(t, d.WantsTPM(subjectOf(m.question(nil)), m.now))
	require.Nil(t, d.Statement(tpm.Subject{}))
}
