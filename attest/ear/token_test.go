package ear

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/nvgpu"
	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/attest/snp"
	"github.com/gantry-market/gantry/attest/tdx"
	"github.com/gantry-market/gantry/attest/tpm"
)

var (
	signer = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	now    = time.Now()
)

// piece is evidence whose checks have passed, but those that are named.
func piece(kind attest.Kind, checks map[string]attest.Outcome, names ...string) policy.Piece {
	p := policy.Piece{Result: attest.Result{Kind: kind, Claims: map[string]string{"driver": "550"}}}
	for _, name := range names {
		o := attest.Passed
		if other, ok := checks[name]; ok {
			o = other
		}
		if o == attest.Failed {
			p.Err = errors.New(name)
		}
		p.Checks = append(p.Checks, attest.Check{Name: name, Outcome: o, Detail: "as seen"})
	}
	return p
}

func gpu(checks map[string]attest.Outcome) policy.Piece {
	return piece(attest.KindNVGPU, checks, nvgpu.CheckChain, nvgpu.CheckSignature, nvgpu.CheckMeasurements)
}

func verdict(tier uint8, v policy.Verdict, pieces ...policy.Piece) Verdict {
	return Verdict{
		Claims: policy.Claims{OnChain: policy.OnChain{Tier: tier, Expiry: now.Add(time.Hour).Unix(), PolicyHash: [32]byte{5}}, Verdict: v, Pieces: pieces},
		Nonce:  [32]byte{1, 2, 3}, Node: [32]byte{8}, Key: [32]byte{9}, Build: "v0",
	}
}

// read verifies a token and returns its claims.
func read(t *testing.T, token string) (out struct {
	Status  string `json:"ear_status"`
	Nonce   string `json:"eat_nonce"`
	Profile string `json:"eat_profile"`
	Submods map[string]struct {
		Status   string         `json:"ear_status"`
		Vector   map[string]int `json:"ear_trustworthiness_vector"`
		Verifier map[string]any `json:"ear_verifier_claims"`
	} `json:"submods"`
},
) {
	t.Helper()
	claims := jwt.MapClaims{}
	_, err := jwt.ParseWithClaims(token, claims, func(*jwt.Token) (any, error) { return signer.Public(), nil }, jwt.WithValidMethods([]string{"EdDSA"}), jwt.WithExpirationRequired())
	require.NoError(t, err)
	raw, err := json.Marshal(claims)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &out))
	return out
}

const passed, failed, skipped = attest.Passed, attest.Failed, attest.NotCovered

// A token affirms what was checked, and nothing else.
func TestWhatATokenAffirms(t *testing.T) {
	for name, c := range map[string]struct {
		v                      Verdict
		overall, machine, part string
		submod                 string
		vector                 map[string]int
	}{
		"a GPU with its chain and measurements":    {verdict(2, policy.Sound, gpu(nil)), "affirming", "affirming", "affirming", "gpu-0", map[string]int{"instance-identity": 2, "hardware": 2, "executables": 3}},
		"measurements that were not compared":      {verdict(1, policy.Sound, gpu(map[string]attest.Outcome{nvgpu.CheckMeasurements: skipped})), "none", "none", "affirming", "gpu-0", map[string]int{"instance-identity": 2, "hardware": 2}},
		"other measurements":                       {verdict(0, policy.Unproven, gpu(map[string]attest.Outcome{nvgpu.CheckMeasurements: failed})), "warning", "warning", "warning", "gpu-0", map[string]int{"executables": 33}},
		"a chain that is not NVIDIA's":             {verdict(0, policy.Unproven, gpu(map[string]attest.Outcome{nvgpu.CheckChain: failed})), "contraindicated", "warning", "contraindicated", "gpu-0", map[string]int{"instance-identity": 97, "hardware": 97}},
		"a chain that nobody has checked":          {verdict(0, policy.Sound, gpu(map[string]attest.Outcome{nvgpu.CheckChain: skipped})), "none", "none", "none", "gpu-0", nil},
		"a TPM that nobody has seen open a secret": {verdict(1, policy.Sound, piece(attest.KindTPM, map[string]attest.Outcome{tpm.CheckActivation: skipped}, tpm.CheckEKChain, tpm.CheckActivation, tpm.CheckSignature, tpm.CheckPCRPolicy)), "none", "none", "none", "tpm", nil},
		"a TPM":                         {verdict(2, policy.Sound, piece(attest.KindTPM, nil, tpm.CheckEKChain, tpm.CheckActivation, tpm.CheckSignature, tpm.CheckPCRPolicy)), "affirming", "affirming", "affirming", "tpm", map[string]int{"instance-identity": 2, "executables": 3}},
		"a guest with a debugger":       {verdict(0, policy.Unproven, piece(attest.KindSNP, map[string]attest.Outcome{snp.CheckDebug: failed}, snp.CheckChain, snp.CheckDebug)), "contraindicated", "warning", "contraindicated", "snp", map[string]int{"runtime-opaque": 96}},
		"an inventory alone":            {verdict(0, policy.Sound, piece(attest.KindInventory, nil, "format", "truth")), "none", "none", "none", "inventory", nil},
		"an answer to another question": {verdict(0, policy.False, gpu(nil)), "contraindicated", "contraindicated", "none", "gpu-0", nil},
	} {
		t.Run(name, func(t *testing.T) {
			token, err := Sign(c.v, signer, now)
			require.NoError(t, err)
			got := read(t, token)
			require.Equal(t, []string{c.overall, c.machine, c.part}, []string{got.Status, got.Submods[Machine].Status, got.Submods[c.submod].Status})
			require.Equal(t, c.vector, got.Submods[c.submod].Vector)
			require.Equal(t, base64.RawURLEncoding.EncodeToString(c.v.Nonce[:]), got.Nonce)
			require.NotEmpty(t, got.Submods[c.submod].Verifier["gantry-checks"])
		})
	}
	confidential := piece(attest.KindTDX, nil, tdx.CheckChain, tdx.CheckDebug, tdx.CheckMeasurement)
	confidential.Confidential = true
	require.Equal(t, map[string]int8{"instance-identity": 2, "hardware": 2, "executables": 3, "runtime-opaque": 2}, ofPiece(&confidential, policy.Sound).Vector)
}

