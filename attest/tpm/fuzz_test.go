package tpm_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/tpm"
)

// seeds adds an item of the recording and some damage to a fuzz target.
func seeds(f *testing.F, name string) {
	f.Helper()
	_, _, e, _ := recorded(f)
	data := item(f, e, name)
	f.Add(data)
	f.Add(data[:len(data)/2])
	f.Add(append(append([]byte(nil), data...), 0))
	f.Add(flip(data, 0))
	f.Add([]byte{})
}

// malformed wants parsers to give errors of a documented kind.
func malformed(t *testing.T, err error) {
	t.Helper()
	require.ErrorIs(t, err, attest.ErrMalformed)
}

func FuzzParseAK(f *testing.F) {
	seeds(f, tpm.ItemAK)
	f.Fuzz(func(t *testing.T, data []byte) {
		ak, err := tpm.ParseAK(data)
		if err != nil {
			require.True(t, isAny(err, attest.ErrMalformed, attest.ErrPolicy), "%v", err)
			return
		}
		require.Equal(t, data, ak.Raw)
		_, err = ak.Key.ECDH()
		require.NoError(t, err, "the point is on the curve")
	})
}

func FuzzParseQuote(f *testing.F) {
	seeds(f, tpm.ItemQuote)
	f.Fuzz(func(t *testing.T, data []byte) {
		q, err := tpm.ParseQuote(data)
		if err != nil {
			malformed(t, err)
			return
		}
		require.Equal(t, data, q.Raw)
		require.Equal(t, "\xffTCG\x80\x18", string(data[:6]))
		require.NotZero(t, q.Selection)
		require.GreaterOrEqual(t, q.Clock, time.Duration(0))
	})
}

func FuzzParseSignature(f *testing.F) {
	seeds(f, tpm.ItemSignature)
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := tpm.ParseSignature(data)
		if err != nil {
			malformed(t, err)
			return
		}
		require.Positive(t, s.R.Sign())
		require.Positive(t, s.S.Sign())
		require.LessOrEqual(t, s.R.BitLen(), 256)
		require.LessOrEqual(t, s.S.BitLen(), 256)
	})
}

func FuzzParseEK(f *testing.F) {
	seeds(f, tpm.ItemEK)
	f.Fuzz(func(t *testing.T, data []byte) {
		ek, err := tpm.ParseEK(data)
		if err != nil {
			malformed(t, err)
			return
		}
		require.NotEmpty(t, ek.Manufacturer)
		require.NotZero(t, ek.Identity)
		_, err = tpm.MakeCredential(zeroes{}, ek, tpm.Name{}, make([]byte, 32))
		_ = err // a modulus that is no RSA key is an error, and no more
	})
}

// zeroes stands for random numbers where a fuzz target has no use for them.
type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func FuzzParseStatements(f *testing.F) {
	seeds(f, tpm.ItemStatements)
	rec, _, e, _ := recorded(f)
	f.Add(append(append([]byte(nil), item(f, e, tpm.ItemStatements)...), rec.Other[tpm.ItemStatements]...))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := tpm.ParseStatements(data)
		if err != nil {
			malformed(t, err)
			return
		}
		require.Equal(t, string(data), string(tpm.EncodeStatements(list)))
	})
}

func FuzzReplayLog(f *testing.F) {
	seeds(f, tpm.ItemLog)
	f.Add(writeLog(boot(0)))
	f.Add(writeLog(append(boot(1), boot(0)...)))
	values := replay(boot(1), tpm.DefaultSelection)
	f.Fuzz(func(t *testing.T, data []byte) {
		report, err := tpm.ReplayLog(data, values)
		if err != nil {
			malformed(t, err)
			return
		}
		require.Equal(t, tpm.DefaultSelection, report.Explained|report.Untouched|report.Differs)
		require.Zero(t, report.Explained&report.Differs)
		// The PCRs are those of a boot with Secure Boot on: no log makes another state of them.
		require.Equal(t, report.SecureBoot.Known, report.SecureBoot.Enabled)
	})
}

// FuzzEvidence feeds whole pieces of evidence to the verifier: u8 length of the name, name, u16le length, data, and so
// on.
func FuzzEvidence(f *testing.F) {
	_, v, e, now := recorded(f)
	f.Add(flatten(e))
	f.Add(flatten(with(e, tpm.ItemLog, nil)))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := v.Verify(unflatten(data), testBinding, now)
		if err != nil {
			require.True(t, isAny(err, attest.ErrMalformed, attest.ErrPolicy, attest.ErrUntrusted, attest.ErrStale), "%v", err)
			require.False(t, r.Ok())
			return
		}
		require.Len(t, r.Devices, 1)
		require.Equal(t, "enabled", r.Claims["secure boot"])
	})
}

func flatten(e attest.Evidence) []byte {
	var out []byte
	for _, i := range e.Items {
		out = append(append(out, byte(len(i.Name))), i.Name...)
		out = append(binary.LittleEndian.AppendUint16(out, uint16(len(i.Data))), i.Data...)
	}
	return out
}

func unflatten(data []byte) attest.Evidence {
	e := attest.Evidence{Kind: attest.KindTPM}
	take := func(n int) []byte {
		n = min(n, len(data))
		part := data[:n]
		data = data[n:]
		return part
	}
	for len(data) > 0 {
		name := string(take(int(take(1)[0])))
		var size [2]byte
		copy(size[:], take(2))
		e.Items = append(e.Items, attest.Item{Name: name, Data: take(int(binary.LittleEndian.Uint16(size[:])))})
	}
	return e
}
