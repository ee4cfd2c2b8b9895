package tpm_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"math/rand/v2"
	"os"
	"sort"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/tpm"
	"github.com/gantry-market/gantry/attest/tpm/device"
)

const recordedFile = "testdata/recorded.json"

// recording is evidence of two software TPMs, so that tests run where there is none, at the time when it was made.
type recording struct {
	Time               int64
	Root, Intermediate []byte
	Evidence, Other    map[string][]byte
}

// TestRecord writes the recording anew; only when GANTRY_RECORD is set.
func TestRecord(t *testing.T) {
	if os.Getenv("GANTRY_RECORD") == "" {
		t.Skip("writes testdata/recorded.json with a software TPM when GANTRY_RECORD is set")
	}
	var rec recording
	for _, name := range []string{"record", "record-2"} {
		machine, ca := theLab.machine(t, "maker", name)
		for _, e := range boot(1) {
			extend(t, machine, e.pcr, e.measured())
		}
		d := newDevice(machine, func(o *device.Options) { o.LogPath = writeFile(t, writeLog(boot(1))) })
		enrolment := enrol(t, tpm.NewEnroller(tpm.EnrolOptions{Trust: trustOf(t, ca)}), d, testSubject)
		statement, err := enrolment.Sign(testKeeper("one"))
		require.NoError(t, err)
		c := &device.Collector{Device: d, Statements: func() []tpm.Statement { return []tpm.Statement{statement} }}
		list, err := c.Collect(t.Context(), testBinding.Qualifying())
		require.NoError(t, err)
		items := map[string][]byte{}
		for _, i := range list[0].Items {
			items[i.Name] = i.Data
		}
		root, err := ca.Root()
		require.NoError(t, err)
		issuer, err := ca.Issuer()
		require.NoError(t, err)
		rec.Root, rec.Intermediate = root.Raw, issuer.Raw
		rec.Other, rec.Evidence = rec.Evidence, items
		rec.Time = time.Now().Unix()
	}
	data, err := json.MarshalIndent(rec, "", "  ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(recordedFile, append(data, '\n'), 0o600))
}

func recorded(tb testing.TB) (recording, *tpm.Verifier, attest.Evidence, time.Time) {
	tb.Helper()
	data, err := os.ReadFile(recordedFile)
	require.NoError(tb, err)
	var rec recording
	require.NoError(tb, json.Unmarshal(data, &rec))
	return rec, tpm.New(rec.options(tb)).For(testSubject), evidenceOf(rec.Evidence), time.Unix(rec.Time, 0)
}

func (r recording) options(tb testing.TB) tpm.Options {
	tb.Helper()
	root, err := x509.ParseCertificate(r.Root)
	require.NoError(tb, err)
	intermediate, err := x509.ParseCertificate(r.Intermediate)
	require.NoError(tb, err)
	o := tpm.Options{
		Trust:      tpm.Trust{Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool()},
		Activation: tpm.Activation{Keepers: []ed25519.PublicKey{testKeeper("one").Public().(ed25519.PublicKey)}},

		RequireActivation: true, RequireLog: true, RequireSecureBoot: true,
	}
	o.Trust.Roots.AddCert(root)
	o.Trust.Intermediates.AddCert(intermediate)
	return o
}

func evidenceOf(items map[string][]byte) attest.Evidence {
	e := attest.Evidence{Kind: attest.KindTPM}
	for name, data := range items {
		e.Items = append(e.Items, attest.Item{Name: name, Data: data})
	}
	sort.Slice(e.Items, func(i, j int) bool { return e.Items[i].Name < e.Items[j].Name })
	return e
}

func TestRecorded(t *testing.T) {
	_, v, e, now := recorded(t)
	r, err := v.Verify(e, testBinding, now)
	require.NoError(t, err)
	require.Equal(t, "enabled", r.Claims["secure boot"])
	require.Len(t, r.Devices, 1)
	require.Equal(t, "endorsement key revocation, clock and boot counters, PCR policy", r.Uncovered())
}

// exhaustive is set for the tests that take minutes.
var exhaustive = os.Getenv("GANTRY_EXHAUSTIVE") != ""

// bits are those to flip of so many bytes: all, or one of each stride with a start that differs from run to run.
func bits(tb testing.TB, size, stride int) []int {
	tb.Helper()
	start := 0
	if exhaustive {
		stride = 1
	} else {
		start = rand.IntN(stride)
		tb.Logf("1 of %d bits, from bit %d; all of them with GANTRY_EXHAUSTIVE=1", stride, start)
	}
	var list []int
	for bit := start; bit < size*8; bit += stride {
		list = append(list, bit)
	}
	return list
}

func flip(data []byte, bit int) []byte {
	out := bytes.Clone(data)
	out[bit/8] ^= 1 << (bit % 8)
	return out
}

// Bits of what the TPM signed, of its signature, and of the key that it names.
func TestRecordedFlippedBitsOfTheQuote(t *testing.T) {
	_, _, e, _ := recorded(t)
	parts := map[string][]byte{}
	for _, name := range []string{tpm.ItemQuote, tpm.ItemSignature, tpm.ItemAK} {
		parts[name] = item(t, e, name)
	}
	check := func(name string, data []byte) error {
		get := func(n string) []byte {
			if n == name {
				return data
			}
			return parts[n]
		}
		q, err := tpm.ParseQuote(get(tpm.ItemQuote))
		if err != nil {
			return err
		}
		sig, err := tpm.ParseSignature(get(tpm.ItemSignature))
		if err != nil {
			return err
		}
		ak, err := tpm.ParseAK(get(tpm.ItemAK))
		if err != nil {
			return err
		}
		return q.VerifySignature(ak, sig)
	}
	for name, data := range parts {
		require.NoError(t, check(name, data))
		list := bits(t, len(data), 3)
		for _, bit := range list {
			require.Error(t, check(name, flip(data, bit)), "%s: bit %d", name, bit)
		}
		t.Logf("%s: %d of %d bits flipped, all refused", name, len(list), len(data)*8)
	}
}

// The same through the whole verifier, and of every other item but the log.
func TestRecordedFlippedBits(t *testing.T) {
	_, v, e, now := recorded(t)
	total := 0
	for _, name := range []string{
		tpm.ItemQuote, tpm.ItemSignature, tpm.ItemAK, tpm.ItemPCRs, tpm.ItemStatements, tpm.ItemEK,
	} {
		data := item(t, e, name)
		for _, bit := range bits(t, len(data), 29) {
			r, err := v.Verify(with(e, name, flip(data, bit)), testBinding, now)
			require.Error(t, err, "%s: bit %d", name, bit)
			require.False(t, r.Ok())
			require.Empty(t, r.Devices)
			total++
		}
	}
	t.Logf("%d flipped bits, all refused", total)
}

// A log is not signed: its digests are, through the PCRs. A flipped bit is refused or changes nothing that is believed.
func TestRecordedLogFlippedBits(t *testing.T) {
	_, _, e, _ := recorded(t)
	parts, err := tpm.Parse(e)
	require.NoError(t, err)
	good, err := tpm.ReplayLog(parts.Log, parts.PCRs)
	require.NoError(t, err)
	all, harmless := bits(t, len(parts.Log), 3), 0
	for _, bit := range all {
		report, err := tpm.ReplayLog(flip(parts.Log, bit), parts.PCRs)
		if err == nil && report.Differs == 0 {
			harmless++
			require.True(t, report.SecureBoot == good.SecureBoot || !report.SecureBoot.Known, "bit %d", bit)
		}
	}
	t.Logf("%d of %d bits are the text or type of an event outside PCR 7, or unused", harmless, len(all))
	require.Less(t, harmless, len(all)/2)
}

func TestRecordedCutAndPadded(t *testing.T) {
	_, v, e, now := recorded(t)
	cuts := 0
	for _, i := range e.Items {
		for n := range i.Data {
			if !exhaustive && n%7 != 0 && n < len(i.Data)-2 {
				continue
			}
			r, err := v.Verify(with(e, i.Name, i.Data[:n]), testBinding, now)
			require.Error(t, err, "%s cut to %d", i.Name, n)
			require.False(t, r.Ok())
			cuts++
		}
		for _, pad := range [][]byte{{0}, {0xff}, make([]byte, 32), i.Data} {
			_, err := v.Verify(with(e, i.Name, append(append([]byte(nil), i.Data...), pad...)), testBinding, now)
			require.Error(t, err, "%s padded", i.Name)
		}
	}
	t.Logf("%d cuts refused", cuts)
}

func TestRecordedItems(t *testing.T) {
	rec, v, e, now := recorded(t)
	for _, i := range e.Items {
		_, err := v.Verify(with(e, i.Name, nil), testBinding, now)
		require.Error(t, err, "without %s", i.Name)
		twice := e
		twice.Items = append([]attest.Item{i}, e.Items...)
		_, err = v.Verify(twice, testBinding, now)
		require.ErrorIs(t, err, attest.ErrMalformed)
		_, err = v.Verify(with(e, i.Name, rec.Other[i.Name]), testBinding, now)
		switch i.Name {
		case tpm.ItemPCRs, tpm.ItemLog: // the same boot: the same values
			require.NoError(t, err)
		default:
			require.Error(t, err, "%s of the other TPM", i.Name)
		}
	}
	for name, edit := range map[string]func(*attest.Evidence){
		"kind":     func(e *attest.Evidence) { e.Kind = attest.KindSNP },
		"instance": func(e *attest.Evidence) { e.Instance = 1 },
		"unknown":  func(e *attest.Evidence) { e.Items = append(e.Items, attest.Item{Name: "zz", Data: []byte{1}}) },
		"order":    func(e *attest.Evidence) { e.Items[0], e.Items[1] = e.Items[1], e.Items[0] },
		"none":     func(e *attest.Evidence) { e.Items = nil },
	} {
		t.Run(name, func(t *testing.T) {
			broken := with(e, "", nil)
			edit(&broken)
			_, err := v.Verify(broken, testBinding, now)
			require.ErrorIs(t, err, attest.ErrMalformed)
		})
	}
}
