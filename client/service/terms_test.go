package service

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
)

func TestParseQuery(t *testing.T) {
	q, err := ParseTerms("gpu=H100 count>=8 region=us price<2.6 uptime>=99 vram>=80G tier>=2 nvlink rep>=97.5 real")
	require.NoError(t, err)
	no := false
	require.Equal(t, Terms{
		GPU: "H100", Count: 8, Region: "us", MaxPrice: 2_600_000, Below: true, UptimeBPS: 9_900, Reputation: 9_750, VRAMMiB: 76_185, Tier: 2,
		Interconnect: market.NVLink, Simulated: &no,
	}, q)
	q, err = ParseTerms("tops>=989.5 bandwidth>=2000")
	require.NoError(t, err)
	require.Equal(t, Terms{Count: 1, Operations: 989_500, Bandwidth: 2_000_000}, q)
	q, err = ParseTerms("cpus>=16 memory>=128G disk>500 cuda>=12.8 compute>=8.9")
	require.NoError(t, err)
	require.Equal(t, Terms{Count: 1, CPUs: 16, RAMMiB: 128 << 10, DiskGiB: 501, CUDA: 1208, Compute: 809}, q)
	q, err = ParseTerms("")
	require.NoError(t, err)
	require.Equal(t, Terms{Count: 1}, q)
	q, err = ParseTerms("count>1 price<=3 tier>0 uptime>99")
	require.NoError(t, err)
	require.Equal(t, Terms{Count: 2, MaxPrice: 3_000_000, Tier: 1, UptimeBPS: 9_901}, q)

	for text, message := range map[string]string{
		"colour=red":                        `search term "colour" is not known`,
		"fast":                              `search term "fast" is not known`,
		"count<=3":                          `search term "count" cannot use "<="`,
		"price>2":                           `search term "price" cannot use ">"`,
		"price<0":                           "the price must be greater than zero",
		"price<x":                           "not a valid amount",
		"count>=9":                          "not a whole number up to 8",
		"count>=":                           `search term "count>=" has no value`,
		"uptime>=101":                       "not a percentage from 0 to 100",
		"uptime>=99.999":                    "at most two decimals",
		"tier>=4":                           "not a whole number up to 3",
		"tops>=1.2345":                      "at most three decimals",
		"bandwidth>=4294968":                "up to 4294967",
		"tops>=-1":                          "is not a number",
		"gpu!=A100":                         `search term "gpu" cannot use "!="`,
		"cpus":                              "has no value",
		"cpus>=1.5":                         "not a whole number",
		"ram<=5":                            `search term "ram" cannot use "<="`,
		"cuda>=new":                         "no version of CUDA",
		"compute>=ada":                      "no compute capability",
		"link=usb":                          "is not an interconnect",
		"region=" + strings.Repeat("x", 17): "at most 16 characters",
	} {
		_, err := ParseTerms(text)
		require.ErrorContains(t, err, message, text)
		require.Equal(t, CodeUsage, Classify(err).Code, text)
		require.NotEmpty(t, Classify(err).Advice, text)
	}
}

func FuzzParseQuery(f *testing.F) {
	f.Add("gpu=H100 count>=8 region=us price<2.6 uptime>=99")
	f.Add("price<= x==y ==")
	f.Fuzz(func(t *testing.T, s string) {
		q, err := ParseTerms(s)
		if err != nil && Classify(err).Code != CodeUsage {
			t.Fatalf("%q: %v", s, err)
		}
		if err == nil && (q.Count == 0 || q.UptimeBPS > market.BPS+1 || q.Tier > 4) {
			t.Fatalf("%q: %+v", s, q)
		}
	})
}

func TestQueryMatches(t *testing.T) {
	n, m := market.Node{}, market.Model{}
	m.Name = market.Text32("H100-SXM5-80GB")
	n.Status, n.Price, n.UptimeBps, n.ChecksTotal = uint8(market.NodeActive), 2_000_000, 9_900, 1
	n.Spec = market.NodeSpec{Gpus: 8, VramMib: 81_920, Region: market.Text16("us-west-2"), CpuCores: 64, RamMib: 512 << 10, DiskGib: 4_000, Cuda: 1208}
	for text, want := range map[string]string{
		"": "", "gpu=h100": "", "gpu=A100": "other model", "count>=8": "", "price<2": "too dear", "price<=2": "", "region=us-w": "",
		"region=eu": "other region", "uptime>=99": "", "uptime>99": "uptime or reputation", "vram>=80": "", "vram>=87": "other hardware",
		"simulated": "simulated or not", "real": "", "cpus>=8 ram>=64 disk>=500 cuda>=12.8": "", "cpus>8": "fewer cores, less memory or disk, or an older CUDA",
		"count>=2 cpus>=16": "", "cuda>=13": "fewer cores, less memory or disk, or an older CUDA", "nvlink": "other hardware", "tier>=1": "other hardware",
		"compute>=9.0": "", "compute>=9.1": "other model", "gpu=H100 compute>=10": "other model",
	} {
		q, err := ParseTerms(text)
		require.NoError(t, err)
		require.Equal(t, want, q.matches(&n, &m, 0), text)
	}
	n.GpuMask = 1
	q, err := ParseTerms("count>=8")
	require.NoError(t, err)
	require.Equal(t, "too few free GPUs", q.matches(&n, &m, 0))

	// What keepers have measured.
	figures := func(text, want string) {
		t.Helper()
		q, err := ParseTerms(text)
		require.NoError(t, err)
		require.Equal(t, want, q.matches(&n, &m, 0), text)
	}
	figures("tops>=1", "slower, or not measured")
	n.Operations, n.Bandwidth, n.MeasuredPeriod = 1_500_000, 2_500_000, 7
	figures("tops>=1500 bandwidth>=2500", "")
	figures("tops>=1500.001", "slower, or not measured")
	figures("bandwidth>=2500.1", "slower, or not measured")
	m.MinOperations, n.MinOperations = 1_979_000, 1_979_000
	figures("", "not measured to be of its class")
	n.ClassSince, n.Shares, n.SharesLen = 5, [6]uint16{7_579}, 1
	figures("", "")
	offer := DescribeNode(&n, &m, 100)
	require.Equal(t, &Measured{
		TOPS: "1500.0", Bandwidth: "2500.0", Period: 7, Share: "75.79", Shares: []string{"75.79"}, PricePerTOPS: "0.001333", PricePerGBs: "0.000800", InClass: true,
	}, offer.Measured)
}

func TestRating(t *testing.T) {
	n := market.Node{}
	require.Equal(t, "-", Rating(&n))
	n.RatingSum, n.RatingWeight = 9, 2
	require.Equal(t, "4.5", Rating(&n))
	n.RatingSum, n.RatingWeight = 1<<63, 1<<62
	require.Equal(t, "2.0", Rating(&n))
}
