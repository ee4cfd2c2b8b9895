package service

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/records"
)

// known is what machines say of an image: of each its driver then, and how it went for its customers.
func known(t *testing.T, machines ...[]StartVote) *ImageRuns {
	t.Helper()
	var offers []Offer
	asked := Machines{}
	var votes []StartVote
	for i, of := range machines {
		name := fmt.Sprintf("n%d", i)
		offers = append(offers, Offer{Address: name, Provider: fmt.Sprintf("p%d", i/2)})
		asked[name] = ImageStarts{Answered: of != nil, Driver: "610.1"}
		for _, v := range of {
			v.Node, v.Provider = name, offers[i].Provider
			votes = append(votes, v)
		}
	}
	return RunsOf(WithStarts(offers, records.Hash{1}, asked, votes))
}

func how(driver string, outcomes ...records.StartOutcome) (out []StartVote) {
	out = []StartVote{}
	for i, o := range outcomes {
		out = append(out, vote("", "", byte(i+1), driver, o, 1))
	}
	return out
}

// A machine counts once, by the drivers with which it was tried, and not by the one that it has now.
func TestRunsOfAnImageCountMachines(t *testing.T) {
	require.Nil(t, RunsOf([]Offer{{Address: "n"}}), "nobody was asked")

	r := known(t, nil, how(""), how("595.1"))
	require.Equal(t, &ImageRuns{Digest: r.Digest, Asked: 3, Answered: 2}, r)
	require.False(t, r.Fails, "what is not known is no failure")
	require.Zero(t, known(t, how("595.1", records.StartNoImage)).Tried, "an image that did not arrive accuses no machine")

	r = known(t, how("595.1", records.StartRan, records.StartFailed), how("595.2", records.StartStatus), how("570.1", records.StartFailed), nil, how("610.1"))
	require.Equal(t, "ran on 1 of 3 machines, failed on driver 570.x: 1 of 1", r.Says)
	require.Equal(t, []DriverRuns{{"595", 2, 1}, {"570", 1, 0}}, r.Drivers)
	require.Equal(t, []int{5, 4, 3, 1, 2}, []int{r.Asked, r.Answered, r.Tried, r.Ran, r.Owners})
	require.False(t, r.Fails)
	require.Equal(t, "ran on 1 of 1 machines", known(t, how("595.1", records.StartDone)).Says)

	var bad [][]StartVote
	for range 14 {
		bad = append(bad, how("595.45.04", records.StartStatus, records.StartStatus))
	}
	r = known(t, bad...)
	require.True(t, r.Fails)
	require.Equal(t, "failed on driver 595.x: 14 of 14", r.Says)
	require.Equal(t, 7, r.Owners)

	r = known(t, how("1.1", records.StartFailed), how("2.1", records.StartFailed), how("3.1", records.StartFailed), how("", records.StartFailed), how("4.1", records.StartFailed))
	require.True(t, r.Fails)
	require.Equal(t, "failed on machines without a driver: 1 of 1, driver 1.x: 1 of 1, driver 2.x: 1 of 1, 2 other drivers", r.Says)
}

// A quote knows the nodes that would be asked next, and names those that would be awarded.
func TestAQuoteKnowsNodesThatFit(t *testing.T) {
	r := rank(nodesView(10), 1000)
	m, ok := r.view.Model(1)
	require.True(t, ok)
	request := QuoteRequest{Count: 1, Nodes: 2, Seconds: 60, MaxPrice: "1000", AllowSimulated: true}
	q, err := request.quote(r, &m, Account{Free: "5", Session: Limit{Left: "5"}}, 360)
	require.NoError(t, err)
	require.Len(t, q.Best, 2)
	require.Len(t, q.Offers(), q.Fit)
	require.Greater(t, q.Fit, 2)
	require.Equal(t, q.Best, q.Offers()[:2])
}
