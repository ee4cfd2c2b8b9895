// Package prometheus_test tries the alert rules with Prometheus's own tool.
package prometheus_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/gantry-market/gantry/packaging/internal/known"
)

// rules is a file of alert rules, as far as it is read here.
type rules struct {
	Groups []struct {
		Rules []struct {
			Alert       string
			Expr        string
			Labels      map[string]string
			Annotations map[string]string
		}
	}
}

// fault is a series whose course an alert is about: it is quiet at one time, and fires at another. Series are in promtool's
// notation, a value each 15 s.
type fault struct {
	alert        string
	series       map[string]string
	quiet, fires string
	labels       map[string]string // of the series, which the alert keeps
}

func of(alert, metric, labels, values, quiet, fires string) fault {
	f := fault{alert: alert, quiet: quiet, fires: fires, labels: map[string]string{"instance": "one"}, series: map[string]string{}}
	text := `instance="one"`
	for label := range strings.SplitSeq(labels, ",") {
		if name, value, ok := strings.Cut(label, "="); ok {
			f.labels[name] = value
			text += "," + name + `="` + value + `"`
		}
	}
	f.series[metric+"{"+text+"}"] = values
	return f
}

func (f fault) with(series, values string) fault {
	f.series[series] = values
	return f
}

var faults = map[string][]fault{
	"agent": {
		of("GantryAgentDown", "up", "job=gantry-agent", "1x10 0x20", "2m", "4m"),
		of("GantryAgentGPUMissing", "gantry_agent_gpu_missing", "gpu=0,simulated=false", "0x10 1x20", "2m", "3m"),
		of("GantryAgentHardwareFault", "gantry_agent_hardware_faults", "", "0x10 1x20", "2m", "3m"),
		of("GantryAgentFaultPending", "gantry_agent_pending_faults", "", "0x10 1x20", "2m", "3m"),
		of("GantryAgentSuspended", "gantry_agent_node_status", "status=suspended", "_x10 1x20", "2m", "3m"),
		of("GantryAgentAlone", "gantry_agent_keepers_connected", "", "1x12 0x60", "3m", "7m").with(`gantry_agent_keepers{instance="one"}`, "3x80"),
		of("GantryAgentSlow", "gantry_agent_slow_periods", "", "0x10 1x20", "2m", "3m"),
		of("GantryAgentLeftSlow", "gantry_agent_not_offering", "reason=slow", "0x10 1x20", "2m", "3m"),
		of("GantryAgentNotOffering", "gantry_agent_not_offering", "reason=used", "0x10 1x3200", "12h", "13h").
			with(`gantry_agent_node_status{instance="one",status="hibernated"}`, "0x10 1x3200"). // by the agent itself
			with(`gantry_agent_not_offering{instance="two",reason="status"}`, "1x3300").         // by the owner, on purpose
			with(`gantry_agent_node_status{instance="two",status="hibernated"}`, "1x3300").
			with(`gantry_agent_not_offering{instance="three",reason="hours"}`, "1x3300"),
		of("GantryAgentNotAsked", "gantry_agent_question_age_seconds", "", "10x10 901x80", "2m", "24m").
			with(`gantry_agent_node_status{instance="one",status="hibernated"}`, "_x10 1x30 _x40"), // woken after twenty minutes
		of("GantryAgentChainStopped", "gantry_agent_chain_slot", "", "1+40x20 900x40", "4m", "11m"),
		of("GantryAgentClockOff", "gantry_agent_clock_off_seconds", "", "0x10 -4x60", "2m", "10m"),
		of("GantryAgentDiskFull", "gantry_agent_disk_free_bytes", "", "99999999999x10 9999999999x60", "2m", "10m"),
	},
	"keeper": {
		of("GantryKeeperDown", "up", "job=gantry-keeper", "1x10 0x20", "2m", "5m"),
		of("GantryKeeperSignsNothing", "gantry_keeper_signing", "", "1x10 0x20", "2m", "3m"),
		of("GantryKeeperSignerAway", "gantry_keeper_signer_answers", "", "1x10 0x20", "2m", "5m"),
		of("GantryKeeperStoreReadOnly", "gantry_keeper_store_writable", "", "1x10 0x20", "2m", "3m"),
		of("GantryKeeperAlone", "gantry_keeper_keepers_connected", "", "2x10 0x60", "4m", "8m"),
		of("GantryKeeperChainStopped", "gantry_keeper_chain_slot", "", "1+40x20 900x40", "4m", "11m"),
		of("GantryKeeperReportsLate", "gantry_keeper_last_final_period", "", "7x5 8x2000", "30m", "6h"),
		of("GantryKeeperOverloaded", "gantry_keeper_checks_skipped_total", "", "0x20 0+3x200", "5m", "40m"),
		of("GantryKeeperClockOff", "gantry_keeper_clock_ahead_seconds", "", "0x10 3x60", "2m", "10m"),
	},
	"gateway": {
		of("GantryGatewayDown", "up", "job=gantry-gateway", "1x10 0x20", "2m", "5m"),
		of("GantryGatewayCertificateEnds", "gantry_gateway_certificate_expiry_timestamp_seconds", "", "173100x200", "10m", "25m"). // two days and five minutes
																		with(`gantry_gateway_certificate_expiry_timestamp_seconds{instance="two"}`, "0x200"). // none: another alert
																		with(`gantry_gateway_certificate_expiry_timestamp_seconds{instance="three"}`, "7776000x200"),
		of("GantryGatewayCertificatesMissing", "gantry_gateway_certificates_missing", "", "0x10 1x200", "30m", "34m"),
		of("GantryGatewayStrangers", "gantry_gateway_strangers", "", "3x10 101x60", "2m", "14m"),
	},
	"serve": {
		of("GantryServeDown", "up", "job=gantry-serve", "1x10 0x20", "2m", "5m"),
		of("GantryServeCreditsEnd", "gantry_serve_usdc_per_hour", "", "10x80", "2m", "14m").
			with(`gantry_serve_credits_usdc{instance="one",part="free"}`, "70x10 59x60").
			with(`gantry_serve_credits_usdc{instance="two",part="free"}`, "0x80"). // nothing runs
			with(`gantry_serve_usdc_per_hour{instance="two"}`, "0x80"),
		of("GantryServeOrderWaits", "gantry_serve_open_orders", "", "0x10 1x80", "2m", "19m"),
		of("GantryServeFails", "gantry_serve_requests_total", "", "0x80", "5m", "16m").
			with(`gantry_serve_requests_total{instance="one",status="200"}`, "0+90x80").
			with(`gantry_serve_requests_total{instance="one",status="502"}`, "0+1x20 20+10x60"),
		of("GantryServeNoticesLost", "gantry_serve_notices_total", "outcome=dropped", "0x20 1x20", "4m", "7m"),
	},
}

