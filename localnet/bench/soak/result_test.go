package soak

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/crank"
	"github.com/gantry-market/gantry/keeper/server"
)

// What is read are the keeper's own metrics: a renamed one would show here.
func TestKeepersMetricsAreRead(t *testing.T) {
	m := server.NewMetrics()
	for range 99 {
		m.CrankLag(crank.LeaseEnd, 40*time.Millisecond)
	}
	m.CrankLag(crank.ReportApply, 5*time.Second)
	m.Check(1, true, time.Millisecond)
	web := httptest.NewServer(promhttp.HandlerFor(m.Registry, promhttp.HandlerOpts{}))
	defer web.Close()
	s, err := Scrape(t.Context(), web.URL)
	require.NoError(t, err)
	h := s.histogram("gantry_keeper_crank_lag_seconds")
	require.EqualValues(t, 100, h.count)
	p95, ok := h.quantile(0.95)
	require.True(t, ok)
	require.Equal(t, 50*time.Millisecond, p95)
	worst, ok := h.quantile(1)
	require.True(t, ok)
	require.GreaterOrEqual(t, worst, 5*time.Second)
	require.Equal(t, map[string]float64{"passed": 1}, s.ByLabel("gantry_keeper_checks_total", "result"))
	require.Positive(t, s.Value("go_goroutines"))
	require.Positive(t, s.Value("process_resident_memory_bytes"))
	require.NotNil(t, s.families["gantry_keeper_transaction_fees_lamports_total"])
	require.EqualValues(t, 200, h.add(s.histogram("gantry_keeper_crank_lag_seconds")).count)
}

func TestMetricsThatCannotBeRead(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{not metrics")) }))
	_, err := Scrape(t.Context(), web.URL)
	require.ErrorIs(t, err, ErrMetrics)
	web.Close()
	_, err = Scrape(t.Context(), web.URL)
	require.ErrorIs(t, err, ErrMetrics)
	_, ok := histogram{}.quantile(0.5)
	require.False(t, ok)
}

func TestComplaints(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keeper.log")
	require.NoError(t, os.WriteFile(path, []byte(strings.Join([]string{
		`{"level":"info","message":"fine"}`,
		`{"level":"warn","part":"crank","error":"lease 4sGjMW1sUnHzSxGspuhpqLDx6wiyjNtZAMdL4VZHirAn after 3 s","message":"crank"}`,
		`{"level":"warn","part":"crank","error":"lease GNw6Vy4CW2CWR56SpfCrF3F9AHZj2Yw5GpLbkqPKmeyt after 14 s","message":"crank"}`,
		`{"level":"warn","message":"SIMULATION: this node is not what it seems"}`,
		`panic: a crash`, ``,
	}, "\n")), 0o600))
	got, err := ReadComplaints([]string{path, path + ".none"})
	require.NoError(t, err)
	require.Len(t, got, 3)
	require.Equal(t, 2, got[0].Times, "the same complaint about two leases")
	require.Empty(t, got[0].Why)
	for _, c := range got[1:] {
		require.Equal(t, strings.HasPrefix(c.Message, "SIMULATION"), c.Why != "", c.Message)
	}
}

func TestWrong(t *testing.T) {
	good := Result{Finished: 1, Reports: 1, Checks: 1, PerKeeper: []KeeperCost{{Name: "k", HeapStart: 10, HeapEnd: 11}}}
	require.Empty(t, good.Wrong())
	for name, change := range map[string]func(*Result){
		"no orders":     func(r *Result) { r.Finished = 0 },
		"failed order":  func(r *Result) { r.Failures = map[string]int{"x": 1} },
		"no report":     func(r *Result) { r.Reports = 0 },
		"missed period": func(r *Result) { r.Missed = []uint64{3} },
		"no checks":     func(r *Result) { r.Checks = 0 },
		"violation":     func(r *Result) { r.Violations = []string{"x"} },
		"unjust fault":  func(r *Result) { r.Faults = []string{"x"} },
		"late":          func(r *Result) { r.CrankLate = true },
		"leak":          func(r *Result) { r.PerKeeper = []KeeperCost{{HeapStart: 10, HeapEnd: 13}} },
		"restart":       func(r *Result) { r.PerKeeper = []KeeperCost{{Restarts: 1}} },
		"log":           func(r *Result) { r.Complaints = []Complaint{{Message: "x"}} },
	} {
		t.Run(name, func(t *testing.T) {
			bad := good
			change(&bad)
			require.Len(t, bad.Wrong(), 1)
		})
	}
}

// The messages that need no explanation are those of keepers and agents: one that was reworded would be a complaint.
func TestExplainedMessagesExist(t *testing.T) {
	var sources []byte
	for _, dir := range []string{"../../../keeper", "../../../agent"} {
		require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			sources = append(sources, text...)
			return err
		}))
	}
	for _, e := range explained {
		require.Contains(t, string(sources), `Msg("`+e.message, "a warning that the soak explains")
	}
}
