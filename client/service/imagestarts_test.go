package service

import (
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/records"
)

func vote(node, provider string, customer byte, driver string, o records.StartOutcome, hour int) StartVote {
	return StartVote{
		Node: node, Provider: provider, Customer: solana.PublicKey{customer}, Model: "H100",
		Start: records.Start{Driver: driver, Sandbox: "release-1", Outcome: o, At: time.Unix(int64(hour)*3600, 0)},
	}
}

func TestMachinesOnWhichAnImageRanComeFirst(t *testing.T) {
	offers := []Offer{{Address: "new"}, {Address: "bad"}, {Address: "away"}, {Address: "good"}, {Address: "mixed"}, {Address: "unasked"}}
	asked := Machines{
		"new": {Answered: true, Driver: "595.71.05"}, "bad": {Answered: true, Driver: "595.45.04"}, "away": {}, "good": {Answered: true, Driver: "580.10"},
		"mixed": {Answered: true, Driver: "570.1"},
	}
	votes := []StartVote{
		vote("good", "A", 1, "580.10", records.StartRan, 1), vote("good", "A", 2, "580.10", records.StartDone, 1),
		vote("mixed", "B", 1, "570.1", records.StartRan, 1), vote("mixed", "B", 2, "570.1", records.StartFailed, 2),
	}
	for c := range byte(14) {
		votes = append(votes, vote("bad", "C", 10+c, "595.45.04", records.StartStatus, 1))
	}
	got := WithStarts(offers, records.Hash{1}, asked, votes)
	says := map[string]string{}
	var order []string
	for i := range got {
		order = append(order, got[i].Address)
		says[got[i].Address] = got[i].Image.String()
	}
	require.Equal(t, []string{"good", "mixed", "new", "bad", "away", "unasked"}, order, "failures move nothing")
	require.Equal(t, map[string]string{
		"new": "failed on driver 595.x: 14 of 14", "bad": "failed here: 14 of 14", "away": "no answer", "good": "ran here: 2 of 2", "mixed": "ran here: 1 of 2", "unasked": "-",
	}, says)
	require.Equal(t, []StartCount{{Driver: "595.45", Sandbox: "release-1", Model: "H100", Failed: 14, Owners: 1}}, got[2].Image.Others)
	require.Equal(t, map[string]int{"error status": 14}, got[3].Image.Why)
	require.Nil(t, offers[0].Image, "answers to searches are shared")
}

// One customer has one vote on a machine, the last; and one on all machines of an owner.
func TestACustomerHasOneVote(t *testing.T) {
	offers := []Offer{{Address: "one"}, {Address: "two"}}
	asked := Machines{"one": {Answered: true, Driver: "595.1"}, "two": {Answered: true, Driver: "595.2"}}
	var votes []StartVote
	for hour := range 30 {
		votes = append(votes, vote("one", "A", 1, "595.1", records.StartRan, hour))
	}
	votes = append(votes, vote("one", "A", 1, "595.1", records.StartFailed, 30), vote("one", "A", 1, "595.1", records.StartRan, 30))
	for node := range 20 {
		votes = append(votes, vote("other"+string(rune('a'+node)), "B", 1, "595.1", records.StartFailed, 1))
	}
	got := WithStarts(offers, records.Hash{}, asked, votes)
	require.Equal(t, "failed here: 1 of 1", got[0].Image.Says)
	require.Equal(t, "failed on driver 595.x: 2 of 2", got[1].Image.Says, "of the owners A and B")
	require.Equal(t, []StartCount{{Driver: "595.1", Sandbox: "release-1", Model: "H100", Failed: 2, Owners: 2}}, got[1].Image.Others)

	votes = []StartVote{vote("x", "A", 1, "595.1", records.StartRan, 1), vote("x", "A", 2, "595.1", records.StartFailed, 1), vote("y", "B", 2, "580.1", records.StartFailed, 1)}
	got = WithStarts(offers, records.Hash{}, asked, votes)
	require.Equal(t, "ran on driver 595.x: 1 of 2", got[0].Image.Says)
	got = WithStarts(offers[:1], records.Hash{}, Machines{"one": {Answered: true}}, []StartVote{vote("x", "A", 1, "", records.StartFailed, 1)})
	require.Equal(t, "failed on other machines without a driver: 1 of 1", got[0].Image.Says)
	got = WithStarts(offers[:1], records.Hash{}, Machines{"one": {Answered: true, Driver: "1"}}, nil)
	require.Equal(t, "-", got[0].Image.String())
}

// A customer orders the digest of a well-known image from many machines, at a registry that never sends it. That accuses no driver.
func TestAnImageThatDidNotArriveAccusesNoDriver(t *testing.T) {
	var votes []StartVote
	for i := range 20 {
		votes = append(votes, vote("node"+string(rune('a'+i)), "owner"+string(rune('a'+i)), 1, "595.1", records.StartNoImage, 2))
	}
	asked := Machines{"new": {Answered: true, Driver: "595.1"}, "nodea": {Answered: true, Driver: "595.1"}}
	got := WithStarts([]Offer{{Address: "new"}, {Address: "nodea"}}, records.Hash{}, asked, votes)
	require.Equal(t, "-", got[0].Image.String())
	require.Empty(t, got[0].Image.Others)
	require.Equal(t, map[string]int{"no image": 1}, got[1].Image.Why, "it stays with the machine that says so")
	votes = append(votes, vote("x", "X", 2, "595.1", records.StartRan, 1))
	got = WithStarts([]Offer{{Address: "new"}}, records.Hash{}, asked, votes)
	require.Equal(t, "ran on driver 595.x: 1 of 1", got[0].Image.Says)
}
