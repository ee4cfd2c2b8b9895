package nvgpu_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/nvgpu"
)

// Fuzz targets, one for each parser. Whatever is accepted must mean one thing: encoding it again gives the input back,
// or, where the input is signed, nobody but the signer can have made it. Everything else must be refused as malformed.

func FuzzReport(f *testing.F) {
	for _, s := range samples(f) {
		f.Add(s.report)
		f.Add(s.report[:len(s.report)-1])
	}
	chain, err := nvgpu.ParseChain(samples(f)[0].chain)
	require.NoError(f, err)
	real := map[string]bool{string(samples(f)[0].report): true}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := nvgpu.ParseReport(data)
		if err != nil {
			require.ErrorIs(t, err, attest.ErrMalformed)
			return
		}
		size := 0
		for i, b := range r.Blocks {
			size += 7 + len(b.Value)
			require.NotEmpty(t, b.Value)
			require.True(t, i == 0 || b.Index > r.Blocks[i-1].Index)
		}
		for _, value := range r.Opaque {
			size += 4 + len(value)
		}
		require.Equal(t, len(data), nvgpu.RequestSize+8+32+2+nvgpu.SignatureSize+size, "every byte has a meaning")
		if r.CheckSignature(chain.Certificates[0]) == nil {
			require.True(t, real[string(data)], "a signature that the GPU did not make")
		}
	})
}

func FuzzOpaque(f *testing.F) {
	for _, s := range samples(f) {
		r, err := nvgpu.ParseReport(s.report)
		require.NoError(f, err)
		size := 0
		for _, value := range r.Opaque {
			size += 4 + len(value)
		}
		f.Add(s.report[len(s.report)-nvgpu.SignatureSize-size : len(s.report)-nvgpu.SignatureSize])
	}
	f.Add([]byte{36, 0, 1, 0, 2, 35, 0, 6, 0, 'G', 'H', '1', '0', '0', 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := nvgpu.ParseOpaque(data)
		if err != nil {
			require.ErrorIs(t, err, attest.ErrMalformed)
			return
		}
		size := 0
		for _, value := range o {
			size += 4 + len(value)
		}
		require.Equal(t, len(data), size, "every byte has a meaning")
		for _, text := range []string{o.Driver(), o.VBIOS(), o.Board().String(), o.Text(nvgpu.FieldChip)} {
			for _, c := range []byte(text) {
				require.True(t, c > ' ' && c <= '~', "%q", text)
			}
		}
		for _, field := range []nvgpu.Field{nvgpu.FieldNVDEC0, nvgpu.FieldProtectedPCI} {
			_, has := o.Status(field)
			require.Equal(t, o[field] != nil, has)
		}
		o.Feature()
	})
}

func FuzzChain(f *testing.F) {
	for _, s := range samples(f) {
		f.Add(s.chain)
		c, err := nvgpu.ParseChain(s.chain)
		require.NoError(f, err)
		var der []byte
		for _, cert := range c.Certificates {
			der = append(der, cert.Raw...)
		}
		f.Add(der)
	}
	known := map[[32]byte]bool{}
	for _, s := range samples(f) {
		c, err := nvgpu.ParseChain(s.chain)
		require.NoError(f, err)
		known[c.LeafDigest()] = true
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := nvgpu.ParseChain(data)
		if err != nil {
			require.ErrorIs(t, err, attest.ErrMalformed)
		} else {
			canonical, err := nvgpu.CanonicalChain(data)
			require.NoError(t, err)
			require.Equal(t, canonical, nvgpu.EncodeChain(c.Certificates))
			if bytes.HasPrefix(data, []byte("-----")) {
				require.Equal(t, string(canonical), string(bytes.TrimSuffix(data, []byte("\n")))+"\n")
			}
			if (nvgpu.Roots{}).CheckDevice(c, sampleTime) == nil {
				require.True(t, known[c.LeafDigest()], "a chain that NVIDIA did not issue")
			}
		}
		if canonical, err := nvgpu.CanonicalChain(data); err == nil {
			_, err := nvgpu.ParseChain(canonical)
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, attest.ErrMalformed)
		}
	})
}

func FuzzManifest(f *testing.F) {
	driver, vbios := read(f, "driver-545.00.swidtag"), read(f, "vbios-96005E0001.swidtag")
	f.Add(driver)
	f.Add(vbios)
	f.Fuzz(func(t *testing.T, data []byte) {
		rim, err := nvgpu.Roots{}.VerifyRIM(data, sampleTime)
		if err != nil {
			require.Nil(t, rim)
			reason(t, err, "manifest", 0)
			return
		}
		same := func(known []byte) bool { return bytes.Equal(signedPart(data), signedPart(known)) }
		require.True(t, same(driver) || same(vbios), "a manifest that NVIDIA did not sign")
	})
}

// signedPart is what comes before the signature: what is signed and means something.
func signedPart(data []byte) []byte {
	before, _, _ := bytes.Cut(data, []byte("<ds:Signature "))
	return before
}

// FuzzSWID reads what is behind the signature, as if anyone could sign it.
func FuzzSWID(f *testing.F) {
	f.Add(read(f, "driver-545.00.swidtag"))
	f.Add(read(f, "vbios-96005E0001.swidtag"))
	f.Add([]byte(`<SoftwareIdentity xmlns="http://standards.iso.org/iso/19770/-2/2015/schema.xsd"><Meta colloquialVersion="1" product="GH100"/><Payload/></SoftwareIdentity>`))
	f.Fuzz(func(t *testing.T, data []byte) {
		rim, err := nvgpu.ParseUnsigned(data)
		if err != nil {
			require.ErrorIs(t, err, attest.ErrMalformed)
			return
		}
		require.NotEmpty(t, rim.Version)
		require.NotEmpty(t, rim.Golden)
		for i, g := range rim.Golden {
			require.True(t, i == 0 || g.Index > rim.Golden[i-1].Index)
			require.NotEmpty(t, g.Values)
			for _, v := range g.Values {
				require.True(t, !g.Active || len(v) > 0)
			}
		}
	})
}

func FuzzVersion(f *testing.F) {
	for _, s := range []string{"550.90.07", "96.00.9F.00.01", "", ".", "1.2.3.4.5.6.7.8.9"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, parse := range []func() (string, error){
			func() (string, error) { v, err := nvgpu.ParseDriverVersion(s); return v.String(), err },
			func() (string, error) { v, err := nvgpu.ParseVBIOSVersion(s); return v.String(), err },
		} {
			text, err := parse()
			if err != nil {
				require.ErrorIs(t, err, attest.ErrMalformed)
				continue
			}
			require.LessOrEqual(t, len(text), 64)
		}
	})
}
