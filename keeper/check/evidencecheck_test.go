package check

import (
	"context"
	"crypto/ed25519"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/guest"
	"github.com/gantry-market/gantry/attest/tpm"
	"github.com/gantry-market/gantry/keeper/evidence"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// judge is a Judge that says what it is told.
type judge struct {
	mu      sync.Mutex
	asked   []evidence.Question
	verdict evidence.Verdict
	err     error
	// wants a TPM; enrolled holds the secret that finished an enrolment.
	wants    bool
	enrolled []byte
	// guests are the keys by which answers were signed.
	guests [][32]byte
}

func (j *judge) Answered(_ solana.PublicKey, guest [32]byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.guests = append(j.guests, guest)
}

func (j *judge) Judge(q evidence.Question, _ []byte, _ time.Time) (evidence.Verdict, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.asked = append(j.asked, q)
	return j.verdict, j.err
}

func (j *judge) WantsTPM(tpm.Subject, time.Time) bool { return j.wants }

func (j *judge) Statement(tpm.Subject) []byte {
	if j.enrolled == nil {
		return nil
	}
	return append([]byte("seen "), j.enrolled...)
}

func (j *judge) Enrol(s tpm.Subject, r tpm.Request, _ time.Time) (tpm.Credential, func([]byte, records.Signer, time.Time) error, error) {
	if string(r.AK) != "ak" || s.Program != [32]byte(market.ProgramID) {
		return tpm.Credential{}, nil, errors.New("not that one")
	}
	return tpm.Credential{IDObject: []byte("sealed")}, func(secret []byte, _ records.Signer, _ time.Time) error {
		j.enrolled = secret
		return nil
	}, nil
}

func TestTPMIsEnrolledBeforeEvidence(t *testing.T) {
	for name, c := range map[string]struct {
		tpm  func(messages.TPMStep) *messages.TPMAnswer
		want string
	}{
		"with a TPM": {func(s messages.TPMStep) *messages.TPMAnswer {
			if len(s.IDObject) == 0 {
				return &messages.TPMAnswer{AK: []byte("ak")}
			}
			return &messages.TPMAnswer{Secret: s.IDObject}
		}, "seen sealed"},
		"without one": {func(messages.TPMStep) *messages.TPMAnswer { return nil }, ""},
		"with an odd one": {func(messages.TPMStep) *messages.TPMAnswer {
			return &messages.TPMAnswer{AK: []byte("of another kind")}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var statement []byte
			checker, got, work := newChecker(t, func(_ context.Context, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
				if req.TPM != nil {
					return messages.ChallengeResponse{Version: messages.Version, Nonce: req.Nonce, TPM: c.tpm(*req.TPM)}, nil
				}
				statement = req.Evidence.TPMStatement
				return shows(req), nil
			})
			checker.o.Evidence = &judge{wants: true, verdict: evidence.Verdict{Passed: true, Tier: 1}}
			checker.evidence(context.Background(), work, 5)
			require.Len(t, got.all, 1, "a machine without a TPM is asked for evidence all the same")
			require.Equal(t, c.want, string(statement))
		})
	}
}

// A keeper notes whose process has answered: a signature over another question, or over other GPUs, is none.
func TestTheGuestsSignatureIsNoted(t *testing.T) {
	own, err := guest.NewKey()
	require.NoError(t, err)
	none := [32]byte{}
	for name, c := range map[string]struct {
		change func(*messages.ChallengeResponse)
		want   [32]byte
	}{
		"signed":           {func(*messages.ChallengeResponse) {}, own.Public()},
		"not signed":       {func(r *messages.ChallengeResponse) { r.Guest = nil }, none},
		"another question": {func(r *messages.ChallengeResponse) { r.Guest.Signature = own.SignAnswer([32]byte{1}, r.Vouched()) }, none},
		"other GPUs":       {func(r *messages.ChallengeResponse) { r.Inventory.GPUs[0].Identity[0]++ }, none},
		"more memory":      {func(r *messages.ChallengeResponse) { r.Inventory.GPUs[0].VRAMMiB++ }, none},
		"another's key":    {func(r *messages.ChallengeResponse) { r.Guest.Key[0]++ }, none},
	} {
		t.Run(name, func(t *testing.T) {
			checker, _, work := newChecker(t, func(_ context.Context, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
				r := messages.ChallengeResponse{Version: messages.Version, Nonce: req.Nonce, Inventory: &messages.Inventory{GPUs: []messages.GPU{{Name: "H100"}}}}
				r.Guest = &messages.GuestSignature{Key: own.Public(), Signature: own.SignAnswer(r.Nonce, r.Vouched())}
				c.change(&r)
				return r, nil
			})
			j := &judge{}
			checker.o.Evidence = j
			checker.inventory(context.Background(), work, 5)
			require.Equal(t, [][32]byte{c.want}, j.guests)
		})
	}
}

func shows(req messages.ChallengeRequest) messages.ChallengeResponse {
	return messages.ChallengeResponse{Version: messages.Version, Nonce: req.Nonce, Evidence: []byte("bundle")}
}

func TestEvidenceIsJudged(t *testing.T) {
	for name, c := range map[string]struct {
		verdict  evidence.Verdict
		passed   bool
		measured uint32
	}{
		"tier 2":         {evidence.Verdict{Passed: true, Tier: 2, Hash: [32]byte{9}}, true, 2},
		"tier 0":         {evidence.Verdict{Passed: true, Hash: [32]byte{9}}, true, 0},
		"false":          {evidence.Verdict{Hash: [32]byte{9}}, false, 0},
		"device changed": {evidence.Verdict{Changed: true, Hash: [32]byte{9}}, false, records.EvidenceDeviceChanged},
	} {
		t.Run(name, func(t *testing.T) {
			var sent messages.ChallengeRequest
			checker, got, work := newChecker(t, func(_ context.Context, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
				sent = req
				return shows(req), nil
			})
			j := &judge{verdict: c.verdict, err: errors.New("disk full")}
			checker.o.Evidence, checker.o.Genesis = j, [32]byte{6}
			checker.evidence(context.Background(), work, 5)
			require.Len(t, got.all, 1)
			f := got.all[0]
			require.Equal(t, records.CheckEvidence, f.Kind)
			require.Equal(t, c.passed, f.Passed)
			require.Equal(t, c.measured, f.Figures.First)
			require.Equal(t, [32]byte{9}, f.Detail)
			require.EqualValues(t, 5, f.Period)
			require.Equal(t, work.node.Address, f.Node)

			require.Len(t, j.asked, 1)
			q := j.asked[0]
			require.Equal(t, sent.Evidence.Of(work.node.Address, work.node.NodeKey), q.Challenge)
			require.Equal(t, [32]byte{6}, q.Challenge.GenesisHash)
			require.Equal(t, [32]byte(market.ProgramID), q.Challenge.Program)
			require.Equal(t, [32]byte{3}, q.Challenge.SlotHash)
			require.NotZero(t, q.Challenge.ID)
			own := checker.o.Signer.PublicKey()
			require.Equal(t, []ed25519.PublicKey{own[:]}, q.Keepers, "one keeper's statement about a TPM is no other's")
			require.ElementsMatch(t, [][32]byte{{1}, {2}}, q.Devices)
			s := records.CheckStatement{Node: f.Node, Kind: f.Kind, Passed: f.Passed, Figures: f.Figures, Period: f.Period, Detail: f.Detail}
			require.NoError(t, s.Validate())
		})
	}
}

func TestEvidenceThatDoesNotCome(t *testing.T) {
	refusal := func(req messages.ChallengeRequest) messages.ChallengeResponse {
		return messages.ChallengeResponse{Version: messages.Version, Nonce: req.Nonce, Refused: "I would rather not"}
	}
	for name, c := range map[string]struct {
		ask      answers
		recorded bool
	}{
		"gone": {func(ctx context.Context, _ messages.ChallengeRequest) (messages.ChallengeResponse, error) {
			return messages.ChallengeResponse{}, errors.New("no route")
		}, false},
		"refuses again and again": {func(_ context.Context, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
			if req.Kind == messages.CheckLiveness {
				return alive(req), nil
			}
			return refusal(req), nil
		}, true},
		"will not talk about it": {func(_ context.Context, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
			if req.Kind == messages.CheckLiveness {
				return alive(req), nil
			}
			return messages.ChallengeResponse{}, errors.Join(ErrRefused, errors.New("only keepers"))
		}, true},
		"does not know the keeper": {func(context.Context, messages.ChallengeRequest) (messages.ChallengeResponse, error) {
			return messages.ChallengeResponse{}, errors.Join(ErrRefused, errors.New("only keepers"))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			checker, got, work := newChecker(t, c.ask)
			j := &judge{}
			checker.o.Evidence, checker.o.Timing.Every = j, 100*time.Millisecond
			checker.evidence(context.Background(), work, 5)
			require.Empty(t, j.asked)
			if !c.recorded {
				require.Empty(t, got.all)
				return
			}
			require.Len(t, got.all, 1)
			require.True(t, got.all[0].Passed, "to show nothing costs the tier and no stake")
			require.Zero(t, got.all[0].Figures.First)
			require.Zero(t, got.all[0].Detail)
		})
	}
	t.Run("a lease begins meanwhile", func(t *testing.T) {
		var checker *Checker
		var got *collected
		var work subject
		checker, got, work = newChecker(t, func(_ context.Context, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
			n := *work.node
			n.LiveLeases, n.GpuMask = 1, 1
			checker.o.View.Put(n.Address, &n)
			return refusal(req), nil
		})
		checker.o.Evidence = &judge{}
		checker.evidence(context.Background(), work, 5)
		require.Empty(t, got.all)
	})
}

func TestEvidenceSchedule(t *testing.T) {
	const begin = 1_000 * market.EvidenceSecs
	for _, c := range []struct {
		tier    uint8
		expires int64
		lapses  bool
	}{
		{3, market.EvidenceSecs, false},
		{2, market.EvidenceSecs / 2, false},
		{2, market.EvidenceSecs/2 - 1, true},
		{3, -1, true},
		{1, 0, false},
		{0, -begin, false},
	} {
		n := &market.Node{}
		n.Tier, n.EvidenceExpiry = c.tier, begin+c.expires
		require.Equal(t, c.lapses, lapses(n, begin), "%+v", c)
	}

	checker, _, _ := newChecker(t, nil)
	checker.o.Evidence = &judge{}
	require.True(t, checker.timeForEvidence(31*time.Second))
	require.False(t, checker.timeForEvidence(50*time.Second), "too late for an answer within the period of 60 s")
	checker.o.Evidence = nil
	require.False(t, checker.timeForEvidence(31*time.Second), "without a judge")
}

// The keeper asks which boards the node's model has, by the table of classes.
func TestEvidenceIsJudgedWithTheModelsBoards(t *testing.T) {
	for model, want := range map[string][]string{"H100-SXM5-80GB": {"G520_0200_885"}, "RTX-4090": nil, "a model of no class": nil} {
		checker, _, work := newChecker(t, func(_ context.Context, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
			return shows(req), nil
		})
		j := &judge{verdict: evidence.Verdict{Passed: true, Tier: 1}}
		checker.o.Evidence = j
		work.model.Name = market.Text32(model)
		checker.evidence(context.Background(), work, 5)
		require.Len(t, j.asked, 1)
		require.ElementsMatch(t, want, j.asked[0].Boards, model)
	}
}
