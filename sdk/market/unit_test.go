package market

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/gantry-market/gantry/sdk/txerr"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/idl/bindings"
)

func TestMoney(t *testing.T) {
	for text, want := range map[string]uint64{
		"0": 0, "1": 1_000_000, "1.26": 1_260_000, " 12.5 USDC ": 12_500_000, "0.000001": 1, ".5": 500_000, "7.": 7_000_000, "3usdc": 3_000_000,
		"18446744073709.551615": math.MaxUint64,
	} {
		got, err := ParseUSDC(text)
		require.NoError(t, err, text)
		require.EqualValues(t, want, got, text)
	}
	for _, text := range []string{"", ".", "-1", "+1", "1,5", "1.2.3", "1e6", "0.0000001", "18446744073709.551616", "x", "1 000", "０"} {
		_, err := ParseUSDC(text)
		require.ErrorIs(t, err, ErrAmount, text)
	}
	require.Equal(t, "400.00", (400 * OneUSDC).String())
	require.Equal(t, "38.20", USDC(38_200_000).String())
	require.Equal(t, "0.419", USDC(419_000).String())
	require.Equal(t, "0.419000", USDC(419_000).Exact())
	require.Equal(t, "500", (500 * OneGNT).String())
	require.Equal(t, "0.5", (OneGNT / 2).String())
	require.Equal(t, "1.26", PricePerHour(1_260_000).String())
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64().Draw(t, "n")
		for _, text := range []string{USDC(n).String(), USDC(n).Exact()} {
			back, err := ParseUSDC(text)
			if err != nil || uint64(back) != n {
				t.Fatalf("%d is written %q and read %d, %v", n, text, back, err)
			}
		}
		back, err := ParseGNT(GNT(n).String())
		if err != nil || uint64(back) != n {
			t.Fatalf("%d is written %q and read %d, %v", n, GNT(n), back, err)
		}
	})
}

func FuzzParseUSDC(f *testing.F) {
	f.Add("1.26")
	f.Add("USDC")
	f.Add(".")
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := ParseUSDC(s); err == nil {
			if back, err := ParseUSDC(n.String()); err != nil || back != n {
				t.Fatalf("%q: %d, then %d, %v", s, n, back, err)
			}
		}
	})
}

// The 128-bit arithmetic agrees with arbitrary precision, and paying in parts never pays more than paying at once.
func TestFormulasAgainstBigIntegers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		price, gpus, secs := rapid.Uint64().Draw(t, "price"), rapid.Uint8().Draw(t, "gpus"), rapid.Uint32().Draw(t, "secs")
		want := new(big.Int).Mul(new(big.Int).SetUint64(price), big.NewInt(int64(gpus)*int64(secs)))
		want.Div(want, big.NewInt(3600))
		got, err := Cost(PricePerHour(price), gpus, secs)
		if want.IsUint64() != (err == nil) || (err == nil && want.Uint64() != uint64(got)) {
			t.Fatalf("cost %v, %v instead of %v", got, err, want)
		}
		amount := rapid.Uint64().Draw(t, "amount")
		s, err := SplitSlash(GNT(amount), rapid.Uint16Max(1000).Draw(t, "finder"))
		if err != nil || uint64(s.Pool+s.Finder+s.Burned) != amount || s.Burned < s.Pool+s.Finder || uint64(s.Finder) > amount/10 {
			t.Fatalf("split of %d: %+v, %v", amount, s, err)
		}
		r := ReputationInputs{
			UptimeBPS: rapid.Uint16().Draw(t, "up"), FeesCompleted: rapid.Uint64().Draw(t, "done"), FeesFailed: rapid.Uint64().Draw(t, "failed"),
			RatingSum: rapid.Uint64().Draw(t, "sum"), RatingWeight: rapid.Uint64().Draw(t, "weight"), Days: rapid.Uint8().Draw(t, "days"),
		}
		if rep := Reputation(r, rapid.Int64().Draw(t, "now")); rep > BPS {
			t.Fatalf("reputation %d", rep)
		}
	})
}

func TestLayoutsAreThoseOfTheProgram(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "idl", "vectors", "layouts.json"))
	require.NoError(t, err)
	var doc struct {
		Cases []struct {
			Account, Discriminator string
			Size                   int
		}
	}
	require.NoError(t, json.Unmarshal(raw, &doc))
	require.NotEmpty(t, doc.Cases)
	for _, c := range doc.Cases {
		d, err := hex.DecodeString(c.Discriminator)
		require.NoError(t, err)
		require.Equal(t, [8]byte(d), accountDiscriminator(c.Account), c.Account)
		data := make([]byte, c.Size)
		copy(data, d)
		// Without its version byte the account is refused, but it must have exactly the size that is known.
		_, err = Decode(Meta{}, data)
		require.ErrorIs(t, err, ErrLayout, c.Account)
		if c.Account != "DeviceClaim" {
			require.ErrorContains(t, err, "is of version 0", c.Account)
		}
		_, err = Decode(Meta{}, data[:c.Size-1])
		require.ErrorIs(t, err, ErrLayout, c.Account)
		require.NotContains(t, err.Error(), "is of version")
	}
	_, err = Decode(Meta{}, []byte{1, 2, 3})
	require.ErrorIs(t, err, ErrUnknownAccount)
	_, err = Decode(Meta{}, make([]byte, 100))
	require.ErrorIs(t, err, ErrUnknownAccount)
}

