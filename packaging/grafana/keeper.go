package grafana

// keeper is what the operator of a keeper looks at.
func keeper() Dashboard {
	const on = `{instance=~"$instance"}`
	p95 := func(metric, by string) Line {
		return Line{"histogram_quantile(0.95, sum by (" + by + ", le) (rate(gantry_keeper_" + metric + "_bucket" + on + "[1h])))", "{{" + by + "}}"}
	}
	return Dashboard{Daemon: "keeper", Alive: "gantry_keeper_standby", Stats: []Stat{
		{Title: "Keepers that sign", Line: Line{"sum(gantry_keeper_signing" + on + ")", "sign"}, Steps: []Step{{0, "red"}, {1, "green"}}},
		{Title: "Other keepers connected", Help: "Of the keeper that has the fewest.", Line: Line{"min(gantry_keeper_keepers_connected" + on + ")", "the fewest"}, Steps: low(1, 2)},
		{Title: "Last final period", Line: Line{"max(gantry_keeper_last_final_period" + on + ")", "period"}},
		{Title: "Ahead of the chain's clock", Help: "The keeper that is furthest.", Unit: "s", Line: Line{"max(gantry_keeper_clock_ahead_seconds" + on + ")", "the furthest"}, Steps: []Step{{0, "green"}, {2, "red"}}},
	}, Rows: []Row{
		{"Safety", []Panel{
			{"Signs", "0 while the keeper must not sign: its store is damaged, or its clock is off.", "", []Line{{"gantry_keeper_signing" + on, "{{instance}}"}}},
			{"Store can be written", "", "", []Line{{"gantry_keeper_store_writable" + on, "{{instance}}"}}},
			{"Standby", "1 while the keeper stands by; and whether the signer answers, of keepers that have one.", "", []Line{
				{"gantry_keeper_standby" + on, "{{instance}} stands by"}, {"gantry_keeper_signer_answers" + on, "{{instance}} signer answers"},
			}},
			{"Clock", "How far it is ahead of the chain's.", "s", []Line{{"gantry_keeper_clock_ahead_seconds" + on, "{{instance}}"}}},
			{"Other keepers connected", "", "", []Line{{"gantry_keeper_keepers_connected" + on, "{{instance}}"}}},
		}},
		{"Reports", []Panel{
			{"Last final period", "It rises by one with each period.", "", []Line{{"gantry_keeper_last_final_period" + on, "{{instance}}"}}},
			{"From a period's end to its final report", "The slowest of twenty took at least this long.", "s", []Line{p95("report_final_lag_seconds", "instance")}},
			{"Votes an hour", "By result.", "", []Line{{"sum by (instance, result) (increase(gantry_keeper_votes_total" + on + "[1h]))", "{{instance}} {{result}}"}}},
			{"Proposals an hour", "Own, and those of others that were refused.", "", []Line{
				{"increase(gantry_keeper_proposals_total" + on + "[1h])", "{{instance}} own"}, {"increase(gantry_keeper_proposals_refused_total" + on + "[1h])", "{{instance}} refused"},
			}},
		}},
		{"Checks", []Panel{
			{"Checks a minute", "By kind and result.", "", []Line{{"sum by (kind, result) (rate(gantry_keeper_checks_total" + on + "[5m])) * 60", "{{kind}} {{result}}"}}},
			{"Time to an answer", "The slowest of twenty took at least this long.", "s", []Line{p95("check_seconds", "kind")}},
			{"Left out", "Checks that were left out because too many were due: the keeper needs a higher --checks-at-once, or more processors.", "", []Line{{"increase(gantry_keeper_checks_skipped_total" + on + "[10m])", "{{instance}}"}}},
			{"Statements", "Held, and messages with an invalid one.", "", []Line{
				{"gantry_keeper_statements_held" + on, "{{instance}} held"}, {"increase(gantry_keeper_statements_rejected_total" + on + "[1h])", "{{instance}} invalid in the last hour"},
			}},
		}},
		{"Transactions", []Panel{
			{"Actions an hour", "What keepers do for the market: settle, close, slash. By outcome.", "", []Line{{"sum by (kind, outcome) (increase(gantry_keeper_crank_actions_total" + on + "[1h]))", "{{kind}} {{outcome}}"}}},
			{"From due to done", "The slowest of twenty took at least this long.", "s", []Line{p95("crank_lag_seconds", "kind")}},
			{"Awards", "From an order to its award; the slowest of twenty.", "s", []Line{p95("award_lag_seconds", "instance")}},
			{"Fees a day", "What transactions cost, in lamports.", "", []Line{{"increase(gantry_keeper_transaction_fees_lamports_total" + on + "[1d])", "{{instance}}"}}},
		}},
		{"Network", []Panel{
			{"Slots a second", "Of the chain, as the keeper sees them.", "", []Line{{"rate(gantry_keeper_chain_slot" + on + "[2m])", "{{instance}}"}}},
			{"Peers", "All, and strangers.", "", []Line{{"gantry_keeper_peers" + on, "{{instance}} all"}, {"gantry_keeper_strangers" + on, "{{instance}} strangers"}}},
			{"Refused", "Connections of strangers, and requests.", "", []Line{
				{"gantry_keeper_strangers_refused" + on, "{{instance}} strangers"}, {"gantry_keeper_network_refusals" + on, "{{instance}} requests"},
			}},
			{"Connections relayed", "For machines behind NAT.", "", []Line{{"gantry_keeper_relayed_circuits" + on, "{{instance}}"}}},
		}},
	}}
}
