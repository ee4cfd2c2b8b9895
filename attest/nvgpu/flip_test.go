package nvgpu_test

import (
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/nvgpu"
)

// stride is how many bits or bytes lie between those tried: n by default, and with GANTRY_EXHAUSTIVE=1 one. A prime
// makes the bits tried differ from byte to byte.
func stride(t *testing.T, n int) int {
	if os.Getenv("GANTRY_EXHAUSTIVE") != "" {
		return 1
	}
	n *= raceFactor
	t.Logf("one in %d; GANTRY_EXHAUSTIVE=1 tries every one", n)
	return n
}

// reason returns which of the package's errors it is, and fails the test for any other.
func reason(t *testing.T, err error, what string, i int) error {
	t.Helper()
	for _, s := range []error{attest.ErrMalformed, attest.ErrUntrusted, attest.ErrStale, attest.ErrPolicy} {
		if errors.Is(err, s) {
			return s
		}
	}
	t.Fatalf("%s, bit %d flipped: %v", what, i, err)
	return nil
}

// flips calls try with each single-bit variant of data, in turn, in the same memory.
func flips(data []byte, step int, try func(bit int, flipped []byte)) int {
	data, n := append([]byte(nil), data...), 0
	for bit := 0; bit < len(data)*8; bit += step {
		data[bit/8] ^= 1 << (bit % 8)
		try(bit, data)
		data[bit/8] ^= 1 << (bit % 8)
		n++
	}
	return n
}

// TestEveryFlippedBitOfAReport checks reports with one bit flipped against a chain that was verified once: form, nonce,
// signature.
func TestEveryFlippedBitOfAReport(t *testing.T) {
	for _, s := range samples(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			chain, err := nvgpu.ParseChain(s.chain)
			require.NoError(t, err)
			require.NoError(t, nvgpu.Roots{}.CheckDevice(chain, sampleTime))
			check := func(data []byte) error {
				r, err := nvgpu.ParseReport(data)
				if err != nil {
					return err
				}
				if r.Nonce != s.nonce() {
					return attest.ErrStale
				}
				return r.CheckSignature(chain.Certificates[0])
			}
			require.NoError(t, check(s.report))
			counts := map[error]int{}
			n := flips(s.report, stride(t, 47), func(bit int, flipped []byte) {
				counts[reason(t, check(flipped), s.name, bit)]++
			})
			t.Logf("%d of %d bits flipped, all refused: %d malformed, %d other nonces, %d not signed", n, len(s.report)*8,
				counts[attest.ErrMalformed], counts[attest.ErrStale], counts[attest.ErrUntrusted])
			require.Equal(t, n, counts[attest.ErrMalformed]+counts[attest.ErrStale]+counts[attest.ErrUntrusted])
		})
	}
}

// TestEveryFlippedBitOfAChain does the same with the certificates, as PEM and as DER, through the whole verifier.
func TestEveryFlippedBitOfAChain(t *testing.T) {
	v := nvgpu.New(nvgpu.Options{})
	for _, s := range samples(t) {
		chain, err := nvgpu.ParseChain(s.chain)
		require.NoError(t, err)
		var der []byte
		for _, c := range chain.Certificates {
			der = append(der, c.Raw...)
		}
		for form, data := range map[string][]byte{"PEM": s.chain, "DER": der} {
			t.Run(s.name+" "+form, func(t *testing.T) {
				t.Parallel()
				e := s.evidence()
				check := func(data []byte) error {
					e.Items[0].Data = data
					_, err := v.VerifyNonce(e, s.nonce(), sampleTime)
					return err
				}
				require.NoError(t, check(data))
				counts := map[error]int{}
				n := flips(data, stride(t, 211), func(bit int, flipped []byte) {
					counts[reason(t, check(flipped), form, bit)]++
				})
				t.Logf("%d of %d bits flipped, all refused: %d malformed, %d not signed, %d not valid", n, len(data)*8,
					counts[attest.ErrMalformed], counts[attest.ErrUntrusted], counts[attest.ErrStale])
			})
		}
	}
}

