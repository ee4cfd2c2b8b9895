package service

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/jobspec"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// What people write for a GPU, on other markets and on boxes, finds its models. A number is not a part of a longer one.
func TestNamesOfModels(t *testing.T) {
	names := []string{
		"A10", "A100-SXM4-40GB", "A100-SXM4-80GB", "A100-PCIE-40GB", "H100 80GB HBM3", "NVIDIA GeForce RTX 4090", "RTX 4090 D", "L4", "L40", "L40S", "RTX A6000",
	}
	v := view.New(view.Options{})
	for i, name := range names {
		m := market.Model{}
		m.Id, m.Name = uint16(i+1), market.Text32(name)
		v.Put(solana.PublicKey{byte(i + 1)}, &m)
	}
	for text, want := range map[string][]string{
		"A100":               {"A100-SXM4-40GB", "A100-SXM4-80GB", "A100-PCIE-40GB"},
		"a100sxm4":           {"A100-SXM4-40GB", "A100-SXM4-80GB"},
		"A100 SXM4":          {"A100-SXM4-40GB", "A100-SXM4-80GB"},
		"a100-sxm4-40gb":     {"A100-SXM4-40GB"},
		"A100-SXM4-40":       {"A100-SXM4-40GB"},
		"2":                  {"A100-SXM4-40GB"}, // its id
		"H100":               {"H100 80GB HBM3"},
		"h100_80gb":          {"H100 80GB HBM3"},
		"RTX4090":            {"NVIDIA GeForce RTX 4090", "RTX 4090 D"},
		"4090":               {"NVIDIA GeForce RTX 4090", "RTX 4090 D"},
		"geforce rtx 4090 d": {"RTX 4090 D"},
		"A10":                {"A10"},
		"L4":                 {"L4"},
		"l40":                {"L40"},
		"any":                names,
	} {
		found, err := ModelsNamed(v, text)
		require.NoError(t, err, text)
		var got []string
		for _, m := range found {
			got = append(got, m.ModelName())
		}
		require.ElementsMatch(t, want, got, text)
	}
	for _, text := range []string{"", "-", "nvidia", "V100", "409"} {
		_, err := ModelsNamed(v, text)
		require.ErrorContains(t, err, "not known", text)
	}
}

// A compute capability leaves the models that have it, and says what the others have where none does.
func TestModelsOfAComputeCapability(t *testing.T) {
	v := view.New(view.Options{})
	for i, name := range []string{"T4", "A100-SXM4-40GB", "RTX-4090", "H100-SXM5-80GB", "RTX-5090", "a card that no table has"} {
		m := market.Model{}
		m.Id, m.Name = uint16(i+1), market.Text32(name)
		v.Put(solana.PublicKey{byte(i + 1)}, &m)
	}
	for least, want := range map[string][]string{
		"8.9": {"RTX-4090", "H100-SXM5-80GB", "RTX-5090"}, "9": {"H100-SXM5-80GB", "RTX-5090"}, "10.0": {"RTX-5090"},
	} {
		found, err := ModelsFor(v, AnyModel, least)
		require.NoError(t, err, least)
		var got []string
		for _, m := range found {
			got = append(got, m.ModelName())
		}
		require.ElementsMatch(t, want, got, least)
	}
	all, err := ModelsFor(v, AnyModel, "")
	require.NoError(t, err)
	require.Len(t, all, 6)
	_, err = ModelsFor(v, "A100", "8.9")
	require.ErrorContains(t, err, `no model of "A100" has compute capability 8.9 or more`)
	require.Contains(t, Classify(err).Advice, "A100-SXM4-40GB 8.0")
	_, err = ModelsFor(v, "a card that no table has", "1.0")
	require.ErrorContains(t, err, "no model")
	_, err = ModelsFor(v, AnyModel, "ada")
	require.ErrorContains(t, err, "write it such as 8.9")
}

