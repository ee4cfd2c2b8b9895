package class

import (
	"testing"

	"github.com/gantry-market/gantry/attest/measure"
)

func TestShares(t *testing.T) {
	c := Class{Operations: 100, Bandwidth: 10}
	for f, want := range map[measure.Figures]float64{
		{Operations: 100, Bandwidth: 10}: 1, {Operations: 1000, Bandwidth: 10}: 1, {Operations: 50, Bandwidth: 10}: 0.5,
		{Operations: 1000, Bandwidth: 4}: 0.4, {}: 0,
	} {
		if got := c.Share(f); got != want {
			t.Errorf("%+v: %g, not %g", f, got, want)
		}
	}
}

// Six machines that take turns with one GPU have a sixth each, and one good check is none.
func TestPasses(t *testing.T) {
	for _, c := range []struct {
		shares []float64
		want   bool
	}{
		{nil, false},
		{[]float64{1, 1, 1, 1, 1}, false},
		{[]float64{1, 1, 1, 1, 1, 1}, true},
		{[]float64{1, 0, 0, 0, 0, 0}, false},
		{[]float64{1, 1, 1, 1, 0, 0}, false},
		{[]float64{1, 1, 1, 1, 0.25, 0}, true},
		{[]float64{0.5, 0.5, 0.5, 0.5, 0.5, 0.5}, false},
	} {
		if got := Passes(c.shares); got != c.want {
			t.Errorf("%v: %t", c.shares, got)
		}
	}
}

// Half of the threads are below what the class asks for, by the committed figures, and all of them above.
func TestProcessorsAreApart(t *testing.T) {
	one, two := Processors[0], Processors[1]
	half := two.Share(measure.Figures{Operations: one.Operations, Bandwidth: one.Bandwidth})
	if half >= Least-0.1 {
		t.Errorf("one thread has %.2f of two: the classes cannot be told apart", half)
	}
	if err := Profile.Validate(); err != nil {
		t.Error(err)
	}
	if got := Median([]float64{3, 1, 2, 9}); got != 2 || Median(nil) != 0 {
		t.Errorf("median %g", got)
	}
}