// TestEveryFlippedBitOfAManifest does the same with the reference manifests.
func TestEveryFlippedBitOfAManifest(t *testing.T) {
	for _, file := range []string{"driver-545.00.swidtag", "vbios-96005E0001.swidtag"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			data := read(t, file)
			check := func(data []byte) error {
				_, err := nvgpu.Roots{}.VerifyRIM(data, sampleTime)
				return err
			}
			require.NoError(t, check(data))
			counts := map[error]int{}
			n := flips(data, stride(t, 1009), func(bit int, flipped []byte) {
				counts[reason(t, check(flipped), file, bit)]++
			})
			t.Logf("%d of %d bits flipped, all refused: %d malformed, %d not signed, %d not valid", n, len(data)*8,
				counts[attest.ErrMalformed], counts[attest.ErrUntrusted], counts[attest.ErrStale])
		})
	}
}

// TestTruncatedAndPaddedInputsAreRefused cuts at either end and pads at either end.
func TestTruncatedAndPaddedInputsAreRefused(t *testing.T) {
	step := stride(t, 7)
	for _, s := range samples(t) {
		chain, err := nvgpu.ParseChain(s.chain)
		require.NoError(t, err)
		for cut := 0; cut < len(s.report); cut += step {
			_, err := nvgpu.ParseReport(s.report[:cut])
			require.ErrorIs(t, err, attest.ErrMalformed, "first %d bytes", cut)
			_, err = nvgpu.ParseReport(s.report[cut+1:])
			require.ErrorIs(t, err, attest.ErrMalformed, "last %d bytes", len(s.report)-cut-1)
		}
		for cut := 0; cut < len(s.chain); cut += step {
			if c, err := nvgpu.ParseChain(s.chain[:cut]); err == nil {
				require.Error(t, nvgpu.Roots{}.CheckDevice(c, sampleTime), "first %d bytes", cut)
			} else {
				require.ErrorIs(t, err, attest.ErrMalformed)
			}
		}
		for _, pad := range []string{"\x00", "\n", "\n\n", "x", "\xff", "-----BEGIN CERTIFICATE-----\n"} {
			if r, err := nvgpu.ParseReport(append(append([]byte(nil), s.report...), pad...)); err == nil {
				require.Error(t, r.CheckSignature(chain.Certificates[0]))
			}
			_, err = nvgpu.ParseReport(append([]byte(pad), s.report...))
			require.ErrorIs(t, err, attest.ErrMalformed, "%q before", pad)
			_, err = nvgpu.ParseChain(append([]byte(pad), s.chain...))
			require.ErrorIs(t, err, attest.ErrMalformed, "%q before", pad)
			if pad == "\n" {
				continue // the one line end that the sample lacks
			}
			_, err = nvgpu.ParseChain(append(append([]byte(nil), s.chain...), pad...))
			require.ErrorIs(t, err, attest.ErrMalformed, "%q after", pad)
		}
	}
	for _, file := range []string{"driver-545.00.swidtag", "vbios-96005E0001.swidtag"} {
		data := read(t, file)
		for cut := 0; cut < len(data)-1; cut += 5 * step {
			_, err := nvgpu.Roots{}.VerifyRIM(data[:cut], sampleTime)
			require.ErrorIs(t, err, attest.ErrMalformed, "first %d bytes", cut)
		}
		for _, pad := range []string{"\n\n", " ", "x", "<a/>", "<!-- -->", "<?x?>", "\x00"} {
			_, err := nvgpu.Roots{}.VerifyRIM(append(append([]byte(nil), data...), pad...), sampleTime)
			require.ErrorIs(t, err, attest.ErrMalformed, "%q after", pad)
			_, err = nvgpu.Roots{}.VerifyRIM(append([]byte(pad), data...), sampleTime)
			require.ErrorIs(t, err, attest.ErrMalformed, "%q before", pad)
		}
	}
}