// An image leaves out the models whose GPUs it does not run on, and asks for the CUDA that the others need.
func TestModelsThatRunAnImage(t *testing.T) {
	models := make([]market.Model, 4)
	for i, name := range []string{"A100-SXM4-40GB", "H100-SXM5-80GB", "B200-SXM6-180GB", "a card that no table has"} {
		models[i].Id, models[i].Name = uint16(i+1), market.Text32(name)
	}
	needs := func(requirement string) jobspec.Needs {
		return jobspec.ImageNeeds([]string{"NVIDIA_REQUIRE_CUDA=" + requirement}, nil)
	}
	for requirement, want := range map[string]struct {
		models int
		cuda   market.CUDA
	}{
		"": {4, 0}, "cuda>=12.4": {4, 1204}, "cuda>=12.4,arch>=9.0 brand=tesla,arch>=9.0": {3, 1204},
		"cuda>=11.8,arch<10.0 cuda>=12.8,arch>=10.0": {4, 1208},
	} {
		found, err := ModelsThatRun(models, AnyModel, needs(requirement))
		require.NoError(t, err)
		require.Len(t, found, want.models, requirement)
		require.Equal(t, want.cuda, ImageCUDA(found, needs(requirement)), requirement)
	}
	require.Equal(t, market.CUDA(1108), ImageCUDA(models[:2], needs("cuda>=11.8,arch<10.0 cuda>=12.8,arch>=10.0")))
	_, err := ModelsThatRun(models[:1], "A100", needs("cuda>=12.4,arch>=9.0"))
	require.ErrorContains(t, err, `no model of "A100" runs the image, which requires "cuda>=12.4,arch>=9.0": arch is the compute capability`)
	require.Contains(t, Classify(err).Advice, "they have: A100-SXM4-40GB 8.0")
	require.Contains(t, Classify(err).Advice, "--env NVIDIA_DISABLE_REQUIRE=true")
}

// The better quote of two can be served; of two that can, the cheaper one; else the one that more nodes fit.
func TestWhichQuoteIsBetter(t *testing.T) {
	dear := Quote{Nodes: 2, Fit: 2, expected: 20}
	cheap := Quote{Nodes: 2, Fit: 5, expected: 10}
	one, none := Quote{Nodes: 2, Fit: 1}, Quote{Nodes: 2}
	for _, c := range []struct{ better, worse *Quote }{{&cheap, &dear}, {&dear, &one}, {&cheap, &none}, {&one, &none}} {
		require.True(t, c.better.before(c.worse))
		require.False(t, c.worse.before(c.better))
	}
}

// A quote for one model counts no node of another whose name contains its name.
func TestAModelIsNotAPartOfItself(t *testing.T) {
	l40, l40s := market.Model{}, market.Model{}
	l40.Id, l40.Name, l40s.Id, l40s.Name = 1, market.Text32("L40"), 2, market.Text32("L40S")
	q := Terms{Model: 1}
	require.True(t, q.ofModel(&l40))
	require.False(t, q.ofModel(&l40s))
}

// An order reserves for the time that a machine may wait for the job, however short it is: budgets and caps count with that.
func TestAQuoteHoldsTheStartDeadline(t *testing.T) {
	r := rank(nodesView(10), 1000)
	m, ok := r.view.Model(1)
	require.True(t, ok)
	for seconds, most := range map[uint32]string{10: "0.10", 360: "0.10", 720: "0.20"} {
		request := QuoteRequest{Count: 1, Seconds: seconds, MaxPrice: "1", AllowSimulated: true}
		q, err := request.quote(r, &m, Account{Free: "5", Session: Limit{Left: "5"}}, 360)
		require.NoError(t, err)
		require.Equal(t, most, q.Most, seconds)
	}
}

// An order that takes several models shows all of them.
func TestNamesOfTheModelsOfAnOrder(t *testing.T) {
	model := func(name string) (m market.Model) { m.Name = market.Text32(name); return m }
	require.Equal(t, "T4 or L4", NamesOf([]market.Model{model("T4"), model("L4")}))
	require.Equal(t, "T4", NamesOf([]market.Model{model("T4")}))
	require.Equal(t, AnyModel, NamesOf(nil))
}
