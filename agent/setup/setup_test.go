package setup

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
)

func TestAsk(t *testing.T) {
	var out bytes.Buffer
	short := Question{Flag: "region", Text: "region", Check: func(s string) error {
		if len(s) > 3 {
			return errors.New("too long")
		}
		return nil
	}}
	got, err := NewAsker(strings.NewReader("\nlong one\n  abc \n"), &out, true).Ask(t.Context(), short)
	require.NoError(t, err)
	require.Equal(t, "abc", got)
	require.Equal(t, 3, strings.Count(out.String(), "region: "))
	require.Contains(t, out.String(), "too long")
	short.Default = "x"
	got, err = NewAsker(strings.NewReader("\n"), io.Discard, true).Ask(t.Context(), short)
	require.NoError(t, err)
	require.Equal(t, "x", got)
	_, err = NewAsker(strings.NewReader("long"), io.Discard, true).Ask(t.Context(), short)
	require.ErrorIs(t, err, ErrNoAnswer, "the wrong answer was the last")
	_, err = NewAsker(strings.NewReader("abc\n"), io.Discard, false).Ask(t.Context(), short)
	require.ErrorIs(t, err, ErrNobody)
	require.ErrorContains(t, err, "--region")

	silent, end := io.Pipe()
	defer end.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = NewAsker(silent, io.Discard, true).Ask(ctx, short)
	require.ErrorIs(t, err, context.Canceled)
}

func TestAgree(t *testing.T) {
	for answer, want := range map[string]error{"y\n": nil, "YES": nil, "no\n": ErrDeclined, "\n": ErrDeclined, "": ErrDeclined} {
		require.ErrorIs(t, NewAsker(strings.NewReader(answer), io.Discard, true).Agree(t.Context()), want, "%q", answer)
	}
	require.ErrorIs(t, NewAsker(strings.NewReader("y\n"), io.Discard, false).Agree(t.Context()), ErrNobody)
}

func TestRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	failed := errors.New("failed")
	step := func(name string, changed bool, err error) Step {
		return Step{Name: name, Do: func(context.Context) (string, bool, error) { return "said", changed, err }}
	}
	var out bytes.Buffer
	changed, err := Run(ctx, &out, []Step{step("a", true, nil), step("b", false, nil), step("c", true, failed), step("d", true, nil)})
	require.ErrorIs(t, err, failed)
	require.Equal(t, 1, changed)
	require.Equal(t, " ✓ a         said\n · b         said\n", out.String())
	cancel()
	_, err = Run(ctx, io.Discard, []Step{step("a", true, nil)})
	require.ErrorIs(t, err, context.Canceled)
}

func TestEarnings(t *testing.T) {
	paid, received, err := Earnings{Price: 1_000_000, GPUs: 8, Hours: HoursPerMonth, FeeBPS: 1_200}.Month()
	require.NoError(t, err)
	require.Equal(t, 5_840*market.OneUSDC, paid)
	require.EqualValues(t, 5_139_200_000, received) // 88 %
	_, _, err = Earnings{Price: 1 << 60, GPUs: 8, Hours: HoursPerMonth}.Month()
	require.ErrorIs(t, err, market.ErrAmount)

	var out bytes.Buffer
	e := Earnings{Price: 1_000_000, GPUs: 1, Hours: HoursPerMonth, FeeBPS: 1_200}
	require.NoError(t, e.Print(&out, "A100", 1_200_000, []market.PricePerHour{2_000_000, 900_000}))
	require.Contains(t, out.String(), "at most 642.40 USDC a month")
	require.Contains(t, out.String(), "2 other nodes ask 0.90 to 2.00")
	out.Reset()
	require.NoError(t, e.Print(&out, "A100", 0, nil))
	require.Contains(t, out.String(), "no reference price of A100; no other node offers it")
	require.Contains(t, out.String(), "not a promise")
}