// A replayed or revoked piece, one that lacks what the policy requires, and one whose root is not the maker's affirm nothing.
func TestARefusedPieceAffirmsNothing(t *testing.T) {
	replayed := piece(attest.KindTDX, map[string]attest.Outcome{tdx.CheckReportData: failed}, tdx.CheckChain, tdx.CheckReportData, tdx.CheckMeasurement)
	revoked := piece(attest.KindSNP, map[string]attest.Outcome{snp.CheckRevoked: failed}, snp.CheckChain, snp.CheckRevoked, snp.CheckMeasurement)
	lacking, synthetic := gpu(nil), gpu(nil)
	lacking.Lacks = "revocation was not covered"
	synthetic.Claims["synthetic"] = "true"
	for i, p := range []policy.Piece{replayed, revoked, lacking, synthetic} {
		a := ofPiece(&p, policy.Sound)
		require.Empty(t, a.Vector, i)
		require.NotEqual(t, affirming, a.status, i)
	}
	token, err := Sign(verdict(2, policy.Sound, synthetic), signer, now)
	require.NoError(t, err)
	require.Equal(t, "none", read(t, token).Status)
	require.Equal(t, true, read(t, token).Submods[Machine].Verifier["gantry-synthetic"])

	hostile := gpu(nil)
	hostile.Claims["driver"], hostile.Checks[0].Detail = "550\u202e\x1b[2J", "fine\nand more"
	a := ofPiece(&hostile, policy.Sound)
	require.Equal(t, "550\ufffd\ufffd[2J", a.Attester["driver"])
	require.Equal(t, "fine\ufffdand more", a.Verifier["gantry-checks"].([][3]string)[0][2])
}

// What a verifier expects of a bundle counts, simulated GPUs affirm nothing, and old evidence gives no token.
func TestWhatATokenWithholds(t *testing.T) {
	v := verdict(1, policy.Sound, gpu(nil))
	v.Problem = "expected nonce: the bundle's is another"
	token, err := Sign(v, signer, now)
	require.NoError(t, err)
	got := read(t, token)
	require.Equal(t, "warning", got.Status)
	require.Equal(t, v.Problem, got.Submods[Machine].Verifier["gantry-problem"])

	v = verdict(2, policy.Sound, gpu(nil))
	v.Claims.Simulated = true
	token, err = Sign(v, signer, now)
	require.NoError(t, err)
	require.Equal(t, "none", read(t, token).Status)
	require.Equal(t, true, read(t, token).Submods[Machine].Verifier["gantry-simulated"])

	_, err = Sign(v, signer, now.Add(2*time.Hour))
	require.ErrorIs(t, err, ErrWorthless)
	require.ErrorContains(t, err, "it was until")
}
