package tpm_test

import (
	"testing"
	"time"

	"github.com/google/go-eventlog/register"
	"github.com/google/go-eventlog/tcg"
	logs "github.com/google/go-eventlog/testdata"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/tpm"
	"github.com/gantry-market/gantry/attest/tpm/device"
)

// Logs of real machines (test data of go-eventlog): a software TPM extends their digests, so its PCRs are what the
// machine's were, and the log must explain them.
func TestLiveRealLogs(t *testing.T) {
	machine, ca := theLab.machine(t, "maker", "logs")
	for name, tc := range map[string]struct {
		log     []byte
		enabled bool
		known   bool
	}{
		"RHEL 8":                  {log: logs.Rhel8EventLog, known: true, enabled: true},
		"Ubuntu 21.04, no dbx":    {log: logs.Ubuntu2104NoDbxEventLog, known: true},
		"Ubuntu 21.04, off":       {log: logs.Ubuntu2104NoSecureBootEventLog, known: true},
		"Ubuntu 24.04, SEV-SNP":   {log: logs.Ubuntu2404AmdSevSnpEventLog, known: true},
		"COS 101":                 {log: logs.Cos101AmdSevEventLog, known: true, enabled: true},
		"Arch Linux, no variable": {log: logs.ArchLinuxWorkstationEventLog},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, machine.Restart(t.Context()))
			parsed, err := tcg.ParseEventLog(tc.log, tcg.ParseOpts{})
			require.NoError(t, err)
			for _, e := range parsed.Events(register.HashSHA256) {
				if e.Type != tcg.NoAction {
					extend(t, machine, e.Index, [32]byte(e.Digest))
				}
			}
			d := newDevice(machine, func(o *device.Options) { o.LogPath = writeFile(t, tc.log) })
			v := tpm.New(tpm.Options{Trust: trustOf(t, ca), RequireLog: true})
			evidence := collect(t, d, testBinding)
			r, err := v.Verify(evidence, testBinding, time.Now())
			require.NoError(t, err)
			for _, c := range r.Checks {
				if c.Name == tpm.CheckSecureBoot || c.Name == tpm.CheckLog {
					t.Log(c.Name, c.Outcome, c.Detail)
				}
			}
			require.Equal(t, map[bool]string{true: map[bool]string{true: "enabled", false: "disabled"}[tc.enabled]}[tc.known], r.Claims["secure boot"])

			strict := tpm.New(tpm.Options{Trust: trustOf(t, ca), RequireSecureBoot: true})
			if tc.enabled {
				_, err := strict.Verify(evidence, testBinding, time.Now())
				require.NoError(t, err)
			} else {
				refused(t, strict, evidence, testBinding, tpm.CheckSecureBoot, attest.ErrPolicy)
			}
			refused(t, strict, with(evidence, tpm.ItemLog, nil), testBinding, tpm.CheckLog, attest.ErrPolicy)
			// What the log does not have is seen: PCR 4 goes on.
			extend(t, machine, 4, hash("more"))
			refused(t, v, with(evidence, tpm.ItemLog, writeLog(boot(1))), testBinding, tpm.CheckLog, attest.ErrUntrusted)
			var notes []string
			c := &device.Collector{Device: d, Note: func(s string) { notes = append(notes, s) }}
			list, err := c.Collect(t.Context(), testBinding.Qualifying())
			require.NoError(t, err)
			_, has := list[0].Item(tpm.ItemLog)
			require.False(t, has)
			require.Len(t, notes, 1)
			require.Contains(t, notes[0], "PCRs 4")
		})
	}
}