func read(t *testing.T, daemon string) rules {
	raw, err := os.ReadFile(daemon + ".rules.yml")
	require.NoError(t, err)
	var r rules
	require.NoError(t, yaml.Unmarshal(raw, &r))
	return r
}

// Every figure that a rule reads is one that the daemon has.
func TestRulesReadFiguresThatThereAre(t *testing.T) {
	figures := known.New(t, "../..")
	for daemon := range faults {
		for _, g := range read(t, daemon).Groups {
			for _, r := range g.Rules {
				require.Empty(t, figures.Unknown(r.Expr), r.Alert)
			}
		}
	}
}

// Every alert is quiet before its fault, and fires when the fault has lasted, by Prometheus's own tool.
func TestAlertsFire(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("SKIPPED: promtool is missing: scripts/toolchain.sh promtool")
	}
	for daemon, cases := range faults {
		t.Run(daemon, func(t *testing.T) {
			path, err := filepath.Abs(daemon + ".rules.yml")
			require.NoError(t, err)
			out, err := exec.CommandContext(t.Context(), promtool, "check", "rules", path).CombinedOutput()
			require.NoError(t, err, string(out))
			doc, err := yaml.Marshal(document(t, path, daemon, cases))
			require.NoError(t, err)
			test := filepath.Join(t.TempDir(), "test.yml")
			require.NoError(t, os.WriteFile(test, doc, 0o600))
			out, err = exec.CommandContext(t.Context(), promtool, "test", "rules", test).CombinedOutput()
			require.NoError(t, err, string(out))
		})
	}
}

// document is promtool's test of a file of rules: each of them by its fault.
func document(t *testing.T, path, daemon string, cases []fault) map[string]any {
	byAlert := map[string]fault{}
	for _, c := range cases {
		byAlert[c.alert] = c
	}
	var tests []any
	for _, g := range read(t, daemon).Groups {
		for _, r := range g.Rules {
			c, ok := byAlert[r.Alert]
			require.True(t, ok, "%s has no fault that it is tried with", r.Alert)
			delete(byAlert, r.Alert)
			var series []any
			for name, values := range c.series {
				series = append(series, map[string]any{"series": name, "values": values})
			}
			labels, notes := map[string]string{}, map[string]string{}
			for _, from := range []map[string]string{c.labels, r.Labels} {
				for k, v := range from {
					labels[k] = v
				}
			}
			for k, v := range r.Annotations {
				for label, value := range c.labels {
					v = strings.ReplaceAll(v, "{{ $labels."+label+" }}", value)
				}
				notes[k] = v
			}
			tests = append(tests, map[string]any{"name": r.Alert, "interval": "15s", "input_series": series, "alert_rule_test": []any{
				map[string]any{"eval_time": c.quiet, "alertname": r.Alert},
				map[string]any{"eval_time": c.fires, "alertname": r.Alert, "exp_alerts": []any{map[string]any{"exp_labels": labels, "exp_annotations": notes}}},
			}})
		}
	}
	require.Empty(t, byAlert, "alerts that are in no rule")
	return map[string]any{"rule_files": []string{path}, "evaluation_interval": "15s", "tests": tests}
}