// Each account of the interface description has its line in kinds, and only device claims are not among them.
func TestKindsAreTheProgramsAccounts(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "idl", "gantry_market.json"))
	require.NoError(t, err)
	var idl struct {
		Accounts []struct {
			Name          string
			Discriminator [8]uint16
		}
	}
	require.NoError(t, json.Unmarshal(raw, &idl))
	require.NotEmpty(t, idl.Accounts)
	want, got := [][8]byte{accountDiscriminator("DeviceClaim")}, [][8]byte{}
	for _, a := range idl.Accounts {
		var d [8]byte
		for i, n := range a.Discriminator {
			d[i] = byte(n)
		}
		want = append(want, d)
	}
	for k := KindMarket; k.known(); k++ {
		require.NotEmpty(t, kinds[k].name, uint8(k))
		require.Equal(t, k, KindOf(reflect.New(kinds[k].value.Elem()).Interface()))
		require.Equal(t, kinds[k].name, k.String())
		got = append(got, Discriminator(k))
	}
	require.ElementsMatch(t, want, got)
	require.Zero(t, KindOf(Market{}), "no pointer")
	require.Zero(t, KindOf(nil))
	require.Zero(t, Discriminator(0))
	require.Zero(t, Discriminator(Kind(len(kinds))))
	require.Equal(t, "kind 99", Kind(99).String())
}

func TestEveryErrorHasAdvice(t *testing.T) {
	for _, code := range bindings.ErrorCodes() {
		require.NotEmpty(t, advice[code], "%s", code.Name())
	}
	require.Len(t, advice, len(bindings.ErrorCodes()))
}

func TestExplain(t *testing.T) {
	program := func(code uint32, logs ...string) error {
		return fmt.Errorf("submit: %w", &txerr.ProgramError{Program: ProgramID, Code: code, HasCode: true, Logs: logs})
	}
	named := func(name string) error { return &txerr.ProgramError{Program: ProgramID, Name: name} }
	require.NoError(t, Explain(nil))
	other := errors.New("other")
	require.Equal(t, other, Explain(other))

	err := Explain(program(6012))
	require.ErrorIs(t, err, CodeInsufficientFunds)
	require.Equal(t, "more is asked for than is free; pay in more, or ask for less: credits come from `gantry credits add AMOUNT`, and GNT for a stake or a bond has to be in the wallet", err.Error())
	require.Equal(t, err, Explain(err))
	require.True(t, Is(err, CodeTooEarly, CodeInsufficientFunds))
	code, ok := CodeOf(program(6047))
	require.True(t, ok)
	require.Equal(t, CodeAlreadyVoted, code)
	var pe *txerr.ProgramError
	require.ErrorAs(t, err, &pe)

	for _, c := range []struct {
		err  error
		is   error
		done bool
	}{
		{program(0, "Allocate: account Address already in use"), ErrAccountExists, true},
		{program(101), ErrProgramMismatch, false},
		{program(3012), ErrAccountGone, true},
		{named("AccountDataTooSmall"), ErrAccountGone, true},
		{named("InvalidInstructionData"), ErrProgramMismatch, false},
		{named("UnsupportedProgramId"), ErrProgramMissing, false},
		{named("MissingRequiredSignature"), CodeUnauthorised, false},
		{program(6052), CodeAlreadyApplied, true},
		{program(6047), CodeAlreadyVoted, true},
		{program(6014), CodeTooEarly, false},
		{&txerr.ProgramError{Program: Ed25519ProgramID, Code: 2, HasCode: true}, bindings.ErrorCodeInvalidSignature, false},
	} {
		require.ErrorIs(t, Explain(c.err), c.is, "%v", c.err)
		require.Equal(t, c.done, AlreadyDone(c.err), "%v", c.err)
	}
	require.ErrorIs(t, Refusal(CodeOrdersPaused), CodeOrdersPaused)
	require.Contains(t, Explain(program(1, "Transfer: insufficient lamports 3, need 5")).Error(), "send some SOL")
	require.Contains(t, Explain(program(4242)).Error(), "not one that gantry knows")
	require.NotErrorIs(t, Explain(&txerr.ProgramError{Program: solana.TokenProgramID, Code: 6012, HasCode: true}), CodeInsufficientFunds)
}

func TestStatusNames(t *testing.T) {
	require.Equal(t, "suspended", NodeSuspended.String())
	require.Equal(t, "status 9", NodeStatus(9).String())
	require.Equal(t, "status 0", LeaseStatus(0).String())
	require.Equal(t, "node failed", EndedFailed.String())
	got, err := ParseNodeStatus(" Draining ")
	require.NoError(t, err)
	require.Equal(t, NodeDraining, got)
	_, err = ParseNodeStatus("suspended")
	require.Error(t, err)
	link, err := ParseInterconnect("nvlink")
	require.NoError(t, err)
	require.Equal(t, NVLink, link)
}
